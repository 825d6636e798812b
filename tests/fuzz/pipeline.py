"""Pass bytes, which encode options and a stream, through the pipeline, and check the result.

The check knows no expected output. It compares several ways to pass in the same stream, and it checks the result
against the rules. The first `HEADER` bytes are options. The rest is the stream, in which the byte `GROWN` represents a
long repetition, so that a short input can reach every bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from codex_adapter.core.bad_lines import BadLine
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.pipeline import Pipeline
from codex_adapter.events import Completion, Event, ExitStatus, SessionHandle, ToolCall
from tests.agents.agent_lines import AgentLines
from tests.agents.table import AGENTS
from tests.fuzz.codex_lines import CodexModel
from tests.fuzz.model import LineModel, check_bad_line
from tests.fuzz.records import assert_bounded, assert_round_trip, strings

__all__ = ["GROWN", "HEADER", "SECRETS", "check", "flags_of"]

HEADER: Final = 6
GROWN: Final = b"\x1a"
SECRETS: Final = ("correct-horse-battery-staple", 'quo"ted\\pass/w\u00f6rd')
_LINE_LIMITS: Final = (16 * 1024 * 1024, 16 * 1024 * 1024, 16 * 1024 * 1024, 70_000, 4_096, 300, 40, 1)
_FILLERS: Final = tuple(
    text.encode()
    for text in (
        *("x", "\u00e9", "\u20ac", "\U0001f600", "\\n", "\\u0001", "[", "9", " ", '{"a":', "://a:b@", "eyJ"),
        *("\n", "\r", "\u2028", "sk-", '{"text":""},', "-----BEGIN PRIVATE KEY-----"),
    )
)
_SIZES: Final = (1_020, 4_090, 16_380, 65_528, 65_536 - 1_024, 70_000)
_AGENTS: Final = tuple(AGENTS.values())
_MODELS: Final[dict[str, type[LineModel]]] = {"codex": CodexModel}
"""The agents whose events are also compared with a model of their lines."""
_MOST_GROWN: Final = 3
_MOST_CUTS: Final = 64
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_OUTCOMES: Final = (ExitStatus(code=0), ExitStatus(code=3), ExitStatus(signal="SIGKILL"))


class Case(NamedTuple):
    """An input as it is understood; `cuts` are places in the stream between two reads."""

    agent: AgentLines
    stream: bytes
    full_payloads: bool
    secrets: tuple[str, ...]
    limit: int
    cuts: list[int]

    def pipeline(self) -> Pipeline:
        """A new pipeline with the case's options."""
        return self.agent.pipeline(full_payloads=self.full_payloads, secrets=self.secrets, max_line_bytes=self.limit)


class Fed(NamedTuple):
    """All that a pipeline gave: the events of each read and at last of the end, the completions, the facts."""

    reads: list[list[Event]]
    completions: list[Completion]
    facts: dict[str, Any]

    @property
    def events(self) -> list[Event]:
        """All events."""
        return [event for read in self.reads for event in read]


def flags_of(agent: int, flags: int) -> int:
    """Return the first byte of an input: the options, and the number of the agent in its two highest bits."""
    return flags % 64 | agent << 6


def check(data: bytes) -> None:
    """Feed the pipeline with what `data` describes. Raises AssertionError where a rule is not kept."""
    case = _understood(data)
    whole = _feed(case, [case.stream])
    apart = _feed(case, (case.stream[a:b] for a, b in zip([0, *case.cuts], [*case.cuts, None], strict=True)))
    assert (apart.events, *apart[1:]) == (whole.events, *whole[1:]), "events depend on the cuts"
    _check_each(case, whole)
    _check_lines(case, whole)


def _understood(data: bytes) -> Case:
    options = data[:HEADER].ljust(HEADER, b"\0")
    flags, filler, size, *places = options
    length = _SIZES[size % len(_SIZES)] + size // len(_SIZES)
    grown = _FILLERS[filler % len(_FILLERS)]
    stream = data[HEADER:].replace(GROWN, grown * (length // len(grown)), _MOST_GROWN)
    cuts = sorted(place * len(stream) // 256 for place in places)
    if flags & 4:
        cuts = list(range(0, len(stream), len(stream) // _MOST_CUTS + 1))
    agent = _AGENTS[(flags >> 6) % len(_AGENTS)]
    return Case(agent, stream, bool(flags & 1), SECRETS if flags & 2 else (), _LINE_LIMITS[flags >> 3 & 7], cuts)


def _feed(case: Case, reads: Iterable[bytes]) -> Fed:
    pipeline = case.pipeline()
    given = [pipeline.receive_data(read) for read in reads]
    given.append(pipeline.receive_eof())
    completions = [pipeline.completion(status) for status in _OUTCOMES]
    completions.append(pipeline.completion(_OUTCOMES[1], lingered=True))
    facts = {name.lstrip("_"): getattr(pipeline.state, name) for name in pipeline.state.__slots__}
    facts["open_tools"] = list(facts["open_tools"])
    facts["hint"] = pipeline.hint
    return Fed(given, completions, facts)


def _check_each(case: Case, fed: Fed) -> None:
    """What holds for every event and every completion, whatever the stream."""
    events = fed.events
    assert [event.seq for event in events] == list(range(len(events))), "seq has gaps"
    assert_round_trip(events)
    everything: list[Event | Completion] = [*events, *fed.completions]
    for told in everything:
        assert_bounded(told, case.agent.kind)
        assert not any(_has(text, secret) for secret in case.secrets for text in strings(told)), "a secret comes out"
    handles = [event.data.session.id for event in events if isinstance(event.data, SessionHandle)]
    completed, *others = fed.completions
    assert handles == ([] if completed.session_id is None else [completed.session_id]), "session told not just once"
    assert sum((event.message or "").startswith("session handle id oversize") for event in events) <= 1
    in_spite = others.pop()
    assert all(other.final_text is None for other in others), "a failure has a final text"
    assert in_spite.final_text == (completed.final_text if completed.turn == "completed" else None)
    for tool in (event.data for event in events if isinstance(event.data, ToolCall)):
        assert case.full_payloads or (tool.input, tool.output) == (None, None), "payloads nobody has asked for"


def _has(text: str, secret: str) -> bool:
    """Whether a text has the secret, as it is or in escapes of JSON."""
    return secret in text or ("\\u" in text and secret in _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text))


def _check_lines(case: Case, whole: Fed) -> None:
    """One line, one logical event of its kind; and nothing of a bad line has any influence."""
    lines = list(_lines(case))
    bad = [len(line) > case.limit or _is_bad(case.agent, line) for line in lines]
    by_line = _feed(case, [b"{\n" if wrong else line + b"\n" for line, wrong in zip(lines, bad, strict=True)])
    *reads, end = by_line.reads
    assert (by_line.completions, by_line.facts) == (whole.completions, whole.facts), "a bad line has influence"
    assert by_line.facts["lines"] == len(lines)
    events = iter(whole.events)
    model = _MODELS.get(case.agent.kind, LineModel)(Masker(case.secrets))
    for line, wrong, read in zip(lines, bad, reads, strict=True):
        got = [next(events) for _ in read]
        if wrong:
            *before, error = got
            assert before == read[:-1]
            check_bad_line(case.agent, error, len(line), case.limit)
            model.add_bad_line()
            continue
        assert got == read, "a bad line has influence"
        (event,) = case.agent.parse([line])
        assert not isinstance(event, BadLine)
        model.add(event, got)
    assert list(events) == end
    model.finish(end, whole.facts, whole.completions[0].final_text)


def _lines(case: Case) -> Iterator[bytes]:
    for line in case.stream.split(b"\n"):
        bare = line.removesuffix(b"\r")
        if bare.strip() or len(bare) > case.limit:
            yield bare


def _is_bad(agent: AgentLines, line: bytes) -> bool:
    return isinstance(agent.parse([line])[0], BadLine)
