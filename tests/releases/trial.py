"""List the problems of a run, by itself and compared with its recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from codex_adapter import Pipeline
from codex_adapter.agents import agent_of
from codex_adapter.records import encode_events
from codex_adapter.runtime.programs import Version
from tests.regenerate_goldens import golden

from .compare import compare
from .shelf import Shelf, digest
from .subject import Played, Subject

__all__ = ["Finding", "Trial", "judge"]

_OURS = re.compile(rb'"message":"[a-z_]+ stream (?:parse|normalize) error')


class Finding(msgspec.Struct, frozen=True):
    """Something that is not as it should be, or, `beside` its golden, not as it was; `about` has the details."""

    scenario: str
    what: str
    about: str = ""
    beside: bool = False


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of one run, which must be none; and why differences from the golden are none."""

    played: Played
    stable: bytes
    findings: list[Finding]
    explained: tuple[str, ...] = ()
    parse_errors: int = 0
    unknown: int = 0


def judge(subject: Subject, version: Version, played: Played, stable: bytes, shelf: Shelf) -> Trial:
    """Look at one run; `stable` is the stable form of its stdout."""
    errors = len(_OURS.findall(played.records))
    unknown = played.records.count(b'"kind":"unknown"')
    told: list[tuple[str, str]] = []
    if errors or unknown:
        told.append(("parse errors or unknown events", f"{errors} and {unknown}"))
    if played.left:
        told.append(("processes are left behind", str(played.left)))
    if (mistake := _untrue(subject.kind, played)) is not None:
        told.append(("the adapter told something else than the CLI", mistake))
    findings = [Finding(played.scenario, what, about) for what, about in told]
    difference, explained = _beside(subject, version, played, stable, shelf)
    if difference is not None:
        findings.append(Finding(played.scenario, *difference, beside=True))
    return Trial(
        played=played, stable=stable, findings=findings, explained=explained, parse_errors=errors, unknown=unknown
    )


def _untrue(kind: str, played: Played) -> str | None:
    """Whether the live records are those of a replay of what the CLI printed."""
    live = played.records.split(b"\n")[:-1]
    if played.returncode is not None:
        replayed = golden(played.stdout, played.returncode, kind).split(b"\n")[:-1]
        same = replayed[:-1] == live[:-1] and _as_replayed(replayed[-1]) == _as_replayed(live[-1])
        return None if same else _first_difference(replayed, live)
    # A run that was ended has fewer, then the results of tools that were under way, the error, and the completion.
    pipeline = Pipeline(agent_of(kind).decoder)
    events = encode_events([*pipeline.receive_data(played.stdout), *pipeline.receive_eof()]).split(b"\n")
    del live[-2:]
    while live and live != events[: len(live)] and b'"kind":"tool_result"' in live[-1]:
        live.pop()
    return None if live == events[: len(live)] else _first_difference(events, live)


def _as_replayed(completion: bytes) -> dict[str, Any]:
    """Without what stdout does not tell: what the CLI's stderr hints at, and what its session had used before."""
    untold = ("hint", "advice", "run_usage")
    told = msgspec.json.decode(completion, type=dict[str, Any])
    return {name: value for name, value in told.items() if name not in untold}


def _first_difference(replayed: Sequence[bytes], live: Sequence[bytes]) -> str:
    for number, (one, other) in enumerate(zip(replayed, live, strict=False)):
        if one != other:
            return f"record {number}: replayed {one[:200]!r}, live {other[:200]!r}"
    return "one has more records than the other"


def _beside(
    subject: Subject, version: Version, played: Played, stable: bytes, shelf: Shelf
) -> tuple[tuple[str, str] | None, tuple[str, ...]]:
    expected = shelf.expected(str(version), played.scenario)
    if expected is None:
        return ("there is no golden", "write one with --write, and read it"), ()
    ending = (played.returncode, played.error)
    if ending != (expected.returncode, expected.error):
        return ("it ends otherwise", f"{expected.returncode, expected.error} before, {ending} now"), ()
    before = shelf.recording(expected)
    if before is not None:
        comparison = compare(subject.variations_of(version), before, stable)
        if comparison.difference:
            return ("it prints something else", comparison.difference), ()
        return None, comparison.explained
    if expected.sha256 is not None and expected.sha256 != digest(stable):
        return ("it prints something else", "more than is kept: look at the case by itself"), ()
    return None, ()
