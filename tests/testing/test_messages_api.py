"""Test the Messages API: requests of Claude Code for its own purposes, and requests without a stream."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from codex_adapter.testing import ModelServer, Shell, answer, script
from codex_adapter.testing.model_server.messages import content_block, is_side_request

from ..rows import rows

MODEL, SMALL = "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"


def request(prompt: str, model: str = MODEL, *tools: str) -> dict[str, Any]:
    content = [{"type": "text", "text": prompt}]
    return {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "tools": [{"name": name} for name in tools],
    }


@pytest.mark.rule("TK1")
@rows(
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


@pytest.mark.rule("TK1")
@pytest.mark.parametrize(("offered", "called"), [("Bash", "Bash"), ("bash", "bash"), ("Read", "Bash")])
def test_a_command_is_a_call_of_the_tool_that_the_agent_offers(offered: str, called: str) -> None:
    assert content_block(Shell("true"), request("Do it.", MODEL, offered), "k")["name"] == called


@pytest.mark.rule("TK1")
def test_a_request_without_a_stream_gets_its_answer_in_one_piece() -> None:
    with ModelServer(script(answer("Hello.", Shell("true")), answer("Bye.", end="incomplete"))) as server:
        told = []
        for _ in range(2):
            asked = urllib.request.Request(
                f"http://127.0.0.1:{server.port}/v1/messages", json.dumps(request("Do it.", MODEL, "Bash")).encode()
            )
            with urllib.request.urlopen(asked, timeout=60) as reply:
                told.append(json.loads(reply.read()))
    assert [block["type"] for block in told[0]["content"]] == ["text", "tool_use"]
    assert [body["stop_reason"] for body in told] == ["tool_use", "max_tokens"]
    assert (told[0]["model"], told[0]["usage"]["output_tokens"]) == (MODEL, 20)
