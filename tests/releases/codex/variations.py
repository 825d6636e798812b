"""Define the differences between two runs of one release of the Codex CLI that are not findings."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tests.releases.subject import Line, Variation

__all__ = ["VARIATIONS"]

MANY = 60
"""Lines of a run in which some may arrive faster than the CLI itself can print them."""


def _command(line: Line) -> bool:
    return isinstance(line.get("item"), dict) and line["item"].get("type") == "command_execution"


def _with_item(line: Line, **fields: Any) -> Line:
    return {**line, "item": {**line["item"], **fields}}


def _any_order(lines: list[Line]) -> list[Line]:
    """The ids of items tell of their order as well."""
    unnumbered = [_with_item(line, id=None) if isinstance(line.get("item"), dict) else line for line in lines]
    return sorted(unnumbered, key=msgspec.json.encode)


def _mingled(lines: list[Line]) -> list[Line]:
    return [
        _with_item(line, aggregated_output=sorted(str(line["item"].get("aggregated_output")).split("\n")))
        if _command(line)
        else line
        for line in lines
    ]


def _any_order_of_changes(lines: list[Line]) -> list[Line]:
    return [
        _with_item(line, changes=sorted(line["item"]["changes"], key=msgspec.json.encode))
        if isinstance(line.get("item"), dict) and "changes" in line["item"]
        else line
        for line in lines
    ]


def _without_completions(lines: list[Line]) -> list[Line]:
    return _any_order([line for line in lines if not (_command(line) and line["type"] == "item.completed")])


def _without_output(lines: list[Line]) -> list[Line]:
    return [_with_item(line, aggregated_output=None) if _command(line) else line for line in lines]


def _without_states(lines: list[Line]) -> list[Line]:
    return [
        _with_item(line, status=None, agents_states=None)
        if isinstance(line.get("item"), dict) and "agents_states" in line["item"]
        else line
        for line in lines
    ]


def _without_items(lines: list[Line]) -> list[Line]:
    if len(lines) < MANY:
        return lines
    said = [line for line in lines if not isinstance(line.get("item"), dict) or line["item"]["type"] == "agent_message"]
    return _any_order(said)


def _fewer_notices(lines: list[Line]) -> list[Line]:
    """Notices of reconnecting without their reasons, which name the moment at which the connection broke."""
    return [
        {"type": "error", "message": re.sub(r" \(.*", "", line["message"])}
        if line.get("type") == "error" and str(line.get("message")).startswith("Reconnecting")
        else line
        for line in lines
    ]


VARIATIONS = (
    Variation("items at the same time come in any order", _any_order),
    Variation("the two outputs of a command mingle in any order", _mingled),
    Variation("a notice of reconnecting names another reason", _fewer_notices),
    Variation("the changes of a patch come in any order", _any_order_of_changes, "file_changes_unordered"),
    Variation("a command's output is left out", _without_output, "command_output_lost"),
    Variation("a command's end is left out", _without_completions, "command_completion_lost"),
    Variation("a sub-agent's failure is told or is not", _without_states, "child_failure_untold"),
    Variation("items of many at once are left out", _without_items, "drops_what_is_not_read"),
)
