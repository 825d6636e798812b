"""The commonest older shape, an item's fields at the top of its line, read as fast as today's shapes (T2).

What is taken here means what `legacy.modernize` makes of it, it only comes sooner. A line that is odd in some way is
refused, so that each question of what stands for what, say of an `id` beside an `item_id`, has its one answer there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from codex_adapter.agents.codex.stream import lines as te
from codex_adapter.events import PlanItem

__all__ = ["read_flat_line"]


class _Fields(msgspec.Struct, gc=False):
    """The fields of an item of any type."""

    text: str | UnsetType = UNSET
    text_delta: str | UnsetType = UNSET
    command: str | UnsetType = UNSET
    aggregated_output: str | UnsetType = UNSET
    exit_code: te.Int64 | UnsetType | None = UNSET
    changes: list[te.FileChangeEntry] | UnsetType = UNSET
    server: str | UnsetType = UNSET
    tool: str | UnsetType = UNSET
    arguments: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    sender_thread_id: str | UnsetType | None = UNSET
    receiver_thread_ids: list[str] | UnsetType = UNSET
    prompt: str | UnsetType | None = UNSET
    agents_states: Raw | UnsetType = UNSET
    query: str | UnsetType = UNSET
    action: Raw | UnsetType = UNSET
    items: tuple[PlanItem, ...] | UnsetType = UNSET
    message: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    diff: str | UnsetType = UNSET
    # What may only be UNSET makes a line an odd one.
    server_name: UnsetType = UNSET
    tool_name: UnsetType = UNSET


class _Inner(_Fields, gc=False):
    """What a `content` or a `delta` may hold."""

    delta: UnsetType = UNSET


class _Line(_Fields, gc=False, tag_field="type"):
    """The line of an item whose fields stand at its top or in `content` and `delta`; or today's, with an `item`."""

    item_type: str | UnsetType = UNSET
    item_id: str | UnsetType = UNSET
    thread_id: str | None = None
    turn_id: str | None = None
    conversation_id: str | None = None
    content: str | _Inner | UnsetType = UNSET
    delta: str | _Inner | UnsetType = UNSET
    item: te.Item | UnsetType = UNSET
    id: UnsetType = UNSET


class _Started(_Line, gc=False, tag="item.started"): ...


class _Updated(_Line, gc=False, tag="item.updated"): ...


class _Completed(_Line, gc=False, tag="item.completed"): ...


class _Created(_Line, gc=False, tag="item.created"):
    item: UnsetType = UNSET


class _Delta(_Line, gc=False, tag="item.delta"):
    item: UnsetType = UNSET


_Maker: TypeAlias = Callable[[str, "_Fields"], te.Item]
_Names: TypeAlias = tuple[str, ...]
_NoItem: TypeAlias = te.ThreadStarted | te.TurnStarted | te.TurnCompleted | te.TurnFailed | te.ErrorLine
_DECODER: Final = msgspec.json.Decoder(_Started | _Updated | _Completed | _Created | _Delta | _NoItem)
_KINDS: Final[dict[type, type[te.ItemStarted | te.ItemUpdated | te.ItemCompleted]]] = {
    _Started: te.ItemStarted,
    _Updated: te.ItemUpdated,
    _Completed: te.ItemCompleted,
    _Created: te.ItemStarted,
    _Delta: te.ItemUpdated,
}


class _RefusedError(Exception):
    """The line is not one for this file."""


def read_flat_line(line: bytes | bytearray) -> te.ThreadEvent:
    """The thread event of a line that is flat, or of today. Raises whatever it may if it is neither."""
    decoded = _DECODER.decode(line)
    return _event(decoded) if type(decoded) in _KINDS else decoded


def _event(line: _Line) -> te.ThreadEvent:
    item = line.item
    if item is UNSET:
        if line.item_id is UNSET or line.item_type is UNSET:
            raise _RefusedError
        make, names = _ITEMS[line.item_type]
        fields = line if line.content is line.delta is UNSET else _whole(line, names)
        if type(line) is _Delta and fields.text is not UNSET:
            fields.text, fields.text_delta = UNSET, fields.text
        item = make(line.item_id, fields)
    return _KINDS[type(line)](
        item=item, thread_id=line.thread_id, turn_id=line.turn_id, conversation_id=line.conversation_id
    )


def _whole(line: _Line, names: _Names) -> _Fields:
    """All fields of the item: those at the top of the line win over its `content`, and these over its `delta`."""
    fields: _Fields = line
    if type(line.content) is _Inner:
        fields = _merged(fields, line.content, names)
    elif type(line.content) is str and fields.text is UNSET:
        fields.text = line.content
    if type(line.delta) is _Inner:
        fields = _merged(fields, line.delta, names)
    elif type(line.delta) is str and fields.text_delta is UNSET:
        fields.text_delta = line.delta
    return fields


def _merged(outer: _Fields, inner: _Fields, names: _Names) -> _Fields:
    for name in names:
        value = getattr(outer, name)
        if value is not UNSET:
            setattr(inner, name, value)
    return inner


def _text_of(fields: _Fields) -> tuple[str, bool]:
    """The text, and whether it is a fragment of one."""
    if fields.text is not UNSET:
        return fields.text, False
    if fields.text_delta is not UNSET:
        return fields.text_delta, True
    raise _RefusedError


def _agent_message(item_id: str, fields: _Fields) -> te.Item:
    text, delta = _text_of(fields)
    return te.AgentMessage(id=item_id, text=text, delta=delta)


def _reasoning(item_id: str, fields: _Fields) -> te.Item:
    text, delta = _text_of(fields)
    return te.Reasoning(id=item_id, text=text, delta=delta)


def _command_execution(item_id: str, fields: _Fields) -> te.Item:
    return te.CommandExecution(
        id=item_id,
        command=fields.command or "",
        aggregated_output=fields.aggregated_output or "",
        exit_code=None if fields.exit_code is UNSET else fields.exit_code,
        status=fields.status or "",
        stdout=fields.stdout or "",
        stderr=fields.stderr or "",
    )


def _file_change(item_id: str, fields: _Fields) -> te.Item:
    return te.FileChange(
        id=item_id,
        changes=fields.changes or [],
        status=fields.status or "",
        diff=fields.diff or "",
        stdout=fields.stdout or "",
        stderr=fields.stderr or "",
        exit_code=None if fields.exit_code is UNSET else fields.exit_code,
    )


def _mcp_tool_call(item_id: str, fields: _Fields) -> te.Item:
    return te.McpToolCall(
        id=item_id,
        server=fields.server or "",
        tool=fields.tool or "",
        arguments=fields.arguments or Raw(),
        result=fields.result or Raw(),
        error=fields.error or Raw(),
        status=fields.status or "",
    )


def _collab_tool_call(item_id: str, fields: _Fields) -> te.Item:
    return te.CollabToolCall(
        id=item_id,
        tool=fields.tool or "",
        sender_thread_id=None if fields.sender_thread_id is UNSET else fields.sender_thread_id,
        receiver_thread_ids=fields.receiver_thread_ids or [],
        prompt=None if fields.prompt is UNSET else fields.prompt,
        agents_states=fields.agents_states or Raw(),
        status=fields.status or "",
    )


def _web_search(item_id: str, fields: _Fields) -> te.Item:
    return te.WebSearch(id=item_id, query=fields.query or "", action=fields.action or Raw(), status=fields.status or "")


def _todo_list(item_id: str, fields: _Fields) -> te.Item:
    if fields.items is UNSET:
        raise _RefusedError
    return te.TodoList(id=item_id, items=fields.items)


def _error(item_id: str, fields: _Fields) -> te.Item:
    if fields.message is UNSET:
        raise _RefusedError
    return te.ErrorItem(id=item_id, message=fields.message)


# How an item is made, and which fields it is made of.
_ITEMS: Final[dict[str, tuple[_Maker, _Names]]] = {
    "agent_message": (_agent_message, ("text", "text_delta")),
    "assistant_message": (_agent_message, ("text", "text_delta")),
    "reasoning": (_reasoning, ("text", "text_delta")),
    "command_execution": (_command_execution, te.CommandExecution.__struct_fields__[1:]),
    "file_change": (_file_change, te.FileChange.__struct_fields__[1:]),
    "mcp_tool_call": (_mcp_tool_call, te.McpToolCall.__struct_fields__[1:]),
    "collab_tool_call": (_collab_tool_call, te.CollabToolCall.__struct_fields__[1:]),
    "web_search": (_web_search, te.WebSearch.__struct_fields__[1:]),
    "todo_list": (_todo_list, ("items",)),
    "error": (_error, ("message",)),
}
