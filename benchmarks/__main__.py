"""Measure the adapter, its ceilings and its peers: `python -m benchmarks [STREAM]... [--peers DIR] [--write DIR]`.

Each round measures the ceilings, the interfaces of the adapter and the peers one after the other, on the same bytes, in
CPU seconds (user and system). A ratio is the ceiling's time divided by the interface's time in the same round. The
tables show medians over the rounds. A first round compares the events of all interfaces. `--write docs` also writes the
page and the plot.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.faces import CEILINGS, FACES
from benchmarks.imports import import_ratio
from benchmarks.measuring import Face, Measured, Work
from benchmarks.peers import PEERS, install, installed_faces
from benchmarks.plot import plot
from benchmarks.report import page, starts, table
from benchmarks.results import Machine, Results, StreamResult, promises
from benchmarks.streams import STREAMS, make, shortest


def main() -> int:
    """Measure, print a table a stream, and write the page where that is asked for; 1 when events differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("streams", nargs="*", metavar="STREAM", help=f"of {', '.join(STREAMS)}; default: realistic")
    parser.add_argument("--lines", type=int, default=200_000, help="lines of a stream, at most (default: 200000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, after one that checks (default: 5)")
    parser.add_argument("--peers", type=Path, metavar="DIR", help="measure the peers that are installed there, too")
    parser.add_argument("--install-peers", type=Path, metavar="DIR", help="install the peers there, and nothing else")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write performance.md and .svg there, of all streams")
    options = parser.parse_args()
    if options.install_peers is not None:
        return 0 if install(options.install_peers.absolute()) else 1
    names = options.streams or (list(STREAMS) if options.write else ["realistic"])
    if not set(names) <= set(STREAMS):
        parser.error(f"streams are {', '.join(STREAMS)}")
    peers = installed_faces(options.peers)
    with tempfile.TemporaryDirectory() as folder:
        start, *streams = _measure(names, options.lines, options.rounds, {**CEILINGS, **FACES, **peers}, Path(folder))
    results = Results(
        machine=_machine(with_node=bool(peers)),
        command=_command(names, options.lines, options.rounds, with_peers=options.peers is not None),
        rounds=options.rounds,
        streams=streams,
        absent=[peer.name for peer in PEERS if peer.name not in peers],
        shortest=start,
        import_ratio=import_ratio(max(10, options.rounds)),
    )
    _print(results)
    if options.write is not None:
        _write(results, options.write)
    return 1 if any(stream.disagreements() for stream in streams) else 0


def _measure(names: list[str], lines: int, rounds: int, faces: dict[str, Face], folder: Path) -> list[StreamResult]:
    """All streams, and before them the shortest one."""
    results: list[StreamResult] = []
    for name in ["", *names]:
        stream = make(name, lines) if name else shortest()
        _path(folder, stream.name).write_bytes(stream.data)
        measured: dict[str, list[Measured]] = {face: [] for face in faces}
        asked = lines if name else stream.lines
        results.append(StreamResult(stream.name, asked, stream.lines, len(stream.data), {}, measured))
    del stream
    for number in range(rounds + 1):
        for result in results:
            print(f"round {number} of {rounds}: {result.name}", file=sys.stderr, flush=True)
            work = Work(_path(folder, result.name), result.lines, check=number == 0)
            for face, measure in faces.items():
                if number == 0:
                    result.check[face] = measure(work)
                else:
                    # Who gave up over these lines will do so again, some only after their time limit.
                    gave_up = result.check[face].failure
                    result.rounds[face].append(result.check[face] if gave_up else measure(work))
    return results


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.jsonl"


def _print(results: Results) -> None:
    for stream in results.streams:
        print(f"\n{table(stream)}")
    print(f"\nms of a run in which nothing happens: {'; '.join(f'{name} {ms:.0f}' for name, ms in starts(results))}")
    print("\npromised and measured:")
    for promise in promises(results):
        verdict = {True: "met", False: "NOT MET", None: "-"}[promise.met]
        print(f"{promise.what:<76}{promise.bound:>9}  {promise.measured or 'not measured':<24}{verdict}")
    if results.absent:
        print(f"\nleft out, since not installed (--install-peers DIR, --peers DIR): {', '.join(results.absent)}")


def _write(results: Results, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "performance.md").write_text(page(results))
    (folder / "performance.svg").write_text(plot(results.stream("realistic") or results.streams[0]))


def _command(names: list[str], lines: int, rounds: int, *, with_peers: bool) -> str:
    """What repeats the measurement; where the peers are is everyone's own affair."""
    peers = " --peers DIR" if with_peers else ""
    return f"python -m benchmarks {' '.join(names)} --lines {lines} --rounds {rounds}{peers} --write docs"


def _machine(*, with_node: bool) -> Machine:
    described = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    model = next((text.strip() for key, text in described.items() if key.strip() == "model name"), platform.machine())
    node = _node_version() if with_node else None
    return Machine(len(os.sched_getaffinity(0)), model, platform.python_version(), node)


def _node_version() -> str | None:
    try:
        said = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.strip().removeprefix("v")


if __name__ == "__main__":
    sys.exit(main())
