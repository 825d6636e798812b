"""Convert a scripted item to an output item on the wire, with the tools that the CLI offered in the request.

Releases offer different tools for the same purpose: the shell alone has had four names. A scenario names the purpose,
and this module finds the tool. A tool that was not offered is called by its newest name, like an invented tool of a
model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from ..scenario import AgentCall, Item, Keys, McpCall, Message, Patch, Plan, RawItem, Reasoning, Shell, WebSearch

__all__ = ["Tools", "output_item"]

Json = dict[str, Any]


class Tools:
    """The tools of one request by name, and the outputs of earlier calls of the same thread."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        inputs = request.get("input")
        self._inputs: list[Json] = [i for i in inputs if isinstance(i, dict)] if isinstance(inputs, list) else []
        self._offered: dict[str, tuple[str | None, Json]] = {}
        offers = [request.get("tools")]
        offers += [i.get("tools") for i in self._inputs if i.get("type") in ("tool_search_output", "additional_tools")]
        named = [one for offer in offers for one in _named(offer, None)]
        self._offered.update(named)
        self._namespaces = {space for _, (space, _) in named if space is not None}

    def first(self, *names: str) -> str:
        """Return the first of these names that was offered, or the first name if none was."""
        return next((name for name in names if name in self._offered), names[0])

    def namespace(self, name: str) -> str | None:
        """Return the namespace of an offered tool, or None."""
        return self._offered.get(name, (None, {}))[0]

    def parameters(self, name: str) -> Json:
        """Return the JSON Schema of each parameter of a tool, by name."""
        parameters = self._offered.get(name, (None, {}))[1].get("parameters")
        properties = parameters.get("properties") if isinstance(parameters, dict) else None
        return properties if isinstance(properties, dict) else {}

    def namespace_of(self, server: str) -> str | None:
        """Return the namespace of an MCP server's tools, if tools are offered in namespaces."""
        return min((space for space in self._namespaces if server in space), key=len, default=None)

    def outputs(self) -> list[str]:
        """Return the outputs of the earlier function calls of this thread, as text."""
        outputs = [i.get("output") for i in self._inputs if i.get("type") == "function_call_output"]
        return [output if isinstance(output, str) else json.dumps(output) for output in outputs]

    def agents(self) -> list[str]:
        """Return the sub-agents that this thread has spawned, the oldest first."""
        found = (re.search(r'\\?"(?:agent_id|task_name)\\?"\s*:\s*\\?"([^"\\]+)', output) for output in self.outputs())
        return [match.group(1) for match in found if match]

    def session(self) -> int:
        """Return the number of the last running shell session."""
        found = (re.search(r"session ID (\d+)", output) for output in self.outputs())
        return next((int(match.group(1)) for match in reversed(list(found)) if match), 0)


def output_item(item: Item, tools: Tools, key: str) -> Json:
    """Return an output item of the Responses API. `key` makes its ids unique within the scenario. (TK1)"""
    match item:
        case Message(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            return {
                "type": "message",
                "id": f"msg_{key}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        case Reasoning(summary, raw):
            thought: Json = {"type": "reasoning", "id": f"rs_{key}"}
            thought["summary"] = [{"type": "summary_text", "text": text} for text in summary]
            thought["encrypted_content"] = None
            if raw is not None:
                thought["content"] = [{"type": "reasoning_text", "text": raw}]
            return thought
        case WebSearch(action):
            search: Json = {"type": "web_search_call", "id": f"ws_{key}", "status": "completed"}
            return search if action is None else {**search, "action": dict(action)}
        case Shell(command, arguments):
            return _shell(command, arguments, tools, key)
        case Patch(text, "shell"):
            return _shell(f"apply_patch <<'EOF'\n{text.rstrip()}\nEOF\n", {}, tools, key)
        case Patch(text):
            call: Json = {"type": "custom_tool_call", "id": f"ct_{key}", "call_id": f"call_{key}"}
            return {**call, "status": "completed", "name": "apply_patch", "input": text}
        case Plan(steps):
            plan = [{"step": step.step, "status": step.status} for step in steps]
            return _call("update_plan", {"plan": plan}, tools, key)
        case Keys(chars, wait):
            arguments = {"session_id": tools.session(), "chars": chars, "yield_time_ms": int(wait * 1000)}
            return _call("write_stdin", arguments, tools, key)
        case McpCall():
            return _mcp(item, tools, key)
        case AgentCall():
            return _agent(item, tools, key)
        case RawItem(value):
            return dict(value)
    assert_never(item)


def _named(offer: object, namespace: str | None) -> Iterator[tuple[str, tuple[str | None, Json]]]:
    for tool in offer if isinstance(offer, list) else []:
        if not isinstance(tool, dict):
            continue
        if tool.get("type") == "namespace":
            yield from _named(tool.get("tools"), tool.get("name"))
        else:
            yield str(tool.get("name") or tool.get("type")), (namespace, tool)


def _call(name: str, arguments: Mapping[str, Any], tools: Tools, key: str, namespace: str | None = None) -> Json:
    call: Json = {"type": "function_call", "id": f"fc_{key}", "call_id": f"call_{key}", "status": "completed"}
    call |= {"name": name, "arguments": json.dumps(arguments)}
    namespace = namespace or tools.namespace(name)
    return call if namespace is None else {**call, "namespace": namespace}


def _shell(command: str, arguments: Mapping[str, Any], tools: Tools, key: str) -> Json:
    tool = tools.first("exec_command", "shell_command", "local_shell", "shell", "bash")
    argv = ["bash", "-lc", command]
    match tool:
        case "exec_command":
            return _call(tool, {"cmd": command, "yield_time_ms": 30_000, **arguments}, tools, key)
        case "shell_command" | "bash":
            return _call(tool, {"command": command, **arguments}, tools, key)
        case "local_shell":
            call: Json = {"type": "local_shell_call", "id": f"ls_{key}", "call_id": f"call_{key}"}
            return {**call, "status": "completed", "action": {"type": "exec", "command": argv}}
        case _:
            return _call(tool, {"command": argv, **arguments}, tools, key)


def _mcp(item: McpCall, tools: Tools, key: str) -> Json:
    namespace = tools.namespace_of(item.server)
    if namespace is not None:
        return _call(item.tool, item.arguments, tools, key, namespace)
    name = tools.first(f"mcp__{item.server}__{item.tool}", f"{item.server}__{item.tool}")
    return _call(name, item.arguments, tools, key)


def _agent(item: AgentCall, tools: Tools, key: str) -> Json:
    names = {
        "spawn": ("spawn_agent",),
        "send": ("send_input", "followup_task", "assign_task", "send_message"),
        "wait": ("wait_agent", "wait"),
        "close": ("close_agent", "interrupt_agent"),
    }
    name = tools.first(*names[item.do])
    known = tools.parameters(name)
    agents = tools.agents()
    possible: Json = {"task_name": f"task_{key}", "timeout_ms": 10_000, "targets": agents, "ids": agents}
    if item.do != "spawn":
        possible |= dict.fromkeys(("target", "id"), agents[0] if agents else "none")
    arguments = {parameter: value for parameter, value in possible.items() if parameter in known}
    if item.message:
        arguments["message"] = item.message
    return _call(name, arguments, tools, key)
