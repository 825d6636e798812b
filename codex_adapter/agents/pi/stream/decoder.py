"""Decode the lines of `pi --mode json` into events (M0 to M11).

A text gives an event for each fragment and one for the whole text. Lines that only repeat others, and the prompts that
the CLI prints, give no events. The exit status of the CLI says nothing about the turn: its last answer decides (AG4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from codex_adapter.agents.pi.kind import KIND
from codex_adapter.agents.pi.stream import lines as pl
from codex_adapter.agents.pi.stream.diagnosis import StderrTail, hint_of_error, status_of_error
from codex_adapter.agents.pi.stream.line_parser import parse_lines
from codex_adapter.agents.pi.stream.tools import (
    call_payloads,
    join_texts,
    read_result,
    result_payloads,
    tool_call,
    tool_result,
)
from codex_adapter.agents.pi.stream.usage import read_usage, usage_so_far
from codex_adapter.core.bad_lines import BadLine
from codex_adapter.core.decoder import Decoded, Decoder
from codex_adapter.core.framing import Line
from codex_adapter.core.free_text import FreeText
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.notices import error_event, status_event
from codex_adapter.core.payloads import facet_with_payloads
from codex_adapter.core.session_notice import SessionNotice
from codex_adapter.core.state import checked_cost
from codex_adapter.core.token_counts import MOST_COUNTS, PLAIN_NAME
from codex_adapter.events import (
    TURN_FAILED,
    AgentInfo,
    ErrorSource,
    Event,
    ExitStatus,
    Retry,
    TextPart,
    TextPhase,
    TokenUsage,
    ToolCall,
    TurnOutcome,
    UnknownLine,
)
from codex_adapter.hints import Hint

__all__ = ["PiDecoder"]

_FROM_ITEM: Final = ErrorSource("item")
_OUTCOMES: Final[dict[str | None, TurnOutcome]] = {"stop": "completed", "error": "failed"}
"""The outcome of a turn by the `stopReason` of its last answer. With any other reason, the answer is not whole."""
_TEXTS: Final = {"text_delta": "agent_message", "thinking_delta": "reasoning"}
_WHOLE_TEXTS: Final = {"text_end": "agent_message", "thinking_end": "reasoning"}


class PiDecoder(Decoder):
    """Decode one run of pi; `masker` masks the strings that outlive their line (X5)."""

    def __init__(self, masker: Masker, *, full_payloads: bool = False) -> None:
        super().__init__(KIND)
        self._masker = masker
        self._mask = masker.mask_name
        self._full_payloads = full_payloads
        self._free = FreeText()
        self._session = SessionNotice(KIND)
        self._session_shown: str | None = None
        self._hint: Hint | None = None
        self._stderr = StderrTail()
        self._stderr_hint: Hint | None = None
        self._model: str | None = None
        self._usage: dict[str, int] = {}
        self._cost = 0.0
        self._update: pl.MessageUpdate | None = None
        """The last update of the answer that has not ended."""
        self._answers = 0
        self._whole: set[int] = set()
        """The places of the current answer's texts that were shown as a whole."""
        self._outcome: TurnOutcome = "cut_off"
        """The outcome of the turn, if nothing follows the last answer."""
        self._may_be_cut = False
        """Whether the last answer has no tokens, although its API always reports them at the end."""
        self._turn_ended = False
        """Whether the last line ended an answer and its tools."""
        self._unsettled = False
        """Whether the turn has ended, unless a retry or the line `agent_settled` follows. Old releases have none."""

    @override
    def decode(self, lines: Sequence[Line]) -> Decoded:
        """Implement `Decoder.decode`. (M0)"""
        parsed = parse_lines(lines)
        self.state.lines_received(len(parsed))
        out: list[Event] = []
        for line in parsed:
            if isinstance(line, BadLine):
                out.append(self._bad_line(line))
                continue
            for event in _LINES[type(line)](self, line):
                if self._session.waiting:
                    out += self._session.attach_to(event)
                else:
                    out.append(event)
            self._turn_ended = type(line) is pl.TurnEnd
        return self._free.take(out)

    @override
    def finish(self) -> Decoded:
        """Implement `Decoder.finish`: end a turn without a last line, and close what is open. (M5, M9)"""
        events = self._close_tools()
        if self._unsettled:
            if self._seems_cut:
                # Such a release does not notice that the stream of the Responses API has no end, where the usage is.
                self._outcome, self._hint = "cut_off", "stream_cut"
            events += self._end_turn()
        return self._free.take([*events, *self._session.finish()])

    @override
    def close_tools(self) -> Decoded:
        """Implement `Decoder.close_tools` (M9)."""
        return self._free.take(self._close_tools())

    @override
    def receive_stderr(self, data: bytes) -> None:
        """Implement `Decoder.receive_stderr`. The CLI reports there why it does not start. (F9, S9)"""
        if data:
            self._stderr.receive(data)
        else:
            self._stderr_hint = self._stderr.take_hint()

    @property
    @override
    def session_missing(self) -> bool:
        """Implement `Decoder.session_missing`. For a session of another directory, the CLI exits with 0. (S9)"""
        return self._session.session_id is None and self._stderr.session_missing

    @property
    @override
    def hint(self) -> Hint | None:
        """Implement `Decoder.hint`."""
        return self._hint

    @override
    def tokens_so_far(self) -> dict[str, int]:
        """Implement `Decoder.tokens_so_far`, with the open answer. (F15)"""
        usage = dict(self._usage)
        self._count(read_usage(usage_so_far(self._update)).counts, usage)
        return usage

    @override
    def cost_so_far(self) -> float | None:
        """Implement `Decoder.cost_so_far`, with the open answer. (F15)"""
        return checked_cost(self._cost + read_usage(usage_so_far(self._update)).cost or None)

    @override
    def explain(self, status: ExitStatus, *, lingered: bool) -> Hint | None:
        """Implement `Decoder.explain`. (F9)"""
        if lingered or self.state.turn == "completed":
            return None
        return self._hint or (self._stderr_hint if self.state.turn is None else None)

    def _bad_line(self, line: BadLine) -> Event:
        self.state.line_stalled()
        if self._turn_ended and line.oversize:
            # Only the line with all messages of the run can be this long here.
            self._stop()
        self._turn_ended = False
        return error_event(KIND, line.message)

    def _session_line(self, line: pl.Session) -> list[Event]:
        self._session_shown = self._session.mask_id(line.id, self._mask)
        if self._session.session_id is not None:
            self.state.session_started(self._session.session_id)
        return [status_event(KIND)]

    def _agent_start(self, _line: pl.AgentStart) -> list[Event]:
        self._unsettled = False
        self._outcome = "cut_off"
        self.state.turn_started()
        return [status_event(KIND)]

    def _message_start(self, line: pl.MessageStart) -> list[Event]:
        message = line.message
        if message.role != "assistant":
            return []
        self._answers += 1
        self._whole.clear()
        self._update = None
        if message.model is None or message.model == self._model:
            return []
        self._model = message.model
        return [status_event(KIND, None, AgentInfo(model=self._mask(message.model)[:_LONGEST_NAME]))]

    def _message_update(self, line: pl.MessageUpdate) -> list[Event]:
        self._update = line
        part = line.assistant_message_event
        if (item_type := _TEXTS.get(part.type)) is not None:
            return [self._text(part.delta, part.content_index, item_type, "delta")]
        if (item_type := _WHOLE_TEXTS.get(part.type)) is not None:
            self._whole.add(part.content_index)
            return [self._text(part.content, part.content_index, item_type, "complete")]
        return []

    def _text(self, text: str, place: int, item_type: str, phase: TextPhase) -> Event:
        item_id = f"{self._answers}#{place}"
        self._free.add_text(text, item_id, None)
        part = TextPart(item_id, item_type, phase)
        return Event(0, KIND, "text_output", "assistant", text, None, part)

    def _message_end(self, line: pl.MessageEnd) -> list[Event]:
        message = line.message
        if message.role != "assistant":
            return []
        self._update = None
        tokens = self._add_usage(message.usage)
        self._may_be_cut = tokens == 0 and message.api.endswith("-responses")
        self._outcome = _OUTCOMES.get(message.stop_reason, "cut_off")
        if message.stop_reason in ("error", "aborted"):
            text = message.error_message or "request failed"
            self.state.line_stalled()
            self._hint = hint_of_error(text)
            return [self._error(text)]
        self._hint = "answer_incomplete" if message.stop_reason == "length" else None
        blocks = _read_blocks(message.content)
        if text := join_texts(blocks):
            self.state.message_completed(text)
        missing = [n for n, block in enumerate(blocks) if block.type == "text" and n not in self._whole]
        return [self._text(blocks[n].text, n, "agent_message", "complete") for n in missing]

    def _error(self, message: str) -> Event:
        self._free.add_message(message)
        return error_event(KIND, message, _FROM_ITEM)

    def _tool_start(self, line: pl.ToolStart) -> list[Event]:
        tool = tool_call(line, self._session_shown)
        self.state.tool_opened(line.tool_call_id, tool)
        self._free.add_tool(tool)
        facet = ToolCall(tool)
        if self._full_payloads:
            facet = facet_with_payloads(tool, call_payloads(line), {}, self._masker, self._free.texts)
        return [Event(0, KIND, "tool_call", "tool", None, None, facet)]

    def _tool_update(self, line: pl.ToolUpdate) -> list[Event]:
        opened = self.state.open_tools.get(line.tool_call_id)
        if opened is None:
            return []
        self._free.add_tool(opened)
        return [Event(0, KIND, "tool_call", "tool", None, None, ToolCall(replace(opened, phase="delta")))]

    def _tool_end(self, line: pl.ToolEnd) -> list[Event]:
        result = read_result(line)
        tool = tool_result(line, result, self._session_shown)
        self.state.tool_closed(line.tool_call_id)
        self._free.add_tool(tool)
        facet = ToolCall(tool)
        if self._full_payloads:
            facet = facet_with_payloads(tool, {}, result_payloads(line, result), self._masker, self._free.texts)
        return [Event(0, KIND, "tool_result", "tool", None, None, facet)]

    def _agent_end(self, line: pl.AgentEnd) -> list[Event]:
        if line.will_retry:
            self._unsettled = False
        else:
            self._stop()
        return [*self._close_tools(), status_event(KIND)]

    def _close_tools(self) -> list[Event]:
        for tool in self.state.open_tools.values():
            self._free.add_tool(tool)
        return self.state.close_tools()

    def _stop(self) -> None:
        """Note that the turn ends here, if nothing follows. Releases before 0.80.10 end it without another line."""
        self._unsettled = True
        if not self._seems_cut:
            self._apply_outcome()

    @property
    def _seems_cut(self) -> bool:
        return self._may_be_cut and self._outcome == "completed"

    def _agent_settled(self, _line: pl.AgentSettled) -> list[Event]:
        # The line `agent_end`, which also ends all calls, may be too long to be read.
        return [*self._close_tools(), *self._end_turn()]

    def _end_turn(self) -> list[Event]:
        """Return the event that ends the turn."""
        self._unsettled = False
        self._apply_outcome()
        if self._outcome == "failed":
            return [status_event(KIND, TURN_FAILED)]
        usage = TokenUsage(dict(self._usage), self.state.cost_usd) if self._usage else None
        return [status_event(KIND, None, usage)]

    def _apply_outcome(self) -> None:
        if self._outcome == "completed":
            # Each answer has its own counts, so their sum is that of this run.
            usage = dict(self._usage) or None
            self.state.turn_completed(usage, usage)
        elif self._outcome == "failed":
            self.state.turn_failed()

    def _retry(self, line: pl.RetryStart) -> list[Event]:
        self._unsettled = False
        self.state.turn_started()
        self.state.line_stalled()
        delay = None if line.delay_ms is None else line.delay_ms / 1000
        cause = line.error_message
        retry = Retry(line.attempt, line.max_attempts, delay, status_of_error(cause), hint_of_error(cause))
        return [status_event(KIND, None, retry)]

    def _compacted(self, line: pl.CompactionEnd) -> list[Event]:
        if line.result is not None:
            self._add_usage(line.result.usage)
        if line.error_message is not None:
            return [self._error(line.error_message)]
        return [status_event(KIND)]

    def _extension_error(self, _line: pl.ExtensionError) -> list[Event]:
        return [error_event(KIND, "an extension of the CLI failed", _FROM_ITEM)]

    def _notice(self, _line: pl.Notice) -> list[Event]:
        return [status_event(KIND)]

    def _nothing(self, _line: pl.TurnEnd) -> list[Event]:
        return []

    def _unknown(self, line: pl.Unknown) -> list[Event]:
        # Mask the name before it is cut.
        found = PLAIN_NAME.match(self._mask(line.type))
        facet = UnknownLine(None if found is None else found[0], None)
        return [Event(0, KIND, "unknown", None, None, None, facet)]

    def _add_usage(self, raw: msgspec.Raw) -> int:
        """Add the counts and the cost of an answer to those of the run, and return the sum of its tokens."""
        usage = read_usage(raw)
        self._count(usage.counts, self._usage)
        self._cost += usage.cost
        self.state.cost_reported(self._cost or None)
        return sum(number for _, number in usage.counts)

    def _count(self, counts: Sequence[tuple[str, int]], usage: dict[str, int]) -> None:
        """Add counts to a usage, whose names are masked (M6)."""
        for name, number in counts:
            shown = self._mask(name)
            if shown in usage or len(usage) < MOST_COUNTS:
                usage[shown] = usage.get(shown, 0) + number


_LONGEST_NAME: Final = 128
_decode_blocks: Callable[[msgspec.Raw], list[pl.Block]] = msgspec.json.Decoder(list[pl.Block]).decode
_LINES: Final[dict[type, Callable[[PiDecoder, Any], list[Event]]]] = {
    pl.Session: PiDecoder._session_line,
    pl.AgentStart: PiDecoder._agent_start,
    pl.MessageStart: PiDecoder._message_start,
    pl.MessageUpdate: PiDecoder._message_update,
    pl.MessageEnd: PiDecoder._message_end,
    pl.ToolStart: PiDecoder._tool_start,
    pl.ToolUpdate: PiDecoder._tool_update,
    pl.ToolEnd: PiDecoder._tool_end,
    pl.TurnEnd: PiDecoder._nothing,
    pl.AgentEnd: PiDecoder._agent_end,
    pl.AgentSettled: PiDecoder._agent_settled,
    pl.RetryStart: PiDecoder._retry,
    pl.CompactionEnd: PiDecoder._compacted,
    pl.ExtensionError: PiDecoder._extension_error,
    pl.Unknown: PiDecoder._unknown,
    **dict.fromkeys(pl.Notice.__args__, PiDecoder._notice),
}


def _read_blocks(raw: msgspec.Raw) -> list[pl.Block]:
    try:
        return _decode_blocks(raw)
    except Exception:  # noqa: BLE001 - content of another shape has no text that is known
        return []
