"""Narrate operations: convert the records of `operations` to lines of safe text (C17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from codex_adapter import Completion, Event
from codex_adapter.cli.present.lines import Line, Tone, first_line, printable, with_facts
from codex_adapter.cli.present.run_narration import RunNarrator, outcome_of
from codex_adapter.records import CompletedRecord, FailedRecord, decode_record

__all__ = ["OperationsNarrator"]

_MOST_LINES: Final = 20
_FILE_WORDS: Final = {"createFile": "write", "readFile": "read", "editFile": "edit", "deleteFile": "delete"}


class OperationsNarrator:
    """A narrator of messages with events, and of the records of an agent's work (O4, O16)."""

    def __init__(self) -> None:
        self._run = RunNarrator()

    def narrate(self, record: bytes) -> list[Line]:
        """Return the lines of a record."""
        fields: dict[str, Any] = msgspec.json.decode(record)
        match fields.get("type"):
            case "runEvent":
                event = decode_record(msgspec.json.encode({"type": "event", **fields["event"]}))
                return self._run.narrate(event) if isinstance(event, Event) else []
            case "runCompleted" | "runFailed":
                return self._end_of_run(fields["completion"])
            case "operations":
                return [*_narrate_operations(fields["message"]["operations"])]
            case "events":
                return [*_narrate_events(fields["message"]["events"])]
            case "ended":
                return [_end_of_work(fields)]
        return [*_narrate_events(fields.get("events", ()))]

    def _end_of_run(self, completion: dict[str, Any]) -> list[Line]:
        run, self._run = self._run, RunNarrator()
        ending = decode_record(msgspec.json.encode({"type": "completion", "seq": 0, **completion}))
        assert isinstance(ending, CompletedRecord | FailedRecord)  # noqa: S101 - a completion is one of the two
        outcome = outcome_of(ending)
        lines = run.narrate(outcome)
        ok = isinstance(outcome, Completion) and outcome.ok
        return [line for line in lines if not ok or line.tone in ("notice", "warning")]


def _narrate_operations(operations: Iterable[dict[str, Any]]) -> Iterator[Line]:
    for operation in operations:
        if operation.get("type") == "message":
            yield Line("answer", printable(str(operation.get("content", ""))))
        else:
            yield Line("started", _label(operation.get("type", ""), operation))


def _narrate_events(events: Iterable[dict[str, Any]]) -> Iterator[Line]:
    for event in events:
        match event["type"]:
            case "message" | "userMessage":
                continue
            case "approvalRequired":
                yield Line("warning", f"waits for approval: {printable(event['reason'])}")
            case "policyDenied":
                suggestion = event.get("suggestion")
                more = f" {printable(suggestion)}" if suggestion else ""
                yield Line("failed", f"denied: {printable(event['reason'])}{more}")
            case "error":
                yield Line("error", printable(event["message"]))
            case kind:
                yield from _narrate_result(kind, event)


def _narrate_result(kind: str, event: dict[str, Any]) -> Iterator[Line]:
    facts = [f"exit {event['exitCode']}"] if "exitCode" in event else []
    facts += [f"{event['durationMs'] / 1000:.1f} s"] if "durationMs" in event else []
    facts += [f"{event[name]:,} bytes" for name in ("bytesWritten", "size") if name in event]
    facts += ["no sandbox"] if event.get("sandbox") == "none" else []
    yield Line("ok" if event["success"] else "failed", with_facts(_label(kind, event), facts))
    if event.get("error"):
        yield Line("error", printable(event["error"]))
    for name in ("stdout", "stderr"):
        yield from _output(event.get(name) or "")


def _output(text: str) -> Iterator[Line]:
    lines = printable(text).rstrip("\n").split("\n") if text else []
    if len(lines) > _MOST_LINES:
        yield Line("output", f"… {len(lines) - _MOST_LINES} more lines")
    for line in lines[-_MOST_LINES:]:
        yield Line("output", line[:200])


def _label(kind: str, fields: dict[str, Any]) -> str:
    if kind == "shell":
        return f"$ {first_line(str(fields.get('command', '')))}"
    return f"{_FILE_WORDS.get(kind, printable(str(kind)))} {first_line(str(fields.get('path', '')))}"


def _end_of_work(fields: dict[str, Any]) -> Line:
    reason = str(fields["reason"]).replace("_", " ")
    tone: Tone = "ok" if fields["reason"] == "completed" else "warning"
    return Line(tone, f"{reason} after {fields['turns']} turn{'' if fields['turns'] == 1 else 's'}")
