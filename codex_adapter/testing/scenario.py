"""What a scripted model says: items, answers and whole scenarios, as plain data that can stand in a JSON file.

    script(Shell("make test"), "All green.")

is a scenario of two answers: the model first calls the shell, then, told what came of it, says a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

__all__ = [
    "AgentCall",
    "Answer",
    "Item",
    "Keys",
    "McpCall",
    "Message",
    "Patch",
    "Plan",
    "PlanStep",
    "RawItem",
    "Reasoning",
    "Route",
    "Scenario",
    "ScenarioError",
    "Shell",
    "Usage",
    "WebSearch",
    "answer",
    "decode_scenario",
    "script",
]


class ScenarioError(ValueError):
    """A scenario that cannot be played; the message says where it is wrong and what is allowed (TK1)."""


class _Item(msgspec.Struct, frozen=True, tag_field="item", forbid_unknown_fields=True, omit_defaults=True):
    """One thing that the model puts out."""


class Message(_Item, frozen=True, tag="message"):
    """A text for the user."""

    text: str


class Reasoning(_Item, frozen=True, tag="reasoning"):
    """A chain of thought: the parts of its `summary`, and the `raw` text, which the CLI keeps to itself."""

    summary: tuple[str, ...]
    raw: str | None = None


class Shell(_Item, frozen=True, tag="shell"):
    """A shell command, through whichever tool the CLI release offers for it.

    `arguments` are more arguments of that tool, such as `{"tty": true}`.
    """

    command: str
    arguments: Mapping[str, Any] = {}


class Keys(_Item, frozen=True, tag="keys"):
    """Types `chars` into the last command that was left running, and waits `wait` seconds for more of its output."""

    chars: str
    wait: float = 3.0


class Patch(_Item, frozen=True, tag="patch"):
    """A patch in the CLI's own format (`*** Begin Patch` to `*** End Patch`).

    Through the shell every release takes it, with any model. The custom tool `apply_patch` is only there for the models
    that the release knows.
    """

    text: str
    through: Literal["shell", "tool"] = "shell"


class PlanStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a plan."""

    step: str
    status: Literal["pending", "in_progress", "completed"] = "pending"


class Plan(_Item, frozen=True, tag="plan"):
    """The whole plan as it now stands; newer releases offer the tool only when the configuration enables it."""

    steps: tuple[PlanStep, ...]


class McpCall(_Item, frozen=True, tag="mcp"):
    """A call of one tool of one of the MCP servers that the CLI is configured with."""

    server: str
    tool: str
    arguments: Mapping[str, Any] = {}


class WebSearch(_Item, frozen=True, tag="web_search"):
    """A search that the model's own side carried out.

    `action` is as in the API, e.g. `{"type": "search", "query": "x"}`.
    """

    action: Mapping[str, Any] | None = None


class AgentCall(_Item, frozen=True, tag="agent"):
    """Work with a sub-agent: `spawn` one with a message, `send` it another, `wait` for it, `close` it.

    All but `spawn` are about the agents that this thread has spawned so far; `send` and `close` about the first one.
    """

    do: Literal["spawn", "send", "wait", "close"]
    message: str = ""


class RawItem(_Item, frozen=True, tag="raw"):
    """An output item given as it is, for what the other kinds cannot say."""

    value: Mapping[str, Any]


Item: TypeAlias = Message | Reasoning | Shell | Keys | Patch | Plan | McpCall | WebSearch | AgentCall | RawItem


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens that a model request is said to have cost."""

    input: int = 100
    cached: int = 40
    output: int = 20
    reasoning: int = 5


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the server sends for one model request.

    A stream of events: those of `items`, then the terminal event that `end` names, with `usage` (None: none is told)
    and, for `failed` and `incomplete`, `detail`. `pieces` streams each text in that many deltas. In place of all that,
    `events` are literal: an object is one event, a text is sent as it is.

    `status` other than 200 sends `body` in place of a stream; `headers` go with either.

    Troubles: `cut_after` closes the connection after that many events; `delay` waits before the answer, `gap` between
    events and `linger` before the end of the stream, all in seconds; `gate` holds the answer until the server's
    `open_gate` is called with that name.
    """

    items: tuple[Item, ...] = ()
    events: tuple[dict[str, Any] | str, ...] | None = None
    end: Literal["completed", "failed", "incomplete", "none"] = "completed"
    detail: Mapping[str, Any] | None = None
    usage: Usage | None = Usage()
    pieces: int | None = None
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = {}
    cut_after: int | None = None
    delay: float = 0.0
    gap: float = 0.0
    linger: float = 0.0
    gate: str | None = None

    def __post_init__(self) -> None:
        if not 200 <= self.status <= 599:
            raise ScenarioError("status of an answer must be an HTTP status from 200 to 599")
        if self.items and self.events is not None:
            raise ScenarioError("an answer has items or events, not both: leave one of them out")
        if self.status != 200 and (self.items or self.events is not None):
            raise ScenarioError("an answer with a status other than 200 has a body, and neither items nor events")
        if self.status == 200 and self.body is not None:
            raise ScenarioError("an answer with status 200 is a stream: give items or events in place of body")
        if min(self.delay, self.gap, self.linger) < 0:
            raise ScenarioError("delay, gap and linger of an answer are seconds and cannot be negative")
        if self.cut_after is not None and self.cut_after < 0:
            raise ScenarioError("cut_after of an answer counts events and cannot be negative")
        if self.pieces is not None and self.pieces < 1:
            raise ScenarioError("pieces of an answer must be at least 1")


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answers of their own, in order, for the requests whose body `match` (a regular expression) finds something in.

    For requests that come at the same time, as those of sub-agents do. The last answer repeats.
    """

    match: str
    answers: tuple[Answer, ...]

    def __post_init__(self) -> None:
        try:
            re.compile(self.match)
        except re.error as error:
            raise ScenarioError("match of a route must be a regular expression of Python") from error
        if not self.answers:
            raise ScenarioError("a route needs at least one answer")


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Request number n gets answer number n; a request that a route matches counts there and not here.

    When the answers are used up, `fallback` answers; without one the server refuses, so that the mistake is seen.
    """

    answers: tuple[Answer, ...] = ()
    routes: tuple[Route, ...] = ()
    fallback: Answer | None = None


def answer(*items: Item | str, **options: Any) -> Answer:
    """An `Answer` of these items, a bare text being a `Message`; `options` are the other fields of `Answer`."""
    return Answer(items=tuple(Message(item) if isinstance(item, str) else item for item in items), **options)


def script(*answers: Answer | Item | str, fallback: Answer | None = None, routes: tuple[Route, ...] = ()) -> Scenario:
    """A `Scenario` of these answers in order, a bare item or text being an answer of its own."""
    return Scenario(tuple(a if isinstance(a, Answer) else answer(a) for a in answers), routes, fallback)


def decode_scenario(data: bytes | str) -> Scenario:
    """The scenario in a JSON document; raises `ScenarioError` that says where the document is wrong (TK1)."""
    try:
        return msgspec.json.decode(data, type=Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"not a scenario: {error}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ScenarioError("a scenario file must be one JSON object in UTF-8: this is none") from error
