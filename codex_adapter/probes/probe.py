"""Define a probe: a scripted model, the runs that use it, and the promises to check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from codex_adapter import AdapterError, Completion, Event, RunTimedOut
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
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import Quirk
from codex_adapter.testing.scenario import Scenario
from codex_adapter.text import TextAssembler

__all__ = [
    "CANARY",
    "CANARY_VARIABLE",
    "FIRST_SESSION",
    "VALUE",
    "VARIABLE",
    "WORKSPACE",
    "Evidence",
    "NotProbed",
    "Probe",
    "Promise",
    "Seen",
    "Start",
    "values_in",
]

FIRST_SESSION = "{first}"
"""A placeholder in the `wishes` of a `Start`: the session id of the probe's first run."""

WORKSPACE = "{workspace}"
"""A placeholder in the `scenario` of a `Probe`: the absolute path of the workspace."""

VARIABLE = "CODEX_ADAPTER_GREETING"
VALUE = "hello world"
"""The value of a variable in the environment of each run of a probe."""
CANARY_VARIABLE = "CODEX_ADAPTER_PROBE_TOKEN"
CANARY = "canary-6f1d0a9c2e7b48d3"
"""The value of a variable in the environment of each run whose name is that of a secret."""


class Start(NamedTuple):
    """One run of a probe. `wishes` are extension keys. (Q3)

    With `cancel_upon`, the run is cancelled when one of its commands writes to the named pipe of this name.
    """

    prompt: str = "Do it."
    wishes: Mapping[str, Any] = {}
    cancel_upon: str | None = None


class Seen(NamedTuple):
    """A run from the view of its consumer.

    `asked` has the bodies of its model requests. `left` is the number of processes that it left behind.
    """

    events: tuple[Event, ...]
    outcome: Completion | AdapterError
    asked: tuple[dict[str, Any], ...]
    left: int

    @property
    def session_id(self) -> str | None:
        """The session id that the run reported, or None."""
        return next((event.data.session.id for event in self.events if isinstance(event.data, SessionHandle)), None)

    @property
    def timed_out(self) -> bool:
        """Whether the run did not end in time."""
        return isinstance(self.outcome, RunTimedOut)

    @property
    def usage(self) -> dict[str, int]:
        """The token usage that the run reported, or an empty dictionary."""
        return next((event.data.usage for event in self.events if isinstance(event.data, TokenUsage)), {})

    @property
    def plans(self) -> list[tuple[bool, ...]]:
        """The steps of each reported plan, True for a completed step."""
        return [tuple(step.completed for step in e.data.items) for e in self.events if isinstance(e.data, Plan)]

    def texts(self, item_type: str) -> list[str]:
        """Return the complete texts of an item type."""
        texts = map(TextAssembler().receive, self.events)
        return [it.text for it in texts if it is not None and it.complete and it.item_type == item_type]

    def asked_values(self) -> Iterator[object]:
        """Yield every value within the model requests."""
        return values_in(self.asked)

    def calls(self, kind: str) -> list[ToolCall]:
        """Return the reports of tool calls of a kind, in order."""
        return [e.data for e in self.events if isinstance(e.data, ToolCall) and e.data.tool.kind == kind]

    def ended(self, kind: str) -> list[Tool]:
        """Return the tool calls of a kind whose end was reported."""
        return [call.tool for call in self.calls(kind) if call.tool.phase in ("complete", "fail")]

    def describe(self) -> str:
        """Describe the end of the run and the kinds of its events, without output of the agent (X1)."""
        match self.outcome:
            case Completion(status=status, turn=turn):
                end = f"{status}, turn {turn.replace('_', ' ') if turn else 'not begun'}"
            case error:
                end = str(error)
        reported = list(dict.fromkeys(word for event in self.events if (word := _word(event))))
        return f"{end}; reported: {', '.join(reported) or 'nothing'}"


class Evidence(NamedTuple):
    """The results of a probe: its runs, and the text files in its workspace after them."""

    runs: tuple[Seen, ...]
    files: Mapping[str, str]
    workspace: str

    @property
    def last(self) -> Seen:
        """The last run."""
        return self.runs[-1]

    def unknown(self) -> Iterator[str]:
        """Yield the names of unknown lines and items, in the form that may be shown (T4)."""
        for event in self.events():
            if isinstance(event.data, UnknownLine):
                yield event.data.item_type or event.data.type or "without a name"

    def events(self) -> Iterator[Event]:
        """Yield the events of all runs."""
        for run in self.runs:
            yield from run.events


class NotProbed(str):
    """The result of a check that can decide nothing on this machine: the reason."""

    __slots__ = ()


class Promise(NamedTuple):
    """A promise of a rule. `check` returns None if it was kept, else a description of the result or `NotProbed`.

    The description contains no output of the agent and no path. Releases with one of the quirks in `unless`, or without
    one of those in `only`, do not keep the promise. (X1)
    """

    rule: str
    text: str
    check: Callable[[Evidence], str | None]
    unless: tuple[Quirk, ...] = ()
    only: tuple[Quirk, ...] = ()

    def excuse(self, release: Version | None) -> str | None:
        """Return the quirk because of which a release does not keep the promise; None for an unknown release (S8)."""
        if release is None:
            return None
        present = (one.about for one in self.unless if one.holds(release))
        missing = (f"not in this release: {one.about}" for one in self.only if not one.holds(release))
        return next(chain(present, missing), None)


class Probe(NamedTuple):
    """One experiment with an agent CLI (C8).

    `starts` run one after the other, with the same settings, workspace and server. `settings` is additional text for
    the CLI's settings, in the form of the CLI. `retries` is the number of retries of the CLI after a failed request.
    `files` are the initial files of the workspace.
    """

    name: str
    scenario: Scenario
    promises: tuple[Promise, ...]
    starts: tuple[Start, ...] = (Start(),)
    settings: str = ""
    retries: int = 0
    files: Mapping[str, bytes] = {}


def values_in(value: object) -> Iterator[object]:
    """Yield a JSON value and every value within it."""
    yield value
    inner: Iterable[object] = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list | tuple):
        inner = value
    for one in inner:
        yield from values_in(one)


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
