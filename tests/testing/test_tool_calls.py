"""Test that a scripted item calls the tool that the request offers for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.testing import (
    AgentCall,
    Item,
    Keys,
    McpCall,
    Message,
    Patch,
    Plan,
    PlanStep,
    RawItem,
    Reasoning,
    Shell,
    WebSearch,
)
from codex_adapter.testing.model_server.tool_calls import Tools, output_item

pytestmark = pytest.mark.rule("TK1")


def _offer(*names: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"tools": [{"type": "function", "name": name, "parameters": parameters} for name in names]}


def _resolve(item: Item, request: dict[str, Any]) -> dict[str, Any]:
    return output_item(item, Tools(request), "1")


def _arguments(item: Item, request: dict[str, Any]) -> dict[str, Any]:
    arguments = json.loads(_resolve(item, request)["arguments"])
    assert isinstance(arguments, dict)
    return arguments


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("exec_command", {"cmd": "ls", "yield_time_ms": 30_000}),
        ("shell_command", {"command": "ls"}),
        ("bash", {"command": "ls"}),
        ("shell", {"command": ["bash", "-lc", "ls"]}),
    ],
)
def test_a_command_goes_to_the_shell_tool_that_is_offered(tool: str, arguments: dict[str, Any]) -> None:
    call = _resolve(Shell("ls"), _offer(tool, "view_image"))
    assert (call["type"], call["name"], json.loads(call["arguments"])) == ("function_call", tool, arguments)


def test_a_command_goes_to_the_local_shell_where_there_is_one() -> None:
    call = _resolve(Shell("ls"), {"tools": [{"type": "local_shell"}]})
    assert call["type"] == "local_shell_call"
    assert call["action"]["command"] == ["bash", "-lc", "ls"]


def test_a_command_passes_more_arguments_on() -> None:
    assert _arguments(Shell("ls", {"tty": True}), _offer("exec_command"))["tty"] is True


def test_a_tool_that_is_not_offered_is_called_by_its_newest_name() -> None:
    assert _resolve(Shell("ls"), {})["name"] == "exec_command"
    assert _resolve(AgentCall("wait"), {"tools": "none"})["name"] == "wait_agent"
    assert _resolve(McpCall("srv", "echo"), {"input": "just a text"})["name"] == "mcp__srv__echo"


def test_a_patch_goes_through_the_shell_or_its_own_tool() -> None:
    patch = "*** Begin Patch\n*** End Patch\n"
    assert _arguments(Patch(patch), _offer("shell_command"))["command"] == f"apply_patch <<'EOF'\n{patch}EOF\n"
    call = _resolve(Patch(patch, "tool"), {"tools": [{"type": "custom", "name": "apply_patch"}]})
    assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "apply_patch", patch)


def test_a_plan_is_given_whole() -> None:
    plan = Plan((PlanStep("one", "in_progress"), PlanStep("two")))
    assert _arguments(plan, {}) == {
        "plan": [{"step": "one", "status": "in_progress"}, {"step": "two", "status": "pending"}]
    }


@pytest.mark.parametrize("name", ["mcp__srv__echo", "srv__echo"])
def test_an_mcp_tool_is_called_by_the_full_name_that_is_offered(name: str) -> None:
    call = _resolve(McpCall("srv", "echo", {"text": "hi"}), _offer(name))
    assert (call["name"], json.loads(call["arguments"])) == (name, {"text": "hi"})


@pytest.mark.parametrize("tool", ["echo", "not_offered"])
def test_an_mcp_tool_is_called_in_the_namespace_of_its_server(tool: str) -> None:
    spaces = [{"type": "namespace", "name": f"mcp__{name}__", **_offer("echo")} for name in ("other", "srv")]
    call = _resolve(McpCall("srv", tool), {"tools": spaces[::-1]})
    assert (call["namespace"], call["name"]) == ("mcp__srv__", tool)


def test_a_tool_in_a_namespace_is_called_in_it() -> None:
    agents = {"type": "namespace", "name": "multi_agent_v1", **_offer("spawn_agent")}
    call = _resolve(AgentCall("spawn", "go"), {"tools": [agents]})
    assert (call["namespace"], json.loads(call["arguments"])) == ("multi_agent_v1", {"message": "go"})


def test_tools_that_were_found_by_a_search_count_as_offered() -> None:
    found = {"type": "tool_search_output", **_offer("wait", timeout_ms={})}
    assert _resolve(AgentCall("wait"), {"input": [found]})["name"] == "wait"


def test_agents_are_named_as_the_tool_wants_it() -> None:
    spawned = [{"type": "function_call_output", "output": json.dumps({"agent_id": name})} for name in ("a1", "a2")]

    def asked(item: Item, tool: str, *parameters: str) -> dict[str, Any]:
        return _arguments(item, {**_offer(tool, **{name: {} for name in parameters}), "input": spawned})

    assert asked(AgentCall("wait"), "wait_agent", "targets", "timeout_ms") == {
        "targets": ["a1", "a2"],
        "timeout_ms": 10_000,
    }
    assert asked(AgentCall("wait"), "wait", "ids") == {"ids": ["a1", "a2"]}
    assert asked(AgentCall("send", "more"), "send_input", "target") == {"target": "a1", "message": "more"}
    assert asked(AgentCall("close"), "close_agent", "id") == {"id": "a1"}


def test_an_agent_is_given_a_name_where_it_needs_one() -> None:
    assert _arguments(AgentCall("spawn", "go"), _offer("spawn_agent", task_name={}))["task_name"] == "task_1"


def test_keys_go_to_the_session_that_was_left_running_last() -> None:
    left = [
        {"type": "function_call_output", "output": "Process running with session ID 7"},
        {"type": "function_call_output", "output": [{"type": "text", "text": "Process running with session ID 12"}]},
        {"type": "function_call_output", "output": "exited"},
    ]
    assert _arguments(Keys("y\n", 1.5), {"input": left}) == {"session_id": 12, "chars": "y\n", "yield_time_ms": 1500}
    assert _arguments(Keys("y\n"), {})["session_id"] == 0


def test_what_is_said_and_thought_is_put_out_as_it_is() -> None:
    assert _resolve(Message("hi"), {})["content"][0]["text"] == "hi"
    thought = _resolve(Reasoning(("one", "two"), raw="raw"), {})
    assert [part["text"] for part in thought["summary"]] == ["one", "two"]
    assert thought["content"][0]["text"] == "raw"
    assert "content" not in _resolve(Reasoning(("one",)), {})
    assert _resolve(WebSearch({"type": "search"}), {})["action"] == {"type": "search"}
    assert "action" not in _resolve(WebSearch(), {})
    assert _resolve(RawItem({"type": "new"}), {}) == {"type": "new"}
