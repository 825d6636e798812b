"""Test that the output of Claude Code has a stable form, and what may vary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.releases.compare import compare

from .stable import Stable
from .variations import VARIATIONS

ONE, TWO = "0f28d7b1-0774-443d-82e1-53407223fd1a", "d0190547-ce08-48b2-bbc1-de79111e1fbf"


@pytest.mark.rule("R2")
def test_what_differs_by_run_and_machine_is_replaced(tmp_path: Path) -> None:
    stable = Stable(tmp_path)
    line = {
        **{"cwd": f"{tmp_path}/workspace", "session_id": ONE, "uuid": TWO, "duration_ms": 123, "ttft_ms": 1.5},
        **{"messaging_socket_path": "/x/cc-socks/77.sock", "timestamp": "2026-11-23T10:41:04.851Z", "run_id": "0ab-c2"},
        **{"text": "agentId: a1b2c3d4 (to a1b2c3d4)\nduration_ms: 55", "url": "http://127.0.0.1:4711/v1"},
    }
    assert json.loads(stable.form(json.dumps(line).encode())) == {
        **{"cwd": "/scratch/workspace", "session_id": "00000000-0000-4000-8000-000000000001"},
        **{"uuid": "00000000-0000-4000-8000-000000000002", "duration_ms": 123, "ttft_ms": 1.5},
        **{"messaging_socket_path": "/x/cc-socks/1.sock", "timestamp": "2026-01-01T00:00:00.000Z", "run_id": "0ab-c2"},
        **{
            "text": "agentId: a000000000000001 (to a000000000000001)\nduration_ms: 1",
            "url": "http://127.0.0.1:8080/v1",
        },
    }
    assert stable.form(b'{"duration_ms":123,"run_id":"0ab-c2"}') == b'{"duration_ms":1,"run_id":"1"}'
    assert stable.form(ONE.encode()) == b"00000000-0000-4000-8000-000000000001"


def _lines(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _result(number: int, name: str) -> dict[str, Any]:
    return {
        "type": "user",
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "content": f"toolu_3_{number}",
        "is": name,
    }


@pytest.mark.rule("R2")
def test_known_variations_are_named_and_others_are_differences() -> None:
    first, second = _lines(_result(1, "a"), _result(2, "b")), _lines(_result(1, "b"), _result(2, "a"))
    assert "any order" in compare(VARIATIONS, first, second).explained[0]
    early = {"type": "assistant", "message": {"stop_reason": None, "usage": {"output_tokens": 1}}}
    late = {"type": "assistant", "message": {"stop_reason": "end_turn", "usage": {"output_tokens": 20}}}
    assert "stop reason" in compare(VARIATIONS, _lines(early), _lines(late)).explained[0]
    totals = [{"type": "result", "total_cost_usd": cost, "modelUsage": {"m": cost}} for cost in (0.1, 0.2)]
    assert "totals" in compare(VARIATIONS, _lines(totals[0]), _lines(totals[1])).explained[0]
    assert compare(VARIATIONS, _lines(_result(1, "a")), _lines(_result(1, "b"))).difference != ""
