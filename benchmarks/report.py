"""Format a measurement as text for the terminal, and as the page `performance.md`."""

from __future__ import annotations

from typing import Final

from benchmarks.faces import CEILINGS, FACES
from benchmarks.peers import NOT_MEASURED, PEERS
from benchmarks.results import Results, StreamResult, promises
from benchmarks.streams import MOST_BYTES_A_LINE, STREAMS

__all__ = ["page", "starts", "table"]

_AGAINST: Final = ("decode", "decode and encode")


def table(stream: StreamResult) -> str:
    """One stream, for the terminal."""
    size = stream.size / stream.lines
    lines = [
        f"{stream.name}: {stream.lines} lines of {size:.0f} bytes{_shortened(stream)}",
        f"{'':<28}{'us/line':>10}{'MiB':>6}{'of decode':>12}{'of dec.+enc.':>14}  events",
    ]
    for name in stream.rounds:
        ratios = [_median(stream, name, against) for against in _AGAINST]
        row = f"{name:<28}{_per_line(stream, name):>10}{_peak(stream, name):>6}{ratios[0]:>12}{ratios[1]:>14}"
        lines.append(f"{row}  {_events(stream, name)}")
    return "\n".join([*lines, _agreement(stream)])


def starts(results: Results) -> list[tuple[str, float]]:
    """Milliseconds of CPU time of a run of no work, of everything that runs processes."""
    stream = results.shortest
    if stream is None:
        return []
    within = {*CEILINGS, "pipeline", "pipeline and records"}
    names = [name for name in stream.rounds if name not in within and stream.is_whole(name)]
    return [(name, stream.per_line(name) * stream.lines / 1_000) for name in names]


def page(results: Results) -> str:
    """The whole page, in Markdown."""
    parts = [
        _INTRODUCTION.format(command=results.command, rounds=results.rounds, machine=_machine(results)),
        _PROMISED,
        _promises(results),
        "## The streams\n",
        *(_section(stream) for stream in results.streams),
        _starts(results),
        _COUNTED,
        _peers(results),
    ]
    return "\n".join(parts)


def _starts(results: Results) -> str:
    rows = [f"| {name} | {milliseconds:.0f} |" for name, milliseconds in starts(results)]
    return "\n".join([_START, "| what | ms |", "|---|--:|", *rows, ""])


def _machine(results: Results) -> str:
    machine = results.machine
    node = f", Node {machine.node}" if machine.node else ""
    return f"{machine.cores} cores of {machine.cpu}, Python {machine.python}{node}"


def _promises(results: Results) -> str:
    rows = ["| what | promised | measured | |", "|---|---|---|---|"]
    for promise in promises(results):
        verdict = {True: "met", False: "**not met**", None: "not measured"}[promise.met]
        rows.append(f"| {promise.what} | {promise.bound} | {promise.measured or '-'} | {verdict} |")
    return "\n".join(rows) + "\n"


def _section(stream: StreamResult) -> str:
    about = " ".join((STREAMS[stream.name].__doc__ or "").split())
    rows = [
        f"### {stream.name}\n",
        f"{about} {stream.lines:,} lines of {stream.size / stream.lines:,.0f} bytes on average{_shortened(stream)}.\n",
        "| what | µs a line | lines per CPU second | of decode | of decode and encode | peak MiB | events |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for name in stream.rounds:
        speed = f"{1e6 / stream.per_line(name):,.0f}" if stream.is_whole(name) else "-"
        cells = [_per_line(stream, name), speed, *(_range(stream, name, against) for against in _AGAINST)]
        kind = "ceiling: " if name in CEILINGS else "" if name in FACES else "peer: "
        rows.append(f"| {kind}{name} | {' | '.join(cells)} | {_peak(stream, name)} | {_events(stream, name)} |")
    agreement = _agreement(stream)
    return "\n".join([*rows, "", f"{agreement[0].upper()}{agreement[1:]}.", ""])


def _shortened(stream: StreamResult) -> str:
    if stream.lines == stream.asked:
        return ""
    return f" (not {stream.asked:,}, so that the stream has at most {MOST_BYTES_A_LINE} bytes for each requested line)"


def _per_line(stream: StreamResult, name: str) -> str:
    return f"{stream.per_line(name):,.2f}" if stream.is_whole(name) else "-"


def _peak(stream: StreamResult, name: str) -> str:
    peak = stream.peak_mib(name)
    return f"{peak:.0f}" if peak else "-"


def _median(stream: StreamResult, name: str, against: str) -> str:
    ratio = stream.speed(name, against)
    return "-" if ratio is None else f"{ratio.median:.2f}"


def _range(stream: StreamResult, name: str, against: str) -> str:
    ratio = stream.speed(name, against)
    if ratio is None:
        return "-"
    return (
        f"{ratio.median:.2f}" if name == against else f"{ratio.median:.2f} ({ratio.least:.2f} to {ratio.greatest:.2f})"
    )


def _events(stream: StreamResult, name: str) -> str:
    last = stream.rounds[name][-1]
    if last.failure:
        return last.failure if last.events is None else f"stops after {last.events}: {last.failure}"
    return "-" if last.events is None else f"{last.events:,}"


def _agreement(stream: StreamResult) -> str:
    wrong = stream.disagreements()
    return f"EVENTS DIFFER: {', '.join(wrong)}" if wrong else "the same events from each interface of codex_adapter"


def _peers(results: Results) -> str:
    rows = ["## The peers\n", "| peer | from | what it is |", "|---|---|---|"]
    for peer in PEERS:
        absent = "; **not installed, so left out**" if peer.name in results.absent else ""
        rows.append(f"| `{peer.package}` {peer.version} | {peer.registry} | {peer.about}{absent} |")
    rows.append("\nNot measured:\n")
    rows += [f"- `{name}`: {reason}." for name, reason in NOT_MEASURED.items()]
    return "\n".join(rows) + "\n"


_INTRODUCTION: Final = """# Performance

The costs of the adapter, compared with the least possible costs of any adapter, and with other wrappers of
`codex exec --json`. This page is generated. Compare ratios, not times: times depend on the machine and its other work.

    {command}

Measured on {machine}; medians of {rounds} rounds.

![Lines per CPU second](performance.svg)

*Of decode* is the CPU time of the typed decode divided by that of the row, both of the same round. A value of 0.50
means that the row takes twice as long as the decode alone. A dash means that no comparison is possible: the decode
refuses the lines of the stream, or a peer does not read the stream to its end.
"""

_PROMISED: Final = """## Promises and measurements

The stream is the realistic one, unless a row names another. A ratio is the median of the rounds, with the least and the
greatest one in parentheses.
"""

_START: Final = """## Start and end

The CPU time of a run without work. It is included in each run above, and so it matters more for short streams.
"""

_COUNTED: Final = """## Method

All times are CPU seconds, user and system, not wall-clock time. Each round measures each row once, over all streams.
A first round checks the results: the events of each interface are encoded as records, and their checksums are compared.

| what | counts |
|---|---|
| ceiling: decode | `msgspec` decodes each line into the adapter's types; the lines are already split and in memory |
| ceiling: decode and encode | the same, and each value is encoded again |
| ceiling: cat | the substitute for the agent, which prints the stream with `cat`, and the read of its pipe |
| pipeline | `Pipeline` with pieces of 64 KiB: split into lines, decode, convert, mask and bound; no I/O |
| pipeline and records | the same, and the events are encoded as records |
| library | a complete run in this process, without the start of Python, and the processes that it waited for: the \
agent's `cat`, and the guard process |
| run, replay | the command, from the start of Python to its end, and the processes that it waited for: for \
`run` the agent's `cat` and the guard process. The reader of its output is not counted |
| peer | a program that counts the events of one run, from its start to its end, and the agent's `cat` |

A peer does less than `run`: it passes the parsed lines to a loop that counts them. `run` also masks and bounds each
event, prints it as a record, and contains the run with a guard process. Peak memory is that of the largest process, and
only measured for commands and peers. The import is that of `open_run`, `RunRequest` and `CodexConfig`, without the
start of Python.
"""
