"""Test the canonical error texts, byte by byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.core import error_texts
from codex_adapter.errors import BackendError, BackendKind, RunCancelled
from codex_adapter.events import ExitStatus

from ..rows import rows


@pytest.mark.rule("X2")
def test_the_texts_of_bad_lines() -> None:
    assert (
        error_texts.parse_error_text("codex", "malformed JSON at byte 7", 12)
        == "codex stream parse error (redacted): malformed JSON at byte 7 (line_bytes=12)"
    )
    assert (
        error_texts.normalize_error_text("codex", "missing field id", 12)
        == "codex stream normalize error (redacted): missing field id (line_bytes=12)"
    )


@pytest.mark.rule("X2")
@rows("kind", ["spawn", "wait", "timeout", "io", "invalid_request", "other"])
def test_the_text_of_a_backend_error_names_its_kind(kind: BackendKind) -> None:
    assert str(BackendError(kind)) == f"codex backend error: {kind} (details redacted when unsafe)"


@pytest.mark.rule("X2")
def test_the_texts_that_are_always_the_same() -> None:
    assert str(BackendError("closed")) == "codex stream closed unexpectedly"
    assert str(RunCancelled("cancelled")) == "cancelled"
    assert error_texts.SESSION_NOT_FOUND == "session not found"
    assert error_texts.NO_SESSION_FOUND == "no session found"


@pytest.mark.rule("X2", "X4")
@pytest.mark.parametrize(
    ("status", "text"),
    [
        (ExitStatus(code=1), "exit status: 1"),
        (ExitStatus(code=101), "exit status: 101"),
        (ExitStatus(signal="SIGKILL"), "signal: 9 (SIGKILL)"),
        (ExitStatus(signal="SIGTERM"), "signal: 15 (SIGTERM)"),
    ],
)
def test_the_text_of_a_failed_agent_tells_its_status(status: ExitStatus, text: str) -> None:
    assert error_texts.non_zero_exit_text("codex", status) == f"codex exited non-zero: {text} (stderr redacted)"


@pytest.mark.rule("X2", "X4")
@rows(
    ("seconds", "text"),
    [
        (30, "30s"),
        (30.0, "30s"),
        (1.5, "1.5s"),
        (1, "1s"),
        (0.25, "250ms"),
        (0.001, "1ms"),
        (0.0015, "1.5ms"),
        (0.1 + 0.2, "300ms"),
        (0, "0ms"),
        (3600, "3600s"),
        (86_400.0, "86400s"),
        (100_000, "100000s"),
        (2.0000001, "2.0000001s"),
    ],
)
def test_the_text_of_an_idle_timeout_tells_how_long(seconds: float, text: str) -> None:
    assert error_texts.idle_timeout_text("codex", seconds) == f"codex stream idle timeout: {text}"


@pytest.mark.rule("X4")
@given(st.integers(0, 10_000_000))
def test_a_duration_of_whole_milliseconds_is_exact(milliseconds: int) -> None:
    text = error_texts.idle_timeout_text("codex", milliseconds / 1000).removeprefix("codex stream idle timeout: ")
    told = float(text.removesuffix("ms")) if text.endswith("ms") else float(text.removesuffix("s")) * 1000
    assert round(told) == milliseconds
    assert text.endswith("ms") == (milliseconds < 1000)
    assert "e" not in text
