"""Test the results of a run: exit statuses as text, and immutable values."""

from __future__ import annotations

import signal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import events
from codex_adapter.events import Completion, Dropped, Event, ExitStatus, TextPart

from .rows import rows


@pytest.mark.rule("X4", "F3")
@rows(
    ("returncode", "status", "text"),
    [
        (0, ExitStatus(code=0), "exit status: 0"),
        (3, ExitStatus(code=3), "exit status: 3"),
        (255, ExitStatus(code=255), "exit status: 255"),
        (-9, ExitStatus(signal="SIGKILL"), "signal: 9 (SIGKILL)"),
        (-15, ExitStatus(signal="SIGTERM"), "signal: 15 (SIGTERM)"),
        (-2, ExitStatus(signal="SIGINT"), "signal: 2 (SIGINT)"),
        (-40, ExitStatus(signal="SIG40"), "signal: 40 (SIG40)"),
    ],
)
def test_a_return_code_becomes_an_exit_code_or_the_name_of_a_signal(
    returncode: int, status: ExitStatus, text: str
) -> None:
    assert ExitStatus.from_returncode(returncode) == status
    assert str(status) == text
    assert status.success == (returncode == 0)
    assert status.signal_number == (-returncode if returncode < 0 else None)


@pytest.mark.rule("X4")
@given(st.integers(1, 64))
def test_every_signal_keeps_its_number(number: int) -> None:
    status = ExitStatus.from_returncode(-number)
    assert status.signal_number == number
    assert str(status) == f"signal: {number} ({status.signal})"
    assert status.signal in {one.name for one in signal.Signals} | {f"SIG{number}"}


@pytest.mark.rule("F2", "M0")
@pytest.mark.parametrize(
    "value", [Event(0, "codex", "status"), Completion(ExitStatus(code=0)), TextPart(None, "reasoning", "start")]
)
def test_what_a_run_gives_cannot_be_changed(value: Any) -> None:
    for name in value.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(value, name, None)


@pytest.mark.rule("M3", "M4", "M5", "M6", "M8")
@rows(
    ("facet", "schema"),
    [
        ("TextPart", "codex_adapter.text.v1"),
        ("ToolCall", "agent_api.tools.structured.v1"),
        ("SessionHandle", "agent_api.session.handle.v1"),
        ("TokenUsage", "codex_adapter.usage.v1"),
        ("Plan", "codex_adapter.plan.v1"),
        ("ErrorSource", "codex_adapter.error.v1"),
        ("UnknownLine", "codex_adapter.unknown.v1"),
    ],
)
def test_a_facet_is_named_by_its_schema(facet: str, schema: str) -> None:
    config = getattr(events, facet).__struct_config__
    assert (config.tag_field, config.tag) == ("schema", schema)


@pytest.mark.rule("B4")
def test_a_dropped_facet_says_why() -> None:
    assert msgspec.json.encode(Dropped()) == b'{"dropped":{"reason":"oversize"}}'
