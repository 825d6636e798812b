"""`python -m benchmarks [STREAM]... [--lines N] [--rounds N]`: what the adapter costs, as ratios to its ceilings.

Every round measures the ceilings and every face one after the other, on the same bytes, in CPU seconds of user and
system. A ratio is the ceiling's time over the face's in the same round; shown are medians over the rounds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.faces import FACES, Measured, measure
from benchmarks.streams import STREAMS, Stream, make

_CEILINGS = ("decode", "decode and encode")


def main() -> None:
    """Measure and print a table a stream."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("streams", nargs="*", metavar="STREAM", help=f"of {', '.join(STREAMS)}; default: realistic")
    parser.add_argument("--lines", type=int, default=200_000, help="lines of a stream (default: 200000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, after one that does not count (default: 5)")
    options = parser.parse_args()
    names = options.streams or ["realistic"]
    if not set(names) <= set(STREAMS):
        parser.error(f"streams are {', '.join(STREAMS)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            stream = make(name, options.lines)
            path = Path(folder, f"{name}.jsonl")
            path.write_bytes(stream.data)
            _print(stream, _rounds(stream, path, options.rounds))


def _rounds(stream: Stream, path: Path, rounds: int) -> dict[str, list[Measured]]:
    results: dict[str, list[Measured]] = {name: [] for name in FACES}
    for number in range(rounds + 1):
        for name in FACES:
            measured = measure(name, stream, path)
            if number > 0:
                results[name].append(measured)
    return results


def _print(stream: Stream, results: dict[str, list[Measured]]) -> None:
    size = len(stream.data) / stream.lines
    print(f"\n{stream.name}: {stream.lines} lines of {size:.0f} bytes; Python {sys.version.split()[0]}")
    print(f"{'face':<24}{'us/line':>9}{'MiB':>7}{'events':>9}" + "".join(f"{'of ' + name:>22}" for name in _CEILINGS))
    for name, rounds in results.items():
        ratios = [
            median(ceiling.seconds / face.seconds for ceiling, face in zip(results[against], rounds, strict=True))
            for against in _CEILINGS
        ]
        per_line = median(face.seconds for face in rounds) / stream.lines * 1e6
        peak = f"{max(face.peak_mib for face in rounds):.0f}" if rounds[0].peak_mib else "-"
        counts = {(face.events, face.checksum) for face in rounds}
        events = str(rounds[0].events) if len(counts) == 1 else "DIFFER"
        print(f"{name:<24}{per_line:>9.2f}{peak:>7}{events:>9}" + "".join(f"{ratio:>22.2f}" for ratio in ratios))
    emitted = {(rounds[0].events, rounds[0].checksum) for rounds in results.values() if rounds[0].checksum is not None}
    print("same events from every face" if len(emitted) == 1 else f"EVENTS DIFFER between faces: {sorted(emitted)}")


if __name__ == "__main__":
    main()
