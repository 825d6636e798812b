"""Define a probe: a scripted model, the runs that use it, and the promises that the results have to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from codex_adapter import AdapterError, Completion, Event
from codex_adapter.agents.codex.releases import Quirk, Version
from codex_adapter.events import (
    TURN_FAILED,
    ErrorSource,
    Plan,
    SessionHandle,
    TextPart,
    TokenUsage,
    Tool,
    ToolCall,
    UnknownLine,
)
from codex_adapter.testing.scenario import Scenario
from codex_adapter.text import TextAssembler

__all__ = ["FIRST_SESSION", "VALUE", "VARIABLE", "Evidence", "Probe", "Promise", "Seen", "Start"]

FIRST_SESSION = "{first}"
"""In the wishes of a `Start`: the id of the session of the probe's first run."""

VARIABLE = "CODEX_ADAPTER_GREETING"
VALUE = "hello world"
"""The value of the variable in the environment of each run of a probe."""


class Start(NamedTuple):
    """One run of a probe; `wishes` are extension keys (Q3).

    With `cancel_upon` the run is cancelled as soon as one of its commands writes to the named pipe of that name.
    """

    prompt: str = "Do it."
    wishes: Mapping[str, Any] = {}
    cancel_upon: str | None = None


class Seen(NamedTuple):
    """A run as its consumer saw it.

    `asked` are the bodies of its model requests, `left` counts the processes that it left behind. `seconds` is its
    duration; of a cancelled run, the duration from the cancellation to the end.
    """

    events: tuple[Event, ...]
    outcome: Completion | AdapterError
    asked: tuple[dict[str, Any], ...]
    left: int
    seconds: float

    @property
    def session_id(self) -> str | None:
        """Return the id that the run reported, None if it reported none."""
        return next((event.data.session.id for event in self.events if isinstance(event.data, SessionHandle)), None)

    @property
    def usage(self) -> dict[str, int]:
        """Return the token usage that the run reported, empty if it reported none."""
        return next((event.data.usage for event in self.events if isinstance(event.data, TokenUsage)), {})

    @property
    def plans(self) -> list[tuple[bool, ...]]:
        """Return of each reported plan which steps were completed."""
        return [tuple(step.completed for step in e.data.items) for e in self.events if isinstance(e.data, Plan)]

    def texts(self, item_type: str) -> list[str]:
        """The texts of that type, each whole."""
        texts = map(TextAssembler().receive, self.events)
        return [it.text for it in texts if it is not None and it.complete and it.item_type == item_type]

    def calls(self, kind: str) -> list[ToolCall]:
        """Return the reports of tool calls of a kind, in order."""
        return [e.data for e in self.events if isinstance(e.data, ToolCall) and e.data.tool.kind == kind]

    def ended(self, kind: str) -> list[Tool]:
        """Return the tool calls of a kind whose end was reported."""
        return [call.tool for call in self.calls(kind) if call.tool.phase in ("complete", "fail")]

    def how(self) -> str:
        """Describe how the run ended and what it reported; nothing that the agent printed is in it (X1)."""
        match self.outcome:
            case Completion(status=status, turn=turn):
                end = f"{status}, turn {turn.replace('_', ' ') if turn else 'not begun'}"
            case error:
                end = str(error)
        reported = list(dict.fromkeys(word for event in self.events if (word := _word(event))))
        return f"{end}; reported: {', '.join(reported) or 'nothing'}"


class Evidence(NamedTuple):
    """The results of a probe: its runs, and the text files in its workspace afterwards."""

    runs: tuple[Seen, ...]
    files: Mapping[str, str]
    workspace: str

    @property
    def last(self) -> Seen:
        """Return the last run."""
        return self.runs[-1]

    def unknown(self) -> Iterator[str]:
        """Yield the names of unknown lines and items, as far as they may be shown (T4)."""
        for event in self.events():
            if isinstance(event.data, UnknownLine):
                yield event.data.item_type or event.data.type or "without a name"

    def events(self) -> Iterator[Event]:
        """Yield the events of all runs."""
        for run in self.runs:
            yield from run.events


class Promise(NamedTuple):
    """A promise of a rule; `check` returns None if it was kept, else a description of what happened instead.

    The description has nothing in it that the agent printed, and no path (X1). Releases with one of the quirks
    `unless` are known not to keep the promise.
    """

    rule: str
    text: str
    check: Callable[[Evidence], str | None]
    unless: tuple[Quirk, ...] = ()

    def excuse(self, release: Version | None) -> str | None:
        """Return why a release is known not to keep the promise; an unknown release has no excuse (S8)."""
        return next((one.about for one in self.unless if release is not None and one.holds(release)), None)


class Probe(NamedTuple):
    """One experiment with a Codex CLI (C8).

    `starts` run one after the other, with one CODEX_HOME, one workspace and one server. `config` is more TOML for
    `config.toml`, `retries` is how often the CLI may retry after a cut stream, `files` are in the workspace before.
    """

    name: str
    scenario: Scenario
    promises: tuple[Promise, ...]
    starts: tuple[Start, ...] = (Start(),)
    config: str = ""
    retries: int = 0
    files: Mapping[str, bytes] = {}


def _word(event: Event) -> str | None:
    match event.data:
        case SessionHandle():
            return "session"
        case TextPart(item_type=kind):
            return kind
        case ToolCall(tool=tool):
            return tool.kind
        case Plan():
            return "plan"
        case TokenUsage():
            return "usage"
        case UnknownLine():
            return "an unknown line"
        case ErrorSource():
            return "errors of the CLI"
    return TURN_FAILED if event.message == TURN_FAILED else None
