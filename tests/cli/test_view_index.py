"""Test `view DIR`: the runs of a journal directory as a table, a page and records."""

from __future__ import annotations

import fcntl
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from codex_adapter import BackendError
from codex_adapter.cli.view.index_text import index_lines
from codex_adapter.cli.view.journal_index import read_index
from codex_adapter.cli.view.page_index import index_page
from codex_adapter.records import RunRecord, encode_lines
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started
from tests.widths import thinned

from .command import Cli
from .journal_lines import STORY, journal, records
from .test_pretty import bare, on_terminal

pytestmark = pytest.mark.rule("C21")

TITLES = ["STATUS", "STARTED", "LENGTH", "MODEL", "DIRECTORY", "LABELS", "TOKENS", "FILE", "TEXT"]
ASKED = {
    "agent_kind": "codex",
    "working_dir": "/home/me/src/app",
    "model": "gpt-5.1-codex",
    "release": "0.169.0",
    "containment": "cgroup",
    "labels": {"task": "12"},
}


def asked(run_id: str, **fields: Any) -> bytes:
    """Return the run record of a run."""
    return encode_lines([RunRecord(run_id=run_id, **{**ASKED, **fields})])


def keep(directory: Path, run_id: str, end: Any = 0, *, after: float = 0.0, lines: Any = STORY) -> Path:
    """Write the journal of a run that began so many seconds after all of them."""
    directory.mkdir(exist_ok=True)
    path = directory / f"{run_id}.jsonl"
    told = [(0.0, asked(run_id)), *records(lines, end)]
    path.write_bytes(journal([(after + seconds, line) for seconds, line in told]))
    return path


def rows(cli: Cli, *words: str) -> list[dict[str, Any]]:
    """Return the records of the index of `runs`."""
    done = cli.run("view", "--format", "jsonl", "runs", *words)
    assert (done.status, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def runs(cli: Cli) -> Path:
    """A directory with runs that ended in several ways."""
    directory = cli.directory / "runs"
    keep(directory, "first")
    keep(directory, "second", 3, after=60)
    keep(directory, "third", BackendError("timeout", "codex stream idle timeout: 30s"), after=120)
    keep(directory, "fourth", None, after=180)
    return directory


@pytest.mark.usefixtures("runs")
def test_the_runs_are_records_for_a_program_the_newest_first(cli: Cli) -> None:
    found = rows(cli)
    assert [(row["file"], row["status"], row.get("ok")) for row in found] == [
        ("fourth.jsonl", "unfinished", None),
        ("third.jsonl", "failed", False),
        ("second.jsonl", "completed", False),
        ("first.jsonl", "completed", True),
    ]
    first = found[-1]
    assert {name: first[name] for name in ASKED} == ASKED
    assert (first["type"], first["run_id"]) == ("journal", "first")
    assert (first["started"], first["seconds"]) == ("2026-11-22T07:07:02.123Z", 10.0)
    assert (first["usage"]["input_tokens"], first["final_text"]) == (100, "The answer.")
    assert found[1]["error"] == "codex stream idle timeout: 30s"


def test_the_runs_are_a_table_for_a_person(cli: Cli, runs: Path) -> None:
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in runs.iterdir()}
    done = cli.run("view", "runs")
    assert (done.status, done.stderr) == (0, "")
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["#", *TITLES]
    assert [line[0] for line in lines[1:]] == ["!", "x", "x", "+"]
    assert re.split(r"\s{2,}", lines[-1][2:]) == [
        *("ok", "2026-11-22 07:07", "10.0 s", "gpt-5.1-codex", "/home/me/src/app", "task=12", "100 in, 20 out"),
        *("first.jsonl", "The answer."),
    ]
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in runs.iterdir()} == before


@pytest.mark.parametrize(
    ("width", "left_out"),
    [
        (20, ["STARTED", "LENGTH", "MODEL", "DIRECTORY", "LABELS", "TOKENS"]),
        (80, ["MODEL", "DIRECTORY", "LABELS", "TOKENS"]),
        (120, ["DIRECTORY"]),
        (250, []),
    ],
)
def test_lines_fit_and_columns_are_left_out_for_it(runs: Path, width: int, left_out: list[str]) -> None:
    lines = [line.text for line in index_lines(read_index(str(runs)), width)]
    assert [title for title in TITLES[:-2] if title not in lines[0]] == left_out
    assert max(map(len, lines)) <= max(width - 2, len("unfinished  fourth.jsonl  "))


@pytest.mark.parametrize("width", [40, 80, 200, None])
def test_the_name_of_a_file_is_never_cut(runs: Path, width: int | None) -> None:
    name = "f01ef91d-650a-433d-9319-6fbc146a1605"
    keep(runs, name)
    index = read_index(str(runs))
    assert any(f"{name}.jsonl" in line.text.split() for line in index_lines(index, width))
    assert f"<code>{name}.jsonl</code>" in index_page(index, [], lambda _: None).decode()


def test_the_text_of_a_failed_run_is_the_advice(cli: Cli, runs: Path) -> None:
    keep(runs, "fifth", BackendError("timeout", hint="time_limit"), after=240)
    keep(runs, "sixth", BackendError("io", advice="Free some space."), after=300)
    table = cli.run("view", "runs").stdout.decode()
    page = cli.run("view", "--html", "-", "runs").stdout.decode()
    for text in (table, page):
        assert "The run exceeded its `timeout`." in text
        assert "Free some space." in text
        assert "details redacted" not in text
    assert rows(cli)[0]["advice"] == "Free some space."


@pytest.mark.usefixtures("runs")
def test_a_terminal_gets_a_line_for_each_run(cli: Cli) -> None:
    cli.env["TERM"] = "xterm-256color"
    lines = bare(on_terminal(cli, "view", "runs")).splitlines()
    assert [len(line) <= 80 for line in lines] == [True] * 5
    assert "first.jsonl" in lines[-1]


@pytest.mark.rule("X1", "C10")
def test_hostile_text_moves_no_terminal_and_is_no_markup(cli: Cli) -> None:
    hostile = "\x1b]0;t\x07<script>\n\u202e"
    lines = [(0, thread_started()), (0, turn_started()), (0, agent_message("a", hostile)), (0, turn_completed())]
    path = keep(cli.directory / "runs", "r", lines=lines)
    path.write_bytes(path.read_bytes().replace(b"gpt-5.1-codex", rb"m\u001b[31m<b>"))
    for words in (["runs"], ["--html", "-", "runs"]):
        told = cli.run("view", *words).stdout.decode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", told)
        assert "␛" in told
    page = cli.run("view", "--html", "-", "runs").stdout.decode()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src &#x27;none&#x27;" in page


@pytest.mark.fault("consumer", "A journal in a directory is damaged, torn, empty or unreadable", "Its row reports this")
def test_what_is_damaged_is_a_row_that_says_so(cli: Cli, runs: Path) -> None:
    whole = (runs / "first.jsonl").read_bytes()
    (runs / "a-torn.jsonl").write_bytes(whole[:-20])
    (runs / "b-zeros.jsonl").write_bytes(b"\0" * 100_000)
    (runs / "c-text.jsonl").write_bytes(b"one\ntwo\n")
    (runs / "d-empty.jsonl").touch()
    (runs / "e-head.jsonl").write_bytes(b"\0" * 100 + b"\n" + whole)
    (runs / "f-long.jsonl").write_bytes(b"x" * 3_000_000 + b"\n")
    (runs / "g-asked.jsonl").write_bytes(whole[: whole.index(b"\n") + 1])
    (runs / "h-old.jsonl").write_bytes(whole[whole.index(b"\n") + 1 :])
    found = {row["file"]: row for row in rows(cli)}
    assert {name[0]: (row["status"], row.get("damaged", False)) for name, row in found.items() if name[1] == "-"} == {
        "a": ("unfinished", True),
        "b": ("damaged", True),
        "c": ("damaged", True),
        "d": ("empty", False),
        "e": ("completed", True),
        "f": ("damaged", True),
        "g": ("unfinished", False),
        "h": ("completed", False),
    }
    assert found["g-asked.jsonl"]["labels"] == {"task": "12"}
    assert "run_id" not in found["h-old.jsonl"]
    assert "unfinished, damaged" in cli.run("view", "runs").stdout.decode()


def test_what_is_no_journal_is_left_out(cli: Cli, runs: Path) -> None:
    (runs / "notes.txt").write_text("notes")
    (runs / "link.jsonl").symlink_to(runs / "first.jsonl")
    (runs / "inner.jsonl").mkdir()
    os.mkfifo(runs / "pipe.jsonl")
    assert len(rows(cli)) == 4


@pytest.mark.rule("J12")
def test_a_run_whose_writer_lives_is_running(cli: Cli, runs: Path) -> None:
    with (runs / "fourth.jsonl").open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        writer.write(b'{"time":"2026-')
        writer.flush()
        (running,) = (row for row in rows(cli) if row["file"] == "fourth.jsonl")
    assert running["status"] == "running"
    assert "damaged" not in running


def test_the_page_links_the_pages_that_are_beside_the_journals(cli: Cli, runs: Path) -> None:
    (runs / "first.html").touch()
    (runs / "third.html").touch()
    (cli.directory / "pages").mkdir()
    for out, place in (("runs/index.html", "."), ("pages/index.html", "../runs"), ("index.html", "runs")):
        done = cli.run("view", "--html", out, "runs")
        assert (done.status, done.stderr) == (0, "")
        links = re.findall(r'href="([^"]*)"', (cli.directory / out).read_text())
        assert links == [f"{place}/third.html", f"{place}/first.html"]
        assert all(((cli.directory / out).parent / link).exists() for link in links)


def test_the_page_leaves_out_columns_that_are_empty(cli: Cli, runs: Path) -> None:
    def titles() -> list[str]:
        return re.findall(r"<th [^>]*>([^<]*)</th>", cli.run("view", "--html", "-", "runs").stdout.decode())

    all_titles = ["Status", "Started", "Length", "Model", "Directory", "Labels", "Tokens", "Journal", "Text"]
    assert titles() == all_titles
    for path in runs.iterdir():
        path.write_bytes(journal([(0.0, asked(path.stem, model=None, labels={})), *records(STORY)]))
    assert titles() == [title for title in all_titles if title not in ("Model", "Labels")]


@pytest.mark.usefixtures("runs")
@pytest.mark.rule("E5")
@pytest.mark.parametrize(
    ("words", "said"),
    thinned(
        [
            (["--html", "runs/first.jsonl", "runs"], "OUT must not have the name of a journal"),
            (["--html", "a.html", "--format", "jsonl", "runs"], "exclude each other"),
            (["--format", "jsonl", "runs/first.jsonl"], "--format jsonl needs a directory"),
            (
                ["empty"],
                "DIR (empty) contains no journal. If it is the directory of `serve --journal`, no run was accepted",
            ),
        ],
        2,
    ),
)
def test_what_cannot_be_shown_is_refused(cli: Cli, words: list[str], said: str) -> None:
    (cli.directory / "empty").mkdir()
    done = cli.run("view", *words)
    assert (done.status, done.stdout) == (2, b"")
    assert said in done.stderr
