"""Define the JSON Lines of `codex exec --json`, with one struct for each form that the real CLI prints (T1).

Checked against the output of releases 0.47, 0.61, 0.77, 0.98, 0.125, 0.140, 0.163 and 0.169. Field order is the order
on the line, because the decoder is fastest if the next field is the expected one. Statuses and names are strings,
because later releases may have new ones. Values that are only forwarded or counted stay undecoded (`msgspec.Raw`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import msgspec

from codex_adapter.core.token_counts import PLAIN_NAME
from codex_adapter.events import UnknownLine

__all__ = [
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
    "TodoStep",
    "TurnCompleted",
    "TurnFailed",
    "TurnStarted",
    "Unknown",
    "WebSearch",
]

Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


# Set only for older forms. No agent prints a key of this name.
_DELTA = msgspec.field(name="$delta", default=False)


class _Item(msgspec.Struct, kw_only=True, gc=False, tag_field="type"):
    id: str


class AgentMessage(_Item, tag="agent_message", kw_only=True):
    """A message of the agent: the complete text, or a fragment if `delta`."""

    text: str
    delta: bool = _DELTA


class Reasoning(_Item, tag="reasoning", kw_only=True):
    """A summary of the agent's reasoning: the complete text, or a fragment if `delta`."""

    text: str
    delta: bool = _DELTA


class CommandExecution(_Item, tag="command_execution", kw_only=True):
    """A shell command. The current CLI prints stdout and stderr as one `aggregated_output`."""

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
    """A patch applied to files. A failed patch may be partly applied."""

    changes: list[FileChangeEntry] = []
    status: str = ""
    diff: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: Int64 | None = None


class McpToolCall(_Item, tag="mcp_tool_call", kw_only=True):
    """A call of a tool on an MCP server. An error of the tool is a `result`; a failed call has an `error`."""

    server: str = ""
    tool: str = ""
    arguments: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()
    status: str = ""


class CollabToolCall(_Item, tag="collab_tool_call", kw_only=True):
    """An action on a sub-agent: spawn, send a message, wait or close."""

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


class TodoStep(msgspec.Struct, gc=False):
    """One step of the agent's plan."""

    text: str
    completed: bool = False


class TodoList(_Item, tag="todo_list", kw_only=True):
    """The agent's complete plan."""

    items: list[TodoStep]


class ErrorItem(_Item, tag="error", kw_only=True):
    """A warning of the CLI. It is not fatal, and often precedes the turn."""

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
    """The fields that each line may have. `Context` sets missing ids. (T3)"""

    thread_id: str | None = None
    turn_id: str | None = None
    conversation_id: str | None = None


class ThreadStarted(_Line, tag="thread.started", kw_only=True):
    """The session of the run: new or resumed."""

    thread_id: str


class TurnStarted(_Line, tag="turn.started", kw_only=True):
    """The start of the agent's work on a prompt."""


class TurnCompleted(_Line, tag="turn.completed", kw_only=True):
    """The completion of the turn. `usage` has token counts, since 0.80 of the whole thread."""

    usage: dict[str, Any] | None = None


class TurnFailed(_Line, tag="turn.failed", kw_only=True):
    """The failure of the turn. An `error` line with the same message precedes it."""

    error: Any = None


class ItemStarted(_Line, tag="item.started", kw_only=True):
    """The start of an item of the turn."""

    item: Item


class ItemUpdated(_Line, tag="item.updated", kw_only=True):
    """A change of an item of the turn."""

    item: Item


class ItemCompleted(_Line, tag="item.completed", kw_only=True):
    """The end of an item of the turn. The status of the item shows whether it failed."""

    item: Item


class ItemFailed(_Line, tag="item.failed", kw_only=True):
    """The failure of an item of the turn (older form)."""

    item: Item
    error: Any = None

    def message(self) -> str:
        """Return the error of the line, or one that names the item (M0)."""
        message = self.error.get("message") if isinstance(self.error, dict) else self.error
        if isinstance(message, str):
            return message
        return self.item.message if isinstance(self.item, ErrorItem) else f"{self.item.__struct_config__.tag} failed"


class ErrorLine(_Line, tag="error", kw_only=True):
    """A notice of the CLI, mostly of a reconnect. It does not end the run."""

    message: str


class Unknown(msgspec.Struct, kw_only=True, gc=False):
    """A well-formed line with a type, or item type, that this release of the adapter does not know (T4)."""

    type: str | None
    item_type: str | None = None
    thread_id: str | None = None
    turn_id: str | None = None
    conversation_id: str | None = None

    def names(self, mask: Callable[[str], str]) -> UnknownLine:
        """Return the names of the line, each masked and then cut to its leading plain characters (M0, T4)."""

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
