"""Follow tool calls from their start to their one result, and the plan that some of them change.

The CLI reports the result of a call that continues in the background at once, and its end in a notice (M3, M6, M9).
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from codex_adapter.agents.claude.advice import ADVICE
from codex_adapter.agents.claude.kind import KIND
from codex_adapter.agents.claude.stream.lines import Block, System
from codex_adapter.agents.claude.stream.notices import ended_tool
from codex_adapter.agents.claude.stream.plans import Plans
from codex_adapter.agents.claude.stream.tools import (
    call_payloads,
    command_of,
    result_payloads,
    tool_call,
    tool_result,
    was_started,
)
from codex_adapter.core.free_text import FreeText
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.notices import status_event
from codex_adapter.core.payloads import facet_with_payloads
from codex_adapter.core.sandbox_watch import SandboxWatch, sandbox_failed
from codex_adapter.core.state import StreamState
from codex_adapter.events import Event, Plan, ToolBytes, ToolCall

__all__ = ["Calls"]

_MOST_ANSWERS = 64
_MOST_COMMANDS = 64
_LONGEST_COMMAND = 4_096


class Calls:
    """The tool calls of a run. `state` has the open ones, and `free` gets the strings of their events.

    `masker` masks the texts of the plan, which are kept, and long payloads (X5).
    """

    __slots__ = (
        "_answers",
        "_commands",
        "_ended",
        "_free",
        "_full_payloads",
        "_masker",
        "_plans",
        "_sandboxed",
        "_state",
        "sandbox",
    )

    def __init__(
        self, state: StreamState, masker: Masker, free: FreeText, *, full_payloads: bool, sandboxed: bool
    ) -> None:
        self._state = state
        self._free = free
        self._masker = masker
        self._full_payloads = full_payloads
        self._plans = Plans(masker.mask)
        self._answers: set[str] = set()
        """The calls that are answers, until their results."""
        self._sandboxed = sandboxed
        self.sandbox = SandboxWatch()
        """Whether the sandbox of the CLI starts commands."""
        self._commands: dict[str, str] = {}
        """The beginnings of the open commands, until one was started in the sandbox."""
        self._ended: dict[str, System] = {}
        """The notices on tasks that ended before the result of their call, by the id of the call."""

    def call(self, block: Block, session_id: str | None, thread: str | None) -> Event:
        """Return the event of a call. `thread` is the call that started the sub-agent, None for the agent itself."""
        tool = tool_call(block, session_id, thread)
        if block.id:
            self._state.tool_opened(block.id, tool)
            if self._sandboxed and tool.kind == "command_execution" and len(self._commands) < _MOST_COMMANDS:
                self._commands[block.id] = command_of(block)[:_LONGEST_COMMAND]
        if thread is None:
            self._plans.call(block)
        self._free.add_tool(tool)
        facet = ToolCall(tool, None, None)
        if self._full_payloads:
            facet = facet_with_payloads(tool, call_payloads(block, tool.kind), {}, self._masker, self._free.texts)
        return Event(0, KIND, "tool_call", "tool", None, None, facet)

    def answer(self, use_id: str | None) -> None:
        """Note a call that is an answer for an output schema. Neither it nor its result is shown as a tool call."""
        if len(self._answers) >= _MOST_ANSWERS:
            self._answers.clear()
        self._answers.add(use_id or "")

    def result(self, block: Block, session_id: str | None, thread: str | None, raw: msgspec.Raw) -> list[Event]:
        """Return the event of a result, and the plan if the call changed it.

        `raw` is what the CLI knows of the result besides the block's content. A call that continues in the background
        stays open (M9).
        """
        use_id = block.tool_use_id or ""
        if use_id in self._answers:
            self._answers.discard(use_id)
            return []
        opened = self._state.open_tools.get(use_id)
        tool = tool_result(block, opened, session_id, thread, raw)
        ended = self._ended.pop(use_id, None)
        continues = tool.status == "running" and opened is not None and ended is None
        if continues:
            tool = replace(tool, phase="delta")
            self._state.tool_backgrounded(use_id, tool)
        else:
            if tool.status == "running" and ended is not None:
                tool = ended_tool(tool, ended)
            self._state.background_closed(use_id)
        self._free.add_tool(tool)
        facet = ToolCall(tool, None, None)
        if self._full_payloads:
            facet = facet_with_payloads(tool, {}, result_payloads(block, tool.kind), self._masker, self._free.texts)
        events = [Event(0, KIND, "tool_call" if continues else "tool_result", "tool", None, None, facet)]
        if self._sandboxed and tool.kind == "command_execution" and use_id in self._commands:
            events += self._sandbox_news(self._commands.pop(use_id), block, tool.exit_code)
        if thread is None and opened is not None:
            plan = self._plans.result(opened.tool_name, block, raw)
            if plan is not None:
                self._free.long = True
                events.append(status_event(KIND, None, Plan(plan)))
        return events

    def _sandbox_news(self, command: str, block: Block, exit_code: int | None) -> list[Event]:
        """Return a notice on the first command that the sandbox did not start, else nothing (F12)."""
        first = self.sandbox.command_ended(was_started(command, block, exit_code))
        if self.sandbox.works:
            self._sandboxed = False  # it is proven
            self._commands.clear()
        return [sandbox_failed(KIND, ADVICE["sandbox_unavailable"])] if first else []

    def task_ended(self, line: System) -> list[Event]:
        """Return the result of a call that continued in the background, nothing for any other call (M9)."""
        use_id = line.tool_use_id or ""
        opened = self._state.open_tools.get(use_id)
        if opened is None:
            return []
        if use_id not in self._state.background:
            self._ended[use_id] = line
            return []
        self._state.background_closed(use_id)
        self._free.add_tool(opened)
        facet = ToolCall(replace(ended_tool(opened, line), bytes=ToolBytes()), None, None)
        return [Event(0, KIND, "tool_result", "tool", None, None, facet)]

    def turn_ended(self) -> list[Event]:
        """Return a result for each open call that does not continue in the background (M9)."""
        return self.close(background=False)

    def close(self, *, background: bool = True) -> list[Event]:
        """Return a result for each open call; without `background`, not for those that continue there (M9)."""
        self._ended.clear()
        for tool in self._state.open_tools.values():
            self._free.add_tool(tool)
        return self._state.close_tools(background=background)
