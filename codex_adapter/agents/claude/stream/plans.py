"""Keep the agent's plan, which the CLI prints whole or as changes of single tasks (M6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from codex_adapter.agents.claude.stream.lines import Block
from codex_adapter.events import PlanItem, PlanStatus

__all__ = ["Plans"]

_MOST_TASKS: Final = 256
_MOST_CALLS: Final = 64
_LONGEST_TEXT: Final = 1_024
_STATUSES: Final[dict[str | None, PlanStatus]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
}
_TOOLS: Final = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"})


class _Todo(msgspec.Struct, gc=False):
    content: str
    status: str | None = None


class _Input(msgspec.Struct, gc=False):
    """The input of a call: `todos` of TodoWrite, `subject` of TaskUpdate."""

    todos: list[_Todo] = []
    subject: str | None = None


class _Task(msgspec.Struct, gc=False):
    id: str
    subject: str
    status: str | None = None


class _Change(msgspec.Struct, gc=False):
    to: str | None = None


class _Result(msgspec.Struct, gc=False):
    """The result of a call: `task` of TaskCreate, `tasks` of TaskList, the rest of TaskUpdate."""

    task: _Task | None = None
    tasks: list[_Task] | None = None
    success: bool | None = None
    task_id: str | None = msgspec.field(default=None, name="taskId")
    change: _Change | None = msgspec.field(default=None, name="statusChange")


_decode_input: Callable[[msgspec.Raw], _Input] = msgspec.json.Decoder(_Input).decode
_decode_result: Callable[[msgspec.Raw], _Result] = msgspec.json.Decoder(_Result).decode


class Plans:
    """The plan of the agent itself, as of its last call. `mask` masks the texts that are kept (X5).

    Up to release 2.0 a call of TodoWrite has the whole plan. Later releases change single tasks. The plan of a resumed
    session is unknown until a TaskList shows it.
    """

    __slots__ = ("_calls", "_mask", "_tasks", "_whole")

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._calls: dict[str, _Input] = {}
        self._tasks: dict[str, PlanItem] = {}
        self._whole = False

    def call(self, block: Block) -> None:
        """Keep what the result of a call does not repeat."""
        if block.name not in ("TodoWrite", "TaskUpdate") or block.id is None or len(self._calls) >= _MOST_CALLS:
            return
        try:
            self._calls[block.id] = _decode_input(block.input)
        except Exception:  # noqa: BLE001 - the model may write anything as input
            return

    def result(self, name: str | None, block: Block, raw: msgspec.Raw) -> tuple[PlanItem, ...] | None:
        """Return the plan after the result of a call of the tool `name`, None if it changes nothing."""
        if name not in _TOOLS:
            return None
        call = self._calls.pop(block.tool_use_id or "", None)
        if block.is_error:
            return None
        if name == "TodoWrite":
            return None if call is None else tuple(self._item(todo.content, todo.status) for todo in call.todos)
        try:
            found = _decode_result(raw)
        except Exception:  # noqa: BLE001 - a result of another shape changes nothing
            return None
        changed = self._apply(found, call)
        return tuple(self._tasks.values()) if changed and self._whole else None

    def _apply(self, found: _Result, call: _Input | None) -> bool:
        if found.tasks is not None:
            self._tasks = {task.id: self._item(task.subject, task.status) for task in found.tasks[:_MOST_TASKS]}
            self._whole = True
            return True
        if found.task is not None:
            # The first task of a new session has the number 1.
            self._whole |= found.task.id == "1" and not self._tasks
            if len(self._tasks) < _MOST_TASKS:
                self._tasks[found.task.id] = self._item(found.task.subject, found.task.status)
            return True
        if found.task_id is None or not found.success:
            return False
        known = self._tasks.get(found.task_id)
        status = None if found.change is None else found.change.to
        if status == "deleted":
            self._tasks.pop(found.task_id, None)
        elif known is None:
            self._whole = False
        else:
            subject = None if call is None else call.subject
            self._tasks[found.task_id] = self._item(subject or known.text, status or known.status)
        return True

    def _item(self, text: str, status: str | None) -> PlanItem:
        known = _STATUSES.get(status, "pending")
        return PlanItem(self._mask(text)[:_LONGEST_TEXT], known == "completed", known)
