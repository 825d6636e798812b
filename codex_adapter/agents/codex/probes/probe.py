"""What a probe is: a scripted model, the runs that meet it, and the promises that what came of them has to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from codex_adapter import AdapterError, Completion, Event
from codex_adapter.agents.codex.quirks import Fact
from codex_adapter.agents.codex.releases import Version
from codex_adapter.events import ErrorSource, Plan, SessionHandle, TextPart, TokenUsage, Tool, ToolCall, UnknownLine
from codex_adapter.testing.scenario import Scenario
from codex_adapter.text import TextAssembler

__all__ = ["FIRST_SESSION", "VALUE", "VARIABLE", "Evidence", "Probe", "Promise", "Seen", "Start"]

FIRST_SESSION = "{first}"
"""In the wishes of a `Start`: the id of the session that the probe's first run was about."""

VARIABLE = "CODEX_ADAPTER_GREETING"
VALUE = "hello world"
"""What the variable is in the environment of each run of a probe."""


class Start(NamedTuple):
    """One run of a probe; `wishes` are extension keys (Q3).

    With `cancel_upon` the run is cancelled as soon as one of its commands writes to the named pipe of that name.
    """

    prompt: str = "Do it."
    wishes: Mapping[str, Any] = {}
    cancel_upon: str | None = None


class Seen(NamedTuple):
    """A run as its consumer saw it.

    `asked` are the bodies of its model requests, `left` counts the processes that it left behind. `seconds` is how long
    it took; of a cancelled run, how long its end took.
    """

    events: tuple[Event, ...]
    outcome: Completion | AdapterError
    asked: tuple[dict[str, Any], ...]
    left: int
    seconds: float

    @property
    def session_id(self) -> str | None:
        """The id that the run told, None when it told none."""
        return next((event.data.session.id for event in self.events if isinstance(event.data, SessionHandle)), None)

    @property
    def usage(self) -> dict[str, int]:
        """What the run is said to have cost, empty when nothing is."""
        return next((event.data.usage for event in self.events if isinstance(event.data, TokenUsage)), {})

    @property
    def plans(self) -> list[tuple[bool, ...]]:
        """Which steps of each plan that was told were completed."""
        return [tuple(step.completed for step in e.data.items) for e in self.events if isinstance(e.data, Plan)]

    def texts(self, item_type: str) -> list[str]:
        """The texts of that type, each whole."""
        texts = map(TextAssembler().receive, self.events)
        return [it.text for it in texts if it is not None and it.complete and it.item_type == item_type]

    def calls(self, kind: str) -> list[ToolCall]:
        """What was told of tool calls of that kind, in order."""
        return [e.data for e in self.events if isinstance(e.data, ToolCall) and e.data.tool.kind == kind]

    def ended(self, kind: str) -> list[Tool]:
        """The tool calls of that kind whose end was told."""
        return [call.tool for call in self.calls(kind) if call.tool.phase in ("complete", "fail")]

    def how(self) -> str:
        """How the run ended and what it told, in words of ours: nothing that the agent said is in it (X1)."""
        match self.outcome:
            case Completion(status=status, turn=turn):
                end = f"{status}, turn {turn.replace('_', ' ') if turn else 'not begun'}"
            case error:
                end = str(error)
        told = list(dict.fromkeys(word for event in self.events if (word := _word(event))))
        return f"{end}; told: {', '.join(told) or 'nothing'}"


class Evidence(NamedTuple):
    """What came of a probe: its runs, and the text files that were in its workspace afterwards."""

    runs: tuple[Seen, ...]
    files: Mapping[str, str]
    workspace: str

    @property
    def last(self) -> Seen:
        """The last run."""
        return self.runs[-1]

    def unknown(self) -> Iterator[str]:
        """The names of lines and items that nobody knows, as far as they can be told (T4)."""
        for event in self.events():
            if isinstance(event.data, UnknownLine):
                yield event.data.item_type or event.data.type or "without a name"

    def events(self) -> Iterator[Event]:
        """The events of all runs."""
        for run in self.runs:
            yield from run.events


class Promise(NamedTuple):
    """What the rule says that must be so; `check` gives None when it is, else what was there in its place.

    What `check` gives holds nothing that the agent said, nor a path (X1). Releases of which one of the facts `unless`
    holds are known not to keep the promise.
    """

    rule: str
    text: str
    check: Callable[[Evidence], str | None]
    unless: tuple[Fact, ...] = ()

    def excuse(self, release: Version | None) -> str | None:
        """Why this release is known not to keep the promise; one that does not tell what it is has no excuse (S8)."""
        return next((fact.about for fact in self.unless if release is not None and fact.holds(release)), None)


class Probe(NamedTuple):
    """One thing that a Codex CLI is put through (C8).

    `starts` come one after the other, with one CODEX_HOME, one workspace and one server. `config` is more TOML for
    `config.toml`, `retries` how often the CLI may ask again after a cut stream, `files` are in the workspace before.
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
    return "turn failed" if event.message == "turn failed" else None
