"""Test that the work, memory and output of `view DIR` are bounded, whatever the files contain."""

from __future__ import annotations

import json
import os
import re
import resource
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from codex_adapter import BackendError
from codex_adapter.cli.view.index_text import index_lines
from codex_adapter.cli.view.journal_index import read_index
from codex_adapter.cli.view.page_index import index_page

from .command import Cli
from .journal_lines import journal
from .test_view_index import ASKED, asked, keep, rows

pytestmark = pytest.mark.rule("C21")

CPU_SECONDS = 3.0
JOURNALS = 200
KILOBYTES_OF_A_ROW = 8


@pytest.mark.rule("V1")
def test_thousands_of_journals_are_shown_in_bounded_time_and_memory(cli: Cli) -> None:
    directory = cli.directory / "runs"
    content = keep(directory, "r0").read_bytes()
    line = content.splitlines(keepends=True)[1]
    large = content.replace(line, line * 2_000, 1)
    for number in range(1, 2_000):
        (directory / f"r{number}.jsonl").write_bytes(large if number % 500 == 0 else content)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert len(cli.run("view", "runs").stdout.splitlines()) == 2_001
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < CPU_SECONDS


def test_the_oldest_of_too_many_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_adapter.cli.view.journal_index._MOST", 3)
    for number in range(5):
        path = keep(tmp_path, f"r{number}", after=number)
        os.utime(path, (number, number))
    index = read_index(str(tmp_path))
    assert ([row.file for row in index.rows], index.left_out) == (["r4.jsonl", "r3.jsonl", "r2.jsonl"], 2)


@pytest.mark.rule("V1")
@pytest.mark.parametrize("text", ["x" * 10_000, "\U0001f642" * 10_000], ids=["ascii", "wide"])
def test_a_row_is_bounded_whatever_the_two_lines_have(cli: Cli, text: str) -> None:
    path = keep(cli.directory / "runs", "r", BackendError("timeout", text))
    _, *lines = path.read_bytes().splitlines(keepends=True)
    labels = {f"{number:02}{text[:300]}": text[:5_000] for number in range(20 if text[0] == "x" else 6)}
    fields: dict[str, Any] = {name: text[:2_000] for name in ASKED if name != "labels"}
    first = journal([(0.0, asked(text[:2_000], **fields, labels=labels))])
    assert len(first) < 256 * 1024
    path.write_bytes(first + b"".join(lines))
    (row,) = rows(cli)
    assert (row["status"], "damaged" in row) == ("failed", False)
    assert row["working_dir"] == text[:1_024]
    assert {name: len(row[name]) for name in ("run_id", "agent_kind", "model", "release", "containment", "error")} == (
        dict.fromkeys(("run_id", "agent_kind", "model", "release", "containment", "error"), 200)
    )
    assert row["labels"] == {name[:64]: value[:256] for name, value in [*labels.items()][:16]}
    for words in (["runs"], ["--html", "-", "runs"]):
        assert len(cli.run("view", *words).stdout.decode()) < 20_000


def test_the_counts_of_a_row_are_bounded(cli: Cli) -> None:
    path = keep(cli.directory / "runs", "r")
    counts = json.dumps({"a": 10**400, **{f"n{number}": number for number in range(1_000)}})
    content = re.sub(rb'"usage":\{[^}]*\}(?=[^\n]*\n\Z)', b'"usage":' + counts.encode(), path.read_bytes())
    path.write_bytes(content)
    (row,) = rows(cli)
    assert row["usage"] == {f"n{number}": number for number in range(15)}


def test_a_first_line_that_no_adapter_writes_is_damaged(cli: Cli) -> None:
    path = keep(cli.directory / "runs", "r")
    _, *lines = path.read_bytes().splitlines(keepends=True)
    largest = {"prompt": "\x01" * 16_384, "working_dir": "\x01" * 4_096, "model": "\x01" * 4_096}
    labels = {f"{number:02}{'n' * 62}": '"' * 256 for number in range(16)}
    path.write_bytes(journal([(0.0, asked("r", **largest, labels=labels))]) + b"".join(lines))
    (row,) = rows(cli)
    assert ("damaged" in row, row["labels"]) == (False, labels)
    path.write_bytes(journal([(0.0, asked("r", prompt="x" * 256 * 1024))]) + b"".join(lines))
    (row,) = rows(cli)
    assert (row["status"], row["damaged"], "run_id" in row) == ("completed", True, False)


@pytest.mark.rule("V1")
def test_the_memory_and_the_output_for_hostile_journals_are_bounded(cli: Cli) -> None:
    directory = cli.directory / "runs"
    path = keep(directory, "r")
    labels = {f"{number}{'n' * 1_000}": "v" * 10_000 for number in range(20)}
    path.write_bytes(journal([(0.0, asked("r", labels=labels, model="m" * 10_000))]) + path.read_bytes())
    for number in range(JOURNALS):
        os.link(path, directory / f"r{number}.jsonl")
    tracemalloc.start()
    try:
        index = read_index(str(directory))
        index_lines(index, None)
        assert len(index_page(index, [], lambda _: None)) < JOURNALS * KILOBYTES_OF_A_ROW * 1024
        assert tracemalloc.get_traced_memory()[1] < JOURNALS * 4 * KILOBYTES_OF_A_ROW * 1024
    finally:
        tracemalloc.stop()
    for words in ([], ["--format", "jsonl"]):
        assert len(cli.run("view", *words, "runs").stdout) < JOURNALS * KILOBYTES_OF_A_ROW * 1024
