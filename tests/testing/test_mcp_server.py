"""Test the scripted MCP server, started as by the CLI."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from codex_adapter.testing import MCP_SERVER, mcp_config
from codex_adapter.testing.mcp_server import TOOLS

pytestmark = pytest.mark.rule("TK3")

Reply = dict[str, Any]


def _serve(*messages: object, mode: str = "ok") -> list[str]:
    lines = [message if isinstance(message, str) else json.dumps(message) for message in messages]
    done = subprocess.run(
        [sys.executable, "-I", "-S", MCP_SERVER, mode],
        input="\n".join([*lines, ""]).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


def _request(method: str, number: int = 1, **params: Any) -> Reply:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _call(tool: str, **arguments: Any) -> Reply:
    [line] = _serve(_request("tools/call", name=tool, arguments=arguments))
    reply = json.loads(line)
    assert isinstance(reply, dict)
    return reply


def test_it_shakes_hands_and_lists_its_tools() -> None:
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    hello = _request("initialize", protocolVersion="2025-03-26")
    replies = [json.loads(line) for line in _serve(hello, notification, _request("ping", 2), _request("tools/list", 3))]
    assert [reply["id"] for reply in replies] == [1, 2, 3]
    assert replies[0]["result"]["protocolVersion"] == "2025-03-26"
    tools = {tool["name"]: tool for tool in replies[2]["result"]["tools"]}
    assert tools.keys() == TOOLS.keys()
    assert [name for name, tool in tools.items() if tool["annotations"]["destructiveHint"]] == ["destructive"]


def test_it_exits_when_it_is_told_to() -> None:
    assert _serve(_request("tools/call", name="exit"), _request("ping", 2)) == []


def test_its_tools_answer_each_in_its_way() -> None:
    assert _call("echo", text="hi")["result"]["content"] == [{"type": "text", "text": "echo: hi"}]
    assert _call("fail")["result"]["isError"] is True
    assert _call("rpcerror")["error"]["code"] == -32000
    assert _call("structured")["result"]["structuredContent"] == {"a": 1, "b": [1, 2, None]}
    kinds = [part["type"] for part in _call("image")["result"]["content"]]
    assert kinds == ["image", "resource_link", "resource"]
    assert len(_call("large", size=100_000)["result"]["content"][0]["text"]) == 100_000
    assert _call("slow", seconds=0)["result"]["content"][0]["text"] == "at last"
    assert _call("destructive")["result"]["content"][0]["text"] == "destroyed"
    assert _call("nope")["error"]["code"] == -32602


def test_a_tool_that_never_answers_does_not_keep_others_from_it() -> None:
    replies = _serve(_request("tools/call", 1, name="never"), _request("ping", 2))
    assert [json.loads(reply)["id"] for reply in replies] == [2]


def test_it_answers_what_is_no_message_and_what_it_does_not_know() -> None:
    replies = [json.loads(line) for line in _serve("{", "[]", _request("resources/list", 7))]
    assert [(reply["id"], reply["error"]["code"]) for reply in replies] == [(None, -32700), (7, -32601)]


def test_its_garbage_stands_between_good_replies() -> None:
    lines = _serve(_request("ping", 1), _request("ping", 2), mode="garbage")
    good = [line for line in lines if line.startswith("{") and "id" in json.loads(line)]
    assert len(good) == 2
    assert len(lines) == 5


def test_it_can_die_at_its_start() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", MCP_SERVER, "die"], input=b"{}\n", capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")


def test_the_configuration_names_the_server_and_how_it_behaves() -> None:
    config = tomllib.loads(mcp_config("srv", mode="garbage", tool_timeout=1.5))["mcp_servers"]["srv"]
    assert config == {
        "command": sys.executable,
        "args": ["-I", "-S", MCP_SERVER, "garbage"],
        "tool_timeout_sec": 1.5,
    }
