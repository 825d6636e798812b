"""Test that the output of pi has a stable form, and what may vary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.releases.compare import compare

from .stable import Stable
from .variations import VARIATIONS

ONE, TWO = "01a2088c-acf9-7451-9b13-996517d7a255", "01a2088d-de33-71b7-9438-77b152ab8df9"


@pytest.mark.rule("R2")
def test_what_differs_by_run_and_machine_is_replaced(tmp_path: Path) -> None:
    stable = Stable(tmp_path)
    line = {
        **{"id": ONE, "cwd": f"{tmp_path}/workspace", "version": 3, "time": "2026-11-23T13:16:06.777Z"},
        **{"text": f"Current date: 2026-11-23 {TWO} /x/node_modules/@earendil-works/pi/README.md"},
        "parentSession": f"{tmp_path}/--tmp-x-workspace--/2026-11-23T16-21-31-149Z_{ONE}.jsonl",
        **{"log": "/t/codex-adapter-7-ab/pi-bash-0a1b.log", "url": "http://127.0.0.1:4711/v1"},
    }
    assert json.loads(stable.form(json.dumps(line).encode())) == {
        **{"id": "00000000-0000-7000-8000-000000000001", "cwd": "/scratch/workspace", "version": 3},
        **{"time": "2026-01-01T00:00:00.000Z", "log": "/scratch/own/pi-bash-1.log", "url": "http://127.0.0.1:8080/v1"},
        "parentSession": "/scratch/--scratch-workspace--/2026-01-01T00-00-00-000Z_"
        "00000000-0000-7000-8000-000000000001.jsonl",
        "text": "Current date: 2026-01-01 00000000-0000-7000-8000-000000000002 "
        "/opt/node_modules/@earendil-works/pi/README.md",
    }
    assert stable.form(b'{"timestamp":1795439766853,"delayMs":2000}') == b'{"timestamp":1767225600000,"delayMs":2000}'
    assert stable.form(b'{"id":"51635cc6","parentId":"64630e56"}') == b'{"id":"00000001","parentId":"00000002"}'
    assert stable.form(b'{"targetId":"64630e56"}') == b'{"targetId":"00000002"}'
    assert stable.form(ONE.encode()) == b"00000000-0000-7000-8000-000000000001"


def _lines(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.rule("R2")
def test_known_variations_are_named_and_others_are_differences() -> None:
    update, end = {"type": "tool_execution_update", "toolCallId": "a"}, {"type": "tool_execution_end"}
    assert "pieces" in compare(VARIATIONS, _lines(update, end), _lines(update, update, end)).explained[0]
    assert compare(VARIATIONS, _lines(update), _lines(update, end)).difference != ""
    early, late = (
        {"type": "message_update", "usage": usage, "assistantMessageEvent": {"type": "text_end", "partial": usage}}
        for usage in ({}, {"input": 60})
    )
    assert "copy" in compare(VARIATIONS, _lines(early), _lines(late)).explained[0]
    begun = ({"type": "message_start", "message": {"role": "assistant", **more}} for more in ({}, {"responseId": "r"}))
    assert "copy" in compare(VARIATIONS, *map(_lines, begun)).explained[0]
