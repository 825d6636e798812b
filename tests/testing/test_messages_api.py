"""Test that requests of Claude Code for its own purposes take no answer of a scenario."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter.testing.model_server.messages import is_side_request

MODEL, SMALL = "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"


def request(prompt: str, model: str = MODEL, *tools: str) -> dict[str, Any]:
    content = [{"type": "text", "text": prompt}]
    return {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "tools": [{"name": name} for name in tools],
    }


@pytest.mark.rule("TK1")
@pytest.mark.parametrize(
    ("asked", "side"),
    [
        (request("Do it.", MODEL, "Bash"), False),
        (request("Do it."), False),
        (request("a title", SMALL), True),
        (request("Do it.", SMALL, "Bash"), False),
        (request("Warmup"), True),
        (request("Warmup", SMALL, "Read"), True),
        ({"messages": [{"role": "user", "content": "Warmup"}]}, True),
        ({"messages": [{"role": "user", "content": "Warmup"}, {"role": "assistant", "content": "x"}]}, False),
        ({}, False),
    ],
)
def test_titles_and_the_warm_up_of_sub_agents_are_side_requests(asked: dict[str, Any], side: bool) -> None:
    assert is_side_request(asked) == side
