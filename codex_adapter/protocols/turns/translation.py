"""Translate the events of a run into events of a turn: messages, tool calls in pairs, and logs (U7)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from codex_adapter import Event
from codex_adapter.events import (
    AgentInfo,
    PayloadText,
    Plan,
    RateLimit,
    Retry,
    SessionHandle,
    TextPart,
    TokenUsage,
    ToolCall,
    UnknownLine,
)
from codex_adapter.protocols.turns.emitter import Emitter
from codex_adapter.protocols.turns.messages import (
    LogEvent,
    LogLevel,
    MessageDeltaEvent,
    MessageEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from codex_adapter.text import AssembledText, TextAssembler

__all__ = ["Translation"]

_NAMES: Final = {"command_execution": "shell", "file_change": "apply_patch"}
"""The names of nameless tools by their kind. Any other nameless tool has its kind as its name."""
_UNANSWERED: Final = "the turn ended before this call was answered"
_MESSAGE: Final = "agent_message"
_MESSAGES: Final = {Retry: "retry", RateLimit: "rate limit", AgentInfo: "agent"}


class Translation:
    """A translation of one run's events, which it emits as events of the turn. `texts` has the last message."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self.texts = TextAssembler()
        self._shown: dict[str | None, str] = {}
        self._open: dict[str, str] = {}
        self._closed: set[str] = set()
        self._nameless = 0

    async def translate(self, event: Event) -> None:
        """Emit the events of the turn for one event of the run: none, one or more."""
        match event.data:
            case TextPart():
                text = self.texts.receive(event)
                if text is not None and text.whole:
                    await self._emit_text(text)
            case ToolCall() as call:
                await self._emit_tool(call, result=event.kind == "tool_result")
            case SessionHandle(session=session):
                self._emitter.harness_session_id = session.id
            case Plan(items=items):
                await self._emit_log("info", "plan", items=[msgspec.to_builtins(item) for item in items])
            case TokenUsage(usage=usage, cost_usd=cost):
                await self._emit_log("debug", "usage", **usage, **({} if cost is None else {"cost_usd": cost}))
            case Retry() | RateLimit() | AgentInfo() as facet:
                level: LogLevel = "warn" if isinstance(facet, Retry) else "debug"
                await self._emit_log(level, _MESSAGES[type(facet)], **_convert_facet(facet))
            case UnknownLine(type=type_, item_type=item_type):
                await self._emit_log("debug", "unknown event", type=type_, itemType=item_type)
            case _ if event.message is not None:
                await self._emit_log("warn" if event.kind == "error" else "info", event.message)

    async def close(self) -> None:
        """Emit a result for each call that has no result yet, so that every call has one (U7)."""
        for id_, name in list(self._open.items()):
            await self._emit_result(id_, name, _UNANSWERED, is_error=True)

    async def _emit_text(self, text: AssembledText) -> None:
        if text.item_type != _MESSAGE or text.parent_id is not None:
            if text.complete:
                of = {} if text.parent_id is None else {"parent_id": text.parent_id}
                await self._emit_log("debug", text.item_type, text=text.text, **of)
        elif text.complete:
            self._shown.pop(text.item_id, None)
            await self._emitter.emit(MessageEvent, role="assistant", content=text.text)
        else:
            await self._emit_growth(text)

    async def _emit_growth(self, text: AssembledText) -> None:
        """Emit the new text of a message. A rewritten message is emitted only when it is complete."""
        before, now = self._shown.get(text.item_id, ""), text.text
        if now.startswith(before) and now != before:
            self._shown[text.item_id] = now
            await self._emitter.emit(MessageDeltaEvent, role="assistant", delta=now[len(before) :])

    async def _emit_tool(self, call: ToolCall, *, result: bool) -> None:
        tool = call.tool
        if tool.parent_id is not None:
            payloads = _convert_output(call) if result else _convert_input(call)
            what = {"toolName": tool.tool_name or tool.kind, "parent_id": tool.parent_id}
            await self._emit_log("debug", "tool_result" if result else "tool_call", **what, **payloads)
            return
        id_ = tool.backend_item_id
        if id_ is None:
            self._nameless += 1
            id_ = f"unnamed-{self._nameless}"
        name = tool.tool_name or _NAMES.get(tool.kind, tool.kind)
        if id_ in self._closed:
            return
        if id_ not in self._open:
            self._open[id_] = name
            await self._emitter.emit(ToolCallEvent, tool_use_id=id_, tool_name=name, input=_convert_input(call))
        if result:
            # The result of a command that continues in the background has the status `running`.
            background = tool.status == "running" and tool.exit_code is None
            failed = tool.status != "completed" and not background
            await self._emit_result(id_, self._open[id_], _convert_output(call), is_error=failed)

    async def _emit_result(self, id_: str, name: str, output: Any, *, is_error: bool) -> None:
        del self._open[id_]
        self._closed.add(id_)
        await self._emitter.emit(ToolResultEvent, tool_use_id=id_, tool_name=name, output=output, is_error=is_error)

    async def _emit_log(self, level: LogLevel, message: str, **fields: Any) -> None:
        await self._emitter.emit(LogEvent, level=level, message=message, fields=fields or None)


def _convert_facet(facet: msgspec.Struct) -> dict[str, Any]:
    """Return the known fields of a facet by their names."""
    known = ((name, getattr(facet, name)) for name in facet.__struct_fields__)
    return {name: value for name, value in known if value is not None}


def _convert_input(call: ToolCall) -> dict[str, Any]:
    """Return the input fields of a tool by their names."""
    return {} if call.input is None else _convert_payloads(call.input)


def _convert_output(call: ToolCall) -> dict[str, Any]:
    """Return the output of a tool, and its exit code if it has one."""
    output = {} if call.output is None else _convert_payloads(call.output)
    return output if call.tool.exit_code is None else {**output, "exitCode": call.tool.exit_code}


def _convert_payloads(fields: msgspec.Struct) -> dict[str, Any]:
    """Return each payload by its name, with JSON decoded. A truncated payload stays text; `truncated` lists it."""
    found: dict[str, Any] = {}
    cut: list[str] = []
    for name in fields.__struct_fields__:
        payload: PayloadText | None = getattr(fields, name)
        if payload is None:
            continue
        key = _WIRE_NAMES.get(name, name)
        found[key] = payload.text if payload.truncated or name not in _JSON else _decode(payload.text)
        if payload.truncated:
            cut.append(key)
    return {**found, "truncated": cut} if cut else found


_JSON: Final = frozenset({"changes", "arguments", "result"})
"""The names of payloads in JSON."""
_WIRE_NAMES: Final = {"aggregated_output": "output"}


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return text
