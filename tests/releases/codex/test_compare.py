"""Test that runs are compared byte by byte, except for known and named variations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.runtime.programs import Version
from tests.releases import compare as comparison_of_runs
from tests.releases.compare import Comparison

from ...rows import rows
from .subject import CODEX

pytestmark = pytest.mark.rule("R2")

NEWEST, LOSES_ENDS, LOSES_OUTPUT = Version(0, 169, 0), Version(0, 125, 0), Version(0, 147, 0)


def compare(version: Version, before: bytes, now: bytes) -> Comparison:
    return comparison_of_runs.compare(CODEX.variations_of(version), before, now)


def _lines(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _command(number: int, output: str = "out", kind: str = "item.completed") -> dict[str, Any]:
    return {
        "type": kind,
        "item": {"id": f"item_{number}", "type": "command_execution", "command": "x", "aggregated_output": output},
    }


MESSAGE = {"type": "item.completed", "item": {"id": "item_9", "type": "agent_message", "text": "Done."}}


def test_the_same_bytes_need_no_explanation() -> None:
    assert compare(NEWEST, _lines(MESSAGE), _lines(MESSAGE)) == ((), "")


def test_another_text_is_a_difference_and_shown() -> None:
    other = {**MESSAGE, "item": {**MESSAGE["item"], "text": "Dome."}}  # type: ignore[dict-item]
    comparison = compare(NEWEST, _lines(MESSAGE), _lines(other))
    assert comparison.explained == ()
    assert "Dome." in comparison.difference


@pytest.mark.parametrize("lost", [_lines(), b"no JSON\n"])
def test_what_is_missing_or_no_json_is_a_difference(lost: bytes) -> None:
    assert compare(NEWEST, _lines(MESSAGE), lost).difference != ""


@rows(
    ("version", "before", "now", "explained"),
    [
        (NEWEST, [_command(0), _command(1, "b")], [_command(0, "b"), _command(1)], "come in any order"),
        (NEWEST, [_command(0, "a\nb\n")], [_command(0, "b\na\n")], "mingle in any order"),
        (LOSES_ENDS, [_command(0), MESSAGE], [MESSAGE], "end is left out"),
        (LOSES_ENDS, [_command(0), _command(1), MESSAGE], [MESSAGE], "end is left out"),
        (LOSES_OUTPUT, [_command(0)], [_command(0, "")], "output is left out"),
        (
            NEWEST,
            [{"type": "error", "message": "Reconnecting... 1/5 (broken)"}],
            [{"type": "error", "message": "Reconnecting... 1/5 (cut)"}],
            "another reason",
        ),
    ],
)
def test_what_varies_is_named(version: Version, before: list[Any], now: list[Any], explained: str) -> None:
    comparison = compare(version, _lines(*before), _lines(*now))
    assert comparison.difference == ""
    [name] = comparison.explained
    assert explained in name


@pytest.mark.parametrize("now", [[MESSAGE], [_command(0, ""), MESSAGE]])
def test_what_other_releases_lose_is_missed_in_this_one(now: list[Any]) -> None:
    assert compare(NEWEST, _lines(_command(0), MESSAGE), _lines(*now)).difference != ""


def test_changes_of_a_patch_come_in_any_order_where_they_do() -> None:
    def patch(*paths: str) -> bytes:
        changes = [{"path": path, "kind": "add"} for path in paths]
        return _lines({"type": "item.completed", "item": {"id": "item_0", "type": "file_change", "changes": changes}})

    assert "any order" in compare(Version(0, 98, 0), patch("a", "b"), patch("b", "a")).explained[0]
    assert compare(NEWEST, patch("a", "b"), patch("b", "a")).difference != ""


def test_items_are_lost_among_many_only() -> None:
    thoughts = [{"type": "item.completed", "item": {"id": f"item_{n}", "type": "reasoning"}} for n in range(100)]
    lost = compare(LOSES_ENDS, _lines(*thoughts), _lines(*thoughts[:70]))
    assert (lost.explained, lost.difference) == (("items of many at once are left out",), "")
    assert compare(LOSES_ENDS, _lines(*thoughts[:10]), _lines(*thoughts[:9])).difference != ""
    assert compare(NEWEST, _lines(*thoughts), _lines(*thoughts[:70])).difference != ""
