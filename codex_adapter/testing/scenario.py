"""Define the items, answers and scenarios of a scripted model, as plain data that a JSON file can contain.

    script(Shell("make test"), "All green.")

This scenario has two answers. The model first calls the shell. After it has received the output, it sends a message.
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
    """An error in a scenario. The message names the wrong place and what is allowed. (TK1)"""


class _Item(msgspec.Struct, frozen=True, tag_field="item", forbid_unknown_fields=True, omit_defaults=True):
    """One output item of the model."""


class Message(_Item, frozen=True, tag="message"):
    """A text for the user."""

    text: str


class Reasoning(_Item, frozen=True, tag="reasoning"):
    """Reasoning: the parts of its `summary`, and the `raw` text, which the CLI does not print."""

    summary: tuple[str, ...]
    raw: str | None = None


class Shell(_Item, frozen=True, tag="shell"):
    """A shell command, with the tool that the CLI release offers for it.

    `arguments` are additional arguments of that tool, such as `{"tty": true}`.
    """

    command: str
    arguments: Mapping[str, Any] = {}


class Keys(_Item, frozen=True, tag="keys"):
    """Input `chars` for the last running command, and a wait of `wait` seconds for its output."""

    chars: str
    wait: float = 3.0


class Patch(_Item, frozen=True, tag="patch"):
    """A patch in the CLI's own format (`*** Begin Patch` to `*** End Patch`).

    With the shell, every release accepts it with any model. The custom tool `apply_patch` exists only for models that
    the release knows.
    """

    text: str
    through: Literal["shell", "tool"] = "shell"


class PlanStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a plan."""

    step: str
    status: Literal["pending", "in_progress", "completed"] = "pending"


class Plan(_Item, frozen=True, tag="plan"):
    """The current complete plan. Newer releases offer the tool only if the configuration enables it."""

    steps: tuple[PlanStep, ...]


class McpCall(_Item, frozen=True, tag="mcp"):
    """A call of a tool of an MCP server that is configured in the CLI."""

    server: str
    tool: str
    arguments: Mapping[str, Any] = {}


class WebSearch(_Item, frozen=True, tag="web_search"):
    """A web search, executed on the side of the model.

    `action` is as in the API, for example `{"type": "search", "query": "x"}`.
    """

    action: Mapping[str, Any] | None = None


class AgentCall(_Item, frozen=True, tag="agent"):
    """An action on a sub-agent: `spawn` it with a message, `send` it another message, `wait` for it, or `close` it.

    `wait` applies to all sub-agents that this thread has spawned, `send` and `close` to the first one.
    """

    do: Literal["spawn", "send", "wait", "close"]
    message: str = ""


class RawItem(_Item, frozen=True, tag="raw"):
    """A literal output item, for items that the other classes do not cover."""

    value: Mapping[str, Any]


Item: TypeAlias = Message | Reasoning | Shell | Keys | Patch | Plan | McpCall | WebSearch | AgentCall | RawItem


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The token usage that the server reports for a model request."""

    input: int = 100
    cached: int = 40
    output: int = 20
    reasoning: int = 5


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The answer of the server to one model request.

    The answer is a stream: the events of `items`, then the terminal event `end`. The terminal event has `usage`, if it
    is not None, and for `failed` and `incomplete` it has `detail`. `pieces` is the number of deltas for each text.
    `events` replaces all these with literal events: an object is one event, and a text is sent unchanged.

    With a `status` other than 200, the server sends `body` instead of a stream. `headers` are sent in both cases.

    Faults: `cut_after` closes the connection after that many events. `delay` waits before the answer, `gap` between
    events and `linger` before the end of the stream, all in seconds. `gate` delays the answer until the server's
    `open_gate` is called with this name.
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
            raise ScenarioError("an answer has items or events, not both. Omit one of them")
        if self.status != 200 and (self.items or self.events is not None):
            raise ScenarioError("an answer with a status other than 200 has a body, and neither items nor events")
        if self.status == 200 and self.body is not None:
            raise ScenarioError("an answer with status 200 is a stream. Pass items or events instead of body")
        if min(self.delay, self.gap, self.linger) < 0:
            raise ScenarioError("delay, gap and linger of an answer must be 0 seconds or more")
        if self.cut_after is not None and self.cut_after < 0:
            raise ScenarioError("cut_after of an answer must be 0 events or more")
        if self.pieces is not None and self.pieces < 1:
            raise ScenarioError("pieces of an answer must be at least 1")


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Separate answers, in order, for requests whose body the regular expression `match` finds.

    Use it for concurrent requests, such as those of sub-agents. The last answer repeats.
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
    """A script of answers: request number n gets answer number n. A request that matches a route counts only there.

    After the last answer, `fallback` answers each request. Without it, the server refuses further requests.
    """

    answers: tuple[Answer, ...] = ()
    routes: tuple[Route, ...] = ()
    fallback: Answer | None = None


def answer(*items: Item | str, **options: Any) -> Answer:
    """Return an `Answer` with these items. A text is a `Message`. `options` are the other fields of `Answer`."""
    return Answer(items=tuple(Message(item) if isinstance(item, str) else item for item in items), **options)


def script(*answers: Answer | Item | str, fallback: Answer | None = None, routes: tuple[Route, ...] = ()) -> Scenario:
    """Return a `Scenario` with these answers in order. A single item or text is one answer."""
    return Scenario(tuple(a if isinstance(a, Answer) else answer(a) for a in answers), routes, fallback)


def decode_scenario(data: bytes | str) -> Scenario:
    """Return the scenario in a JSON document. Raise `ScenarioError`, which names the wrong place. (TK1)"""
    try:
        return msgspec.json.decode(data, type=Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"not a scenario: {error}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ScenarioError("a scenario file must be one JSON object in UTF-8") from error
