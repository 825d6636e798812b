"""Decode the lines of `claude -p --output-format stream-json` into events (M0 to M11).

A line of a message gives one event for each of its blocks; any other line gives one event, or none where a later line
repeats it. News of the session, calls that a turn leaves open, and plans give events of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from typing_extensions import override

from codex_adapter.agents.claude.kind import KIND
from codex_adapter.agents.claude.stream import lines as cl
from codex_adapter.agents.claude.stream.block_numbers import BlockNumbers
from codex_adapter.agents.claude.stream.calls import Calls
from codex_adapter.agents.claude.stream.control import INTERRUPT, answer_to
from codex_adapter.agents.claude.stream.costs import RunCosts
from codex_adapter.agents.claude.stream.diagnosis import StderrTail, hint_of_error, hint_of_message, hint_of_result
from codex_adapter.agents.claude.stream.line_parser import parse_lines
from codex_adapter.agents.claude.stream.notices import (
    LIMIT_MESSAGES,
    QUIET,
    RETRYING,
    missing_servers,
    rate_limit,
    retry,
)
from codex_adapter.agents.claude.stream.usage import RunTokens, counts
from codex_adapter.core.bad_lines import BadLine
from codex_adapter.core.bounds import MESSAGE_LIMIT
from codex_adapter.core.decoder import Decoded, Decoder
from codex_adapter.core.framing import Line
from codex_adapter.core.free_text import FreeText
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.notices import error_event, status_event
from codex_adapter.core.payloads import json_text
from codex_adapter.core.session_notice import SessionNotice
from codex_adapter.core.token_counts import PLAIN_NAME
from codex_adapter.errors import BackendError
from codex_adapter.events import (
    TURN_FAILED,
    AgentInfo,
    ErrorSource,
    Event,
    ExitStatus,
    TextPart,
    TextPhase,
    TokenUsage,
    UnknownLine,
)
from codex_adapter.hints import Hint

__all__ = ["ClaudeDecoder"]

_FROM_ITEM: Final = ErrorSource("item")
_SYNTHETIC: Final = "<synthetic>"
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_ANSWER: Final = "StructuredOutput"
"""The tool that the CLI adds for an output schema. The result of the turn has its last valid input."""


class ClaudeDecoder(Decoder):
    """Decode one run of Claude Code; `masker` masks the strings that outlive their line (X5).

    With `require_servers`, a run with an MCP server that is not connected is refused. `sandboxed` is true if the CLI
    runs commands in its own sandbox (AG3, F12).
    """

    def __init__(
        self, masker: Masker, *, full_payloads: bool = False, require_servers: bool = False, sandboxed: bool = True
    ) -> None:
        super().__init__(KIND)
        self._masker = masker
        self._mask = masker.mask_name
        self._require_servers = require_servers
        self._refusal: BackendError | None = None
        self._session = SessionNotice(KIND)
        self._session_shown: str | None = None
        self._session_seen: str | None = None
        self._hint: Hint | None = None
        self._answered = self._unanswered = False
        self._stderr = StderrTail()
        self._stderr_hint: Hint | None = None
        self._session_missing = False
        self._tokens = RunTokens(self._mask)
        self._answers = b""
        self._input_open = True
        self._costs = RunCosts()
        self._free = FreeText()
        self._calls = Calls(self.state, masker, self._free, full_payloads=full_payloads, sandboxed=sandboxed)
        self._agent: AgentInfo | None = None
        self._blocks = BlockNumbers()

    @override
    def decode(self, lines: Sequence[Line]) -> Decoded:
        """Implement `Decoder.decode`. (M0)"""
        parsed = parse_lines(lines)
        self.state.lines_received(len(parsed))
        out: list[Event] = []
        for line in parsed:
            if isinstance(line, BadLine):
                self.state.line_stalled()
                out.append(error_event(KIND, line.message))
                continue
            session_id = getattr(line, "session_id", None)
            if session_id != self._session_seen and session_id is not None:
                self._see_session(session_id)
            events = _LINES[type(line)](self, line)
            if self._session.waiting:
                for event in events:
                    out += self._session.attach_to(event)
            else:
                out += events
        return self._free.take(out)

    @override
    def finish(self) -> Decoded:
        """Implement `Decoder.finish`: close open calls, and report a session id that no event has shown. (M5, M9)"""
        return self._free.take([*self._calls.close(), *self._session.finish()])

    @override
    def close_tools(self) -> Decoded:
        """Implement `Decoder.close_tools` (M9)."""
        return self._free.take(self._calls.close())

    @override
    def receive_stderr(self, data: bytes) -> None:
        """Implement `Decoder.receive_stderr`. The CLI reports there why it does not start. (F9, S9)"""
        if data:
            self._stderr.receive(data)
        else:
            self._stderr_hint = self._stderr.take_hint()

    @override
    def data_to_send(self) -> bytes:
        """Implement `Decoder.data_to_send`: the answers to the questions of the CLI. (AG9)"""
        answers, self._answers = self._answers, b""
        return answers

    @property
    @override
    def input_open(self) -> bool:
        """Implement `Decoder.input_open`. The CLI exits after its last turn only if its input is closed. (AG9)"""
        return self._input_open

    @override
    def interrupt(self) -> bytes:
        """Implement `Decoder.interrupt`."""
        return INTERRUPT

    @property
    @override
    def session_missing(self) -> bool:
        """Implement `Decoder.session_missing`."""
        return self._session_missing or self._stderr.session_missing

    @property
    @override
    def refusal(self) -> BackendError | None:
        """Implement `Decoder.refusal`."""
        return self._refusal

    @property
    @override
    def hint(self) -> Hint | None:
        """Implement `Decoder.hint`."""
        return self._hint

    @override
    def tokens_so_far(self) -> dict[str, int]:
        """Implement `Decoder.tokens_so_far`. (F15)"""
        return self._tokens.so_far()

    @override
    def explain(self, status: ExitStatus, *, lingered: bool) -> Hint | None:
        """Implement `Decoder.explain`. (F9)"""
        if lingered or self.state.turn == "completed":
            return "no_answer" if self._unanswered else self._calls.sandbox.hint
        return self._hint or self._stderr_hint or self._calls.sandbox.hint

    def _see_session(self, session_id: str) -> None:
        self._session_seen = session_id
        self._session_shown = self._session.mask_id(session_id, self._mask)
        if self._session.session_id is not None:
            self.state.session_started(self._session.session_id)

    def _assistant(self, line: cl.Assistant) -> list[Event]:
        message, thread = line.message, line.parent_tool_use_id
        content = message.content
        if isinstance(content, str):
            content = [cl.Block("text", text=content)]
        if message.model == _SYNTHETIC:
            return self._synthetic(line, content)
        self._hint = None
        self._answered = True
        events: list[Event] = []
        for block in content:
            number = self._blocks.next(thread, message.id)
            if number == 0 and thread is None:
                self._tokens.at_answer(message.id, message.usage)
            if block.type == "text":
                if thread is None:
                    self.state.message_completed(block.text)
                events.append(self._text(block.text, f"{message.id}#{number}", "agent_message", "complete", thread))
            elif block.type == "thinking":
                events.append(self._text(block.thinking, f"{message.id}#{number}", "reasoning", "complete", thread))
            elif block.name == _ANSWER and block.type == "tool_use" and thread is None:
                self._calls.answer(block.id)
            elif block.type in _CALLS:
                events.append(self._calls.call(block, self._session_shown, thread))
            elif block.type.endswith("_tool_result"):
                events += self._calls.result(block, self._session_shown, thread, cl.NO_VALUE)
            elif block.type != "redacted_thinking":
                events.append(self._unknown("assistant", block.type))
        return events

    def _synthetic(self, line: cl.Assistant, content: Sequence[cl.Block]) -> list[Event]:
        """Return an error for a message that the CLI wrote in place of the model, nothing for its other words."""
        text = "\n".join([block.text for block in content if block.text])
        if line.error is None and not line.is_api_error_message and not text.startswith("API Error"):
            return []
        self.state.line_stalled()
        self._hint = hint_of_message(line, text)
        return [self._error(text or "request failed")]

    def _text(self, text: str, item_id: str, item_type: str, phase: TextPhase, parent_id: str | None) -> Event:
        self._free.add_text(text, item_id, parent_id)
        part = TextPart(item_id, item_type, phase, 1, 1, parent_id)
        return Event(0, KIND, "text_output", "assistant", text, None, part)

    def _error(self, message: str) -> Event:
        self._free.add_message(message)
        return error_event(KIND, message, _FROM_ITEM)

    def _status(self, message: str) -> Event:
        """Return a status event with words of the CLI, masked here: elsewhere only messages of errors are (X5)."""
        message = self._masker.mask_beginning(message, MESSAGE_LIMIT)
        self._free.add_message(message)
        return status_event(KIND, message)

    def _user(self, line: cl.User) -> list[Event]:
        content = line.message.content
        results = [] if isinstance(content, str) else [block for block in content if block.type == "tool_result"]
        # If a line has several results, it does not show to which of them `tool_use_result` belongs.
        raw = line.tool_use_result if len(results) == 1 else cl.NO_VALUE
        events: list[Event] = []
        for block in results:
            events += self._calls.result(block, self._session_shown, line.parent_tool_use_id, raw)
        return events

    def _partial(self, line: cl.PartialMessage) -> list[Event]:
        part, thread = line.event, line.parent_tool_use_id
        if part.type == "message_start" and part.message is not None:
            self._blocks.begin(thread, part.message.id)
        elif part.type == "message_delta" and thread is None:
            self._tokens.at_answer(self._blocks.current(thread), part.usage)
        if part.type != "content_block_delta" or part.delta is None:
            return []
        item_id = f"{self._blocks.current(thread)}#{part.index}"
        if part.delta.type == "text_delta":
            return [self._text(part.delta.text, item_id, "agent_message", "delta", thread)]
        if part.delta.type == "thinking_delta":
            return [self._text(part.delta.thinking, item_id, "reasoning", "delta", thread)]
        return []

    def _system(self, line: cl.System) -> list[Event]:
        notice = _SYSTEM.get(line.subtype)
        if notice is not None:
            return notice(self, line)
        return [] if line.subtype in QUIET else [self._unknown("system", line.subtype)]

    def _turn_begins(self, line: cl.System) -> list[Event]:
        self._hint = None
        if self._require_servers and any(server.status != "connected" for server in line.mcp_servers):
            self._refusal = BackendError("other", hint="mcp_server_failed")
        self.state.turn_started()
        self._costs.release = line.release
        missing = missing_servers(line.mcp_servers) if self._agent is None else []
        begun = [status_event(KIND), *self._agent_is(AgentInfo(line.release, line.model))]
        return begun + [self._status(message) for message in missing]

    def _agent_is(self, info: AgentInfo, message: str | None = None) -> list[Event]:
        """Return the news on release and model, nothing if they are known (M14)."""
        info = AgentInfo(
            *(None if name is None else self._mask(name)[:_LONGEST_NAME] for name in (info.release, info.model))
        )
        if info in (self._agent, AgentInfo()):
            return []
        self._agent = info
        return [status_event(KIND, message, info)]

    def _model_replaced(self, line: cl.System) -> list[Event]:
        release = None if self._agent is None else self._agent.release
        return self._agent_is(AgentInfo(release, line.fallback_model), "model replaced")

    def _retry(self, line: cl.System) -> list[Event]:
        self.state.line_stalled()
        facet = retry(line)
        self._hint = hint_of_error(line.error, line.error_status, "")
        return [status_event(KIND, RETRYING, facet)]

    def _informational(self, line: cl.System) -> list[Event]:
        text = line.content or line.text or line.subtype
        if line.level in ("warning", "error"):
            return [self._error(text)]
        return [self._status(text)]

    def _denial(self, tool_name: str | None) -> Event:
        return self._status(f"permission denied: {tool_name or 'a tool'}")

    def _phase(self, line: cl.System) -> list[Event]:
        if line.compact_result == "failed":
            return [status_event(KIND, "compaction failed")]
        return [status_event(KIND, "compaction started")] if line.status == "compacting" else []

    def _hook_ended(self, line: cl.System) -> list[Event]:
        return [] if line.outcome in (None, "success") else [status_event(KIND, "hook failed")]

    def _result(self, line: cl.Result) -> list[Event]:
        self._input_open = False
        events = self._calls.turn_ended()
        cost = self._costs.at_result(line)
        self.state.cost_reported(cost.run)
        usage = None if line.usage is None else counts(line.usage, self._mask)
        run_usage = self._tokens.at_turn_end(usage)
        # The CLI answers its own commands itself. A line of the model can be too long to be read (F16).
        self._unanswered = not self._answered and usage is not None and not usage.get("output_tokens")
        self._answered = False
        if line.is_error or line.subtype != "success":
            self.state.turn_failed()
            self._hint = hint_of_result(line) or self._hint
            self._session_missing |= self._hint == "session_unknown"
            if self._hint == "schema_ignored" and line.errors:
                events.append(self._error(line.errors[0]))
            return [*events, status_event(KIND, TURN_FAILED)]
        self._hint = None
        answer = json_text(line.structured_output)
        if answer is not None:
            # Up to 2.1.152, the model can continue after its answer, and `result` is its last text.
            events.append(self._text(answer, _ANSWER, "agent_message", "complete", None))
        if final := answer or line.result:
            self.state.message_completed(final)
        # The counts are those of one turn. A run has several turns if the CLI prompts itself.
        self.state.turn_completed(usage, run_usage if self._tokens.known else None)
        return [*events, status_event(KIND, None, None if usage is None else TokenUsage(usage, cost.turn))]

    def _rate_limit(self, line: cl.RateLimit) -> list[Event]:
        facet = rate_limit(line.rate_limit_info, self._mask)
        if facet.status == "rejected":
            self._hint = "quota_exceeded"
        return [status_event(KIND, LIMIT_MESSAGES.get(facet.status), facet)]

    def _control_request(self, line: cl.ControlRequest) -> list[Event]:
        if self._input_open:
            self._answers += answer_to(line)
        return [self._denial(line.request.tool_name)] if line.request.subtype == "can_use_tool" else []

    def _notice(self, _line: cl.Notice) -> list[Event]:
        return []

    def _unknown_line(self, line: cl.Unknown) -> list[Event]:
        return [self._unknown(line.type, line.subtype)]

    def _unknown(self, type_: str | None, item_type: str | None) -> Event:
        return Event(0, KIND, "unknown", None, None, None, UnknownLine(self._plain(type_), self._plain(item_type)))

    def _plain(self, name: str | None) -> str | None:
        """Return the plain beginning of a name, masked before it is cut (M0, T4)."""
        found = None if name is None else PLAIN_NAME.match(self._mask(name))
        return None if found is None else found[0]


_LONGEST_NAME: Final = 128
_SYSTEM: Final[dict[str, Callable[[ClaudeDecoder, cl.System], list[Event]]]] = {
    "init": ClaudeDecoder._turn_begins,
    "api_retry": ClaudeDecoder._retry,
    "model_fallback": ClaudeDecoder._model_replaced,
    "informational": ClaudeDecoder._informational,
    "notification": ClaudeDecoder._informational,
    "permission_denied": lambda self, line: [self._denial(line.tool_name)],
    "status": ClaudeDecoder._phase,
    "compact_boundary": lambda _self, _line: [status_event(KIND, "compaction completed")],
    "hook_response": ClaudeDecoder._hook_ended,
    "task_notification": lambda self, line: self._calls.task_ended(line),
}
_LINES: Final[dict[type, Callable[[ClaudeDecoder, Any], list[Event]]]] = {
    cl.Assistant: ClaudeDecoder._assistant,
    cl.User: ClaudeDecoder._user,
    cl.PartialMessage: ClaudeDecoder._partial,
    cl.System: ClaudeDecoder._system,
    cl.Result: ClaudeDecoder._result,
    cl.RateLimit: ClaudeDecoder._rate_limit,
    cl.ControlRequest: ClaudeDecoder._control_request,
    cl.Unknown: ClaudeDecoder._unknown_line,
    **dict.fromkeys(cl.Notice.__args__, ClaudeDecoder._notice),
}
