"""Check the description of a bad line, and define what a model of an agent's lines checks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import Event
from tests.agents.agent_lines import AgentLines

__all__ = ["LineModel", "check_bad_line"]

_BAD_LINE: Final = re.compile(
    r"(?P<kind>[a-z_]+) stream (?:parse error \(redacted\): (?:malformed JSON at byte \d+|invalid UTF-8|not an object"
    r"|nesting too deep|number out of range|line longer than \d+ bytes)"
    r"|normalize error \(redacted\): (?:wrong shape|(?:missing field|wrong type for field) (?P<field>[a-z_]+))"
    r") \(line_bytes=(?P<length>\d+)\)"
)


def check_bad_line(agent: AgentLines, event: Event, length: int, limit: int) -> None:
    """Check that the description of a bad line of `length` bytes is canonical and true (X2, X3, L2)."""
    assert (event.kind, event.text, event.data) == ("error", None, None)
    found = _BAD_LINE.fullmatch(event.message or "")
    assert found is not None, "no canonical text"
    assert found["kind"] == agent.kind
    assert found["field"] is None or found["field"] in agent.fields, "a field that is not ours"
    assert int(found["length"]) == length
    if length > limit:
        assert f"line longer than {limit} bytes" in found[0]
    else:
        assert "line longer" not in found[0]


class LineModel:
    """A model of what the lines of one stream mean. This one expects nothing of any line."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker

    def add_bad_line(self) -> None:
        """Note a bad line."""

    def add(self, line: Any, events: Sequence[Event]) -> None:
        """Check the events of a parsed line, and note what it means."""

    def finish(self, events: Sequence[Event], facts: Mapping[str, Any], final_text: str | None) -> None:
        """Check the events of the end, the state of the decoder by name, and the final text."""
