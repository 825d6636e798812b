"""Check a journal against the messages that the supervisor received (J12 to J14)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from .messages import Refused
from .supervisor import Supervisor
from .workshop import Workshop

__all__ = ["Kept", "Record", "look_at_journal", "read_all", "read_asked", "read_file"]

Record = dict[str, Any]


class Kept(NamedTuple):
    """Runs that were heard to be accepted, that have a journal, and whose journal has a completion; how many records
    were heard, and are kept; how many journals had a torn line."""

    accepted: set[str]
    begun: set[str]
    completed: set[str]
    heard: int
    kept: int
    torn: int


def read_file(path: Path) -> list[Record]:
    """The records of a journal file, each a whole line, without the first line, which must be the run record."""
    lines = _lines(path)
    if lines:
        assert next(iter(lines[0])) == "time"
        assert (lines[0]["type"], lines[0]["run_id"]) == ("run", path.stem)
    assert all(line["type"] != "run" for line in lines[1:])
    return lines[1:]


def read_asked(path: Path) -> Record:
    """Return the run record of a journal file, without its time."""
    return {name: value for name, value in _lines(path)[0].items() if name not in ("time", "type")}


def _lines(path: Path) -> list[Record]:
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n"), "the last line is torn"
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def read_all(daemon: Supervisor, run_id: str, *, live: bool = False) -> list[Record]:
    """All that a daemon tells of a run that nobody writes any more of, page by page, the completion last."""
    records: list[Record] = []
    while True:
        page = daemon.call("run/events", runId=run_id, fromSeq=len(records))
        assert (page["runId"], page["live"]) == (run_id, live)
        records += page["events"]
        if "completion" in page:
            assert not page["more"]
            records.append(page["completion"])
        assert page["nextSeq"] == len(records)
        if not page["more"]:
            return records
        assert page["events"], "there is more, and nothing comes"


def look_at_journal(workshop: Workshop, run_ids: list[str]) -> Kept:
    """Compare the directory `journal` with the file `heard`, before and after a new daemon has read it."""
    journal = workshop.directory / "journal"
    before = {path.name: path.read_bytes() for path in journal.iterdir()} if journal.exists() else {}
    daemon = workshop.daemon("--journal", str(journal))
    records: dict[str, list[Record]] = {}
    torn = 0
    for run_id in run_ids:
        try:
            records[run_id] = read_all(daemon, run_id)
        except Refused as refused:
            if refused.code != -32602:
                raise
            continue
        path = journal / f"{run_id}.jsonl"
        assert path.stat().st_mode & 0o777 == 0o600
        was = before.pop(path.name)
        assert path.read_bytes() == was[: was.rfind(b"\n") + 1]
        torn += not was.endswith(b"\n") and was != b""
        assert read_file(path) == records[run_id], "not told as it is kept"
        _look_at_records(records[run_id])
    assert before == {}, "journals of nobody"
    accepted, heard = _compare(workshop.directory / "heard", records)
    completed = {run_id for run_id, kept in records.items() if kept and kept[-1]["type"] == "completion"}
    assert accepted <= records.keys(), "a run that was accepted has no journal"
    return Kept(accepted, set(records), completed, heard, sum(map(len, records.values())), torn)


def _look_at_records(records: list[Record]) -> None:
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert all(next(iter(record)) == "time" for record in records)
    assert all(record["type"] == "event" for record in records[:-1])
    times = [record["time"] for record in records]
    assert times == sorted(times)


def _compare(heard: Path, records: dict[str, list[Record]]) -> tuple[set[str], int]:
    """The accepted runs, and how many records were heard; all of them must be kept."""
    accepted: set[str] = set()
    count = 0
    for line in heard.read_bytes().split(b"\n")[:-1] if heard.exists() else []:
        told = json.loads(line)
        if told.get("method") in ("run/event", "run/completed"):
            params = told["params"]
            kept = _kept(records, params["runId"], params["seq"])
            assert (params.get("event") or params["completion"]) == {n: v for n, v in kept.items() if n != "time"}
            count += 1
        elif "events" in (result := told.get("result", {})):
            for record in [*result["events"], *([result["completion"]] if "completion" in result else [])]:
                assert record == _kept(records, result["runId"], record["seq"])
                count += 1
        elif "runId" in result:
            accepted.add(result["runId"])
    return accepted, count


def _kept(records: dict[str, list[Record]], run_id: str, seq: int) -> Record:
    of_run = records.get(run_id, [])
    assert seq < len(of_run), f"{run_id} {seq} was heard, and is not kept"
    return of_run[seq]
