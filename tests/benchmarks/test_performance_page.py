"""Test the streams and the output of `python -m benchmarks`: equal streams and equal events in every run.

The tests measure no times.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from benchmarks.faces import CEILINGS, FACES, IN_PROCESS
from benchmarks.measuring import Measured, Work
from benchmarks.peers import NOT_MEASURED, OFFICIAL, PEERS
from benchmarks.plot import plot
from benchmarks.report import page, table
from benchmarks.results import Machine, Ratio, Results, StreamResult, promises
from benchmarks.streams import MOST_BYTES_A_LINE, STREAMS, make

LINES = 300


def made_up(name: str, **other: Measured) -> StreamResult:
    """A stream over which each thing takes a hundredth of a second longer than the one before it."""
    seconds = itertools.count(1)
    rounds = {
        name: [other.get(name, Measured(next(seconds) / 100, 1_000, 7, 20.0))] * 3
        for name in [*CEILINGS, *FACES, *(peer.name for peer in PEERS)]
    }
    return StreamResult(name, 1_000, 1_000, 318_000, {name: each[0] for name, each in rounds.items()}, rounds)


def results(*streams: StreamResult, import_ratio: Ratio | None = None) -> Results:
    """A whole measurement with these streams."""
    machine = Machine(2, "a made-up CPU", "3.11.7")
    return Results(machine, "python -m benchmarks", 3, list(streams), [OFFICIAL.name], import_ratio=import_ratio)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_always_the_same(name: str) -> None:
    first, second = make(name, LINES), make(name, LINES)
    assert first == second
    assert first.data.count(b"\n") == first.lines <= LINES
    assert first.lines == LINES or len(first.data) >= LINES * MOST_BYTES_A_LINE


def test_a_line_of_the_realistic_stream_is_as_long_as_in_the_field() -> None:
    stream = make("realistic", 10_000)
    assert len(stream.data) / stream.lines == pytest.approx(318, rel=0.02)


def test_one_line_in_a_hundred_of_the_malformed_stream_is_cut_and_the_others_are_those_of_the_realistic_one() -> None:
    realistic, malformed = (make(name, 2_000).data.split(b"\n") for name in ("realistic", "malformed"))
    cut = [(whole, line) for whole, line in zip(realistic, malformed, strict=True) if whole != line]
    assert len(cut) == pytest.approx(20, abs=10)
    assert all(line == whole[: len(whole) // 2] for whole, line in cut)


@pytest.mark.rule("L5", "D2")
@pytest.mark.parametrize("name", STREAMS)
def test_every_face_of_this_process_gives_the_same_events(name: str, tmp_path: Path) -> None:
    stream = make(name, LINES)
    path = tmp_path / "stream.jsonl"
    path.write_bytes(stream.data)
    given = {face: measure(Work(path, stream.lines, check=True)) for face, measure in IN_PROCESS.items()}
    assert len({(measured.events, measured.checksum) for measured in given.values()}) == 1
    # A call whose result is malformed is closed by an event of its own.
    events = given["pipeline"].events
    assert events is not None
    assert events == stream.lines or (name == "malformed" and stream.lines < events < 1.01 * stream.lines)


def test_the_page_has_a_row_for_everything_that_was_measured() -> None:
    text = page(results(*(made_up(name) for name in STREAMS), import_ratio=Ratio(1.1, 1.0, 1.2)))
    for name in [*CEILINGS, *FACES, *(peer.name for peer in PEERS)]:
        assert text.count(f"{name} | ") >= len(STREAMS), name
    for name in [*STREAMS, *NOT_MEASURED]:
        assert name in text
    assert text.count("not installed") == 1
    assert text.count("The same events from each interface") == len(STREAMS)
    assert {line.count("|") for line in text.splitlines() if line.startswith("| pipeline |")} == {8, 3}


def test_the_page_tells_what_a_run_of_no_work_costs() -> None:
    shortest = made_up("shortest", run=Measured(0.125, 3, 7, 20.0))
    text = page(msgspec.structs.replace(results(made_up("realistic")), shortest=shortest))
    assert "| run | 125 |" in text


def test_promises_are_met_or_not_by_the_medians_of_the_rounds() -> None:
    realistic = made_up("realistic", decode=Measured(0.05, 1_000), pipeline=Measured(0.1, 1_000, 7))
    malformed = made_up("malformed", pipeline=Measured(0.15, 1_000, 7))
    said = {promise.what: promise for promise in promises(results(realistic, malformed))}
    assert (said["pipeline, of the typed decode"].measured, said["pipeline, of the typed decode"].met) == (
        "0.500 (0.50 to 0.50)",
        False,
    )
    assert [promise.met for what, promise in said.items() if what.endswith("pipeline")] == [True]
    assert said["peak memory of a `run`"].met is True
    assert said["import of the modules for a run, relative to trio and msgspec"].met is None


def test_a_peer_that_gives_up_is_not_compared_and_not_drawn() -> None:
    stream = made_up("malformed", **{OFFICIAL.name: Measured(0.001, 13, failure="SyntaxError")})
    assert "stops after 13: SyntaxError" in table(stream)
    assert stream.speed("run", OFFICIAL.name) is None
    assert OFFICIAL.name not in plot(stream)


def test_a_decode_that_refuses_the_stream_is_no_ceiling_of_it() -> None:
    stream = made_up("malformed", decode=Measured(0.001, 30))
    assert stream.speed("pipeline", "decode") is None
    assert stream.speed("pipeline", "decode and encode") is not None


@pytest.mark.parametrize("wrong", [Measured(0.05, 999, 7), Measured(0.05, 1_000, 8)])
def test_a_face_with_other_events_is_told(wrong: Measured) -> None:
    stream = made_up("realistic", replay=wrong)
    assert stream.disagreements() == ["replay"]
    assert "EVENTS DIFFER: replay" in table(stream)
    assert "EVENTS DIFFER: replay" in page(results(stream))


def test_the_plot_is_a_document_with_a_bar_for_everything_but_the_pipe_alone() -> None:
    stream = made_up("realistic")
    root = ElementTree.fromstring(plot(stream))
    namespace = "{http://www.w3.org/2000/svg}"
    legend = 3
    assert len(root.findall(f"{namespace}rect")) == len(stream.rounds) - 1 + legend
    texts = {element.text for element in root.findall(f"{namespace}text")}
    assert set(stream.rounds) - texts == {"cat"}
    widths = [float(element.attrib["width"]) for element in root.findall(f"{namespace}rect")][legend:]
    assert widths == sorted(widths, reverse=True)
