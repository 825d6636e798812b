"""Define the JSON Lines of `codex exec --json`: one struct for each shape that the real CLI prints (T1).

Checked against the output of releases 0.47, 0.61, 0.77, 0.98, 0.125, 0.140, 0.163 and 0.169. Field order is the order
on the line, since a decoder is fastest on what it expects next. Statuses and names are strings, since later releases
may have new ones. Values that are only passed on or counted stay undecoded (`msgspec.Raw`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from codex_adapter.events import PlanItem, UnknownLine

__all__ = [
    "PLAIN_NAME",
    "AgentMessage",
    "CollabToolCall",
    "CommandExecution",
    "ErrorItem",
    "ErrorLine",
    "FileChange",
    "FileChangeEntry",
    "Item",
    "ItemCompleted",
    "ItemFailed",
    "ItemStarted",
    "ItemUpdated",
    "McpToolCall",
    "Reasoning",
    "ThreadEvent",
    "ThreadStarted",
    "TodoList",
    "TurnCompleted",
    "TurnFailed",
    "TurnStarted",
    "Unknown",
    "WebSearch",
]

PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The form of the CLI's own names."""

Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


# Set for older shapes only; no agent prints a key of this name.
_DELTA = msgspec.field(name="$delta", default=False)


class _Item(msgspec.Struct, kw_only=True, gc=False, tag_field="type"):
    id: str


class AgentMessage(_Item, tag="agent_message", kw_only=True):
    """A message of the agent: the whole text, or a fragment if `delta`."""

    text: str
    delta: bool = _DELTA


class Reasoning(_Item, tag="reasoning", kw_only=True):
    """A summary of the agent's reasoning: the whole text, or a fragment if `delta`."""

    text: str
    delta: bool = _DELTA


class CommandExecution(_Item, tag="command_execution", kw_only=True):
    """A shell command; today's CLI prints stdout and stderr as one `aggregated_output`."""

    command: str = ""
    aggregated_output: str = ""
    exit_code: Int64 | None = None
    status: str = ""
    stdout: str = ""
    stderr: str = ""


class FileChangeEntry(msgspec.Struct, gc=False):
    """One file of a patch; `kind` is add, delete or update."""

    path: str
    kind: str = ""


class FileChange(_Item, tag="file_change", kw_only=True):
    """A patch applied to files; a failed one may be half applied."""

    changes: list[FileChangeEntry] = []
    status: str = ""
    diff: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: Int64 | None = None


class McpToolCall(_Item, tag="mcp_tool_call", kw_only=True):
    """A call of a tool on an MCP server; a tool's own error has a `result`, a failed call an `error`."""

    server: str = ""
    tool: str = ""
    arguments: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()
    status: str = ""


class CollabToolCall(_Item, tag="collab_tool_call", kw_only=True):
    """A sub-agent spawned, spoken to, waited for or closed."""

    tool: str = ""
    sender_thread_id: str | None = None
    receiver_thread_ids: list[str] = []
    prompt: str | None = None
    agents_states: msgspec.Raw = msgspec.Raw()
    status: str = ""


class WebSearch(_Item, tag="web_search", kw_only=True):
    """A search of the web; newer releases print the key `id` twice, and the last one counts."""

    query: str = ""
    action: msgspec.Raw = msgspec.Raw()
    status: str = ""


class TodoList(_Item, tag="todo_list", kw_only=True):
    """The agent's plan, whole."""

    items: tuple[PlanItem, ...]


class ErrorItem(_Item, tag="error", kw_only=True):
    """A warning of the CLI; not fatal, and often before the turn has started."""

    message: str


Item: TypeAlias = (
    AgentMessage
    | Reasoning
    | CommandExecution
    | FileChange
    | McpToolCall
    | CollabToolCall
    | WebSearch
    | TodoList
    | ErrorItem
)


class _Line(msgspec.Struct, kw_only=True, gc=False, tag_field="type"):
    """The fields that every line may have; if it has none, `Context` fills them in (T3)."""

    thread_id: str | None = None
    turn_id: str | None = None
    conversation_id: str | None = None


class ThreadStarted(_Line, tag="thread.started", kw_only=True):
    """The session of the run: new or resumed."""

    thread_id: str


class TurnStarted(_Line, tag="turn.started", kw_only=True):
    """The agent begins to work on a prompt."""


class TurnCompleted(_Line, tag="turn.completed", kw_only=True):
    """The turn completed; `usage` counts tokens (of the whole thread since 0.80)."""

    usage: dict[str, Any] | None = None


class TurnFailed(_Line, tag="turn.failed", kw_only=True):
    """The turn failed; an `error` line with the same message precedes it."""

    error: Any = None


class ItemStarted(_Line, tag="item.started", kw_only=True):
    """An item of the turn has begun."""

    item: Item


class ItemUpdated(_Line, tag="item.updated", kw_only=True):
    """An item of the turn has changed."""

    item: Item


class ItemCompleted(_Line, tag="item.completed", kw_only=True):
    """An item of the turn is complete; its own status shows whether it failed."""

    item: Item


class ItemFailed(_Line, tag="item.failed", kw_only=True):
    """An item of the turn failed (older shape)."""

    item: Item
    error: Any = None

    def message(self) -> str:
        """Return the error of the line, or one that names the item (M0)."""
        message = self.error.get("message") if isinstance(self.error, dict) else self.error
        if isinstance(message, str):
            return message
        return self.item.message if isinstance(self.item, ErrorItem) else f"{self.item.__struct_config__.tag} failed"


class ErrorLine(_Line, tag="error", kw_only=True):
    """A notice of the CLI, mostly of a reconnect; not terminal by itself."""

    message: str


class Unknown(msgspec.Struct, kw_only=True, gc=False):
    """A well-formed line of a type, or an item type, that this release of the adapter does not know (T4)."""

    type: str | None
    item_type: str | None = None
    thread_id: str | None = None
    turn_id: str | None = None
    conversation_id: str | None = None

    def names(self, mask: Callable[[str], str]) -> UnknownLine:
        """Return the names of the line, each masked first and then cut to its plain beginning (M0, T4)."""

        def plain(name: str | None) -> str | None:
            found = None if name is None else PLAIN_NAME.match(mask(name))
            return None if found is None else found[0]

        return UnknownLine(plain(self.type), plain(self.item_type))


DecodedEvent: TypeAlias = (
    ThreadStarted
    | TurnStarted
    | TurnCompleted
    | TurnFailed
    | ItemStarted
    | ItemUpdated
    | ItemCompleted
    | ItemFailed
    | ErrorLine
)
ThreadEvent: TypeAlias = DecodedEvent | Unknown
