"""Compute medians and ratios of a measurement, whether all events agree, and which promises are met."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Final

import msgspec

from benchmarks.faces import CEILINGS, FACES
from benchmarks.measuring import Measured
from benchmarks.peers import OFFICIAL

__all__ = ["Machine", "Promise", "Ratio", "Results", "StreamResult", "promises"]

_DECODED: Final = 0.9
"""The decode is a ceiling only of a stream of which it understands at least this much."""


class Machine(msgspec.Struct, frozen=True):
    """What was measured on."""

    cores: int
    cpu: str
    python: str
    node: str | None = None


class Ratio(msgspec.Struct, frozen=True):
    """A ratio of two measurements of the same round: its median, least and greatest over the rounds."""

    median: float
    least: float
    greatest: float


class StreamResult(msgspec.Struct, frozen=True):
    """One stream: the rounds of everything that was measured over it, and the round that only checked.

    `lines` of its lines were measured with; `asked` were asked for.
    """

    name: str
    asked: int
    lines: int
    size: int
    check: dict[str, Measured]
    rounds: dict[str, list[Measured]]

    def per_line(self, name: str) -> float:
        """Microseconds of CPU time a line, the median."""
        return median(measured.seconds for measured in self.rounds[name]) / self.lines * 1e6

    def is_whole(self, name: str) -> bool:
        """Whether it was measured, and went to the stream's end in every round."""
        return bool(self.rounds.get(name)) and not any(measured.failure for measured in self.rounds[name])

    def speed(self, name: str, against: str) -> Ratio | None:
        """How fast it is against something else, by CPU time; None where one of them did not do the whole work."""
        if not (self.is_whole(name) and self.is_whole(against)):
            return None
        decoded = self.rounds[against][0].events
        if against in CEILINGS and decoded is not None and decoded < _DECODED * self.lines:
            return None
        pairs = zip(self.rounds[name], self.rounds[against], strict=True)
        return _ratio([base.seconds / own.seconds for own, base in pairs])

    def peak_mib(self, name: str) -> float:
        """MiB of the largest process, the greatest of all rounds; 0 for what is no process of its own."""
        return max(measured.peak_mib for measured in self.rounds[name])

    def disagreements(self) -> list[str]:
        """The faces whose events are not those of the first face, by their count or by their checksum."""
        ours = [name for name in self.check if name in FACES]
        if not ours:
            return []
        first = self.check[ours[0]]
        wrong = [name for name in ours if self.check[name].checksum != first.checksum]
        counts = {name: {measured.events for measured in [self.check[name], *self.rounds[name]]} for name in ours}
        return sorted({*wrong, *(name for name, events in counts.items() if events != {first.events})})


class Results(msgspec.Struct, frozen=True):
    """A whole measurement. `command` repeats it; `absent` are the peers that were not installed.

    `shortest` is a run of no work, `import_ratio` ours to trio and msgspec.
    """

    machine: Machine
    command: str
    rounds: int
    streams: list[StreamResult]
    absent: list[str]
    shortest: StreamResult | None = None
    import_ratio: Ratio | None = None

    def stream(self, name: str) -> StreamResult | None:
        """The result of a stream, None when it was not measured."""
        return next((stream for stream in self.streams if stream.name == name), None)

    def against_realistic(self, stream_name: str, face: str) -> Ratio | None:
        """The lines a CPU second of a stream against those of the realistic one, in the same rounds."""
        stream, realistic = self.stream(stream_name), self.stream("realistic")
        if stream is None or realistic is None or not (stream.is_whole(face) and realistic.is_whole(face)):
            return None
        pairs = zip(stream.rounds[face], realistic.rounds[face], strict=True)
        return _ratio([(base.seconds / realistic.lines) / (own.seconds / stream.lines) for own, base in pairs])


class Promise(msgspec.Struct, frozen=True):
    """A promise, its bound, and what was measured: None where it was not."""

    what: str
    bound: str
    measured: str | None
    met: bool | None


def promises(results: Results) -> list[Promise]:
    """What is promised against what was measured; medians count."""
    sdk = f"`run`, times the lines per CPU second of {OFFICIAL.package}"

    def of_realistic(take: Callable[[StreamResult], Ratio | None]) -> Ratio | None:
        stream = results.stream("realistic")
        return None if stream is None else take(stream)

    made = [
        _at_least("pipeline, of the typed decode", 0.60, of_realistic(lambda s: s.speed("pipeline", "decode"))),
        _at_least(
            "library, `async for`, of the typed decode",
            0.45,
            of_realistic(lambda s: s.speed("library, async for", "decode")),
        ),
        _at_least("`run`, of the typed decode", 0.40, of_realistic(lambda s: s.speed("run", "decode"))),
        _at_least(sdk, 1.5, of_realistic(lambda s: s.speed("run", OFFICIAL.name))),
    ]
    for face in ("pipeline", "run"):
        what = f"malformed stream, of the realistic stream's lines per CPU second, {face}"
        made.append(_at_least(what, 0.5, results.against_realistic("malformed", face)))
    made.append(
        _at_most(
            "import of the modules for a run, relative to trio and msgspec",
            1.15,
            results.import_ratio,
        )
    )
    realistic = results.stream("realistic")
    peak = realistic.peak_mib("run") if realistic is not None and realistic.is_whole("run") else None
    shown = None if peak is None else f"{peak:.1f} MiB"
    made.append(Promise("peak memory of a `run`", "< 45 MiB", shown, None if peak is None else peak < 45))
    return made


def _at_least(what: str, bound: float, ratio: Ratio | None) -> Promise:
    met = None if ratio is None else ratio.median >= bound
    return Promise(what, f"≥ {bound:.2f}", _shown(ratio), met)


def _at_most(what: str, bound: float, ratio: Ratio | None) -> Promise:
    met = None if ratio is None else ratio.median <= bound
    return Promise(what, f"≤ {bound:.2f}", _shown(ratio), met)


def _shown(ratio: Ratio | None) -> str | None:
    """With the digits that tell on which side of its bound it is."""
    return None if ratio is None else f"{ratio.median:.3f} ({ratio.least:.2f} to {ratio.greatest:.2f})"


def _ratio(ratios: list[float]) -> Ratio:
    return Ratio(median(ratios), min(ratios), max(ratios))
