"""Test `view` on journals and saved output, as text and as a page; the file is not changed."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit

import pytest

from codex_adapter import BackendError
from codex_adapter.testing.thread_lines import command_started, thread_started, turn_started

from ..waiting import SOON
from .command import ADAPTER, Cli, until_listening
from .journal_lines import STORY, Line, journal, records
from .page_reader import read_page
from .test_pretty import bare, on_terminal

pytestmark = pytest.mark.rule("C10")

TOLD = """\
# run of 2026-11-22 07:07:02 UTC
# session 0199a213-81c0-7800-8aa1-bbab2a035a53
~ **Looking**
~
~ Let me see.
> $ make all (at 3.0 s)
x $ make all (failed, exit 2, 2.5 s)
  | cc
  | error: no rule
! Reconnecting... 1/5
+ files: add /w/a.txt (at 7.5 s)
  [x] one
  [ ] two
The answer.
# tokens: 100 in, 20 out, 40 cached
+ completed (10.0 s)
"""
OPEN: list[Line] = [(0, thread_started()), (1, turn_started()), (1, command_started("a", "sleep 9"))]
SECRET = "SECRET"


def names(directory: Path) -> list[str]:
    """What is in a directory."""
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def file(cli: Cli) -> Path:
    """The journal of the story."""
    path = cli.directory / "journal.jsonl"
    path.write_bytes(journal(records(STORY)))
    return path


def test_a_journal_is_told_with_its_times(cli: Cli, file: Path) -> None:
    done = cli.run("view", file.name)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.decode() == TOLD


def test_saved_output_is_told_without_times(cli: Cli) -> None:
    (cli.directory / "saved.jsonl").write_bytes(b"".join(line for _, line in records(STORY)))
    told = cli.run("view", "saved.jsonl").stdout.decode()
    assert "x $ make all (failed, exit 2)\n" in told
    assert told.endswith("+ completed\n")
    assert "run of" not in told


def test_what_run_wrote_can_be_viewed(cli: Cli) -> None:
    recording = cli.directory / "recorded.jsonl"
    recording.write_text("".join(json.dumps(line) + "\n" for _, line in STORY))
    saved = cli.run("replay", "--tool-payloads", "full", recording.name, recording.name).stdout
    done = cli.run("view", "-", stdin=saved)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.decode().count("+ completed\n") == 2


def test_standard_input_is_a_file_like_others(cli: Cli, file: Path) -> None:
    assert cli.run("view", "-", stdin=file.read_bytes()) == cli.run("view", file.name)
    page = cli.run("view", "--html", "-", "-", stdin=file.read_bytes())
    assert page == cli.run("view", "--html", "-", file.name)


def test_a_terminal_gets_colours_and_no_control_code_of_the_agent(cli: Cli, file: Path) -> None:
    cli.env["TERM"] = "xterm-256color"
    file.write_bytes(file.read_bytes().replace(b"The answer.", rb"\u001b]0;t\u0007answer"))
    shown = on_terminal(cli, "view", file.name)
    assert "\x1b[32m" in shown
    assert "␛]0;t␇answer" in bare(shown)
    assert "… $ make all (at 3.0 s)" in bare(shown)
    assert "\x1b]" not in shown


@pytest.mark.rule("E1")
@pytest.mark.parametrize("end", [3, -9, BackendError("timeout", "codex stream idle timeout: 30s")])
def test_how_the_run_ended_is_told_and_is_not_our_exit_status(cli: Cli, file: Path, end: int | BackendError) -> None:
    file.write_bytes(journal(records(STORY, end)))
    done = cli.run("view", file.name)
    assert (done.status, done.stderr) == (0, "")
    last = done.stdout.decode().splitlines()[-1]
    assert last.startswith("x ended with" if isinstance(end, int) else "! failed: codex stream idle timeout: 30s")


@pytest.mark.fault("consumer", "A journal has no completion", "`view` reports this and shows which work was active")
def test_a_run_without_a_completion_is_told_as_far_as_it_went(cli: Cli, file: Path) -> None:
    file.write_bytes(journal(records(OPEN, None)[:3]))
    told = cli.run("view", file.name).stdout.decode().splitlines()
    assert told[-2:] == [
        "> not ended: $ sleep 9 (0 s)",
        "! no completion: the run is still active, or its writer was killed (2.0 s)",
    ]


@pytest.mark.rule("X1")
@pytest.mark.fault("consumer", "The last line of a journal is torn", "`view` shows the rest and reports the torn line")
@pytest.mark.parametrize("html", [False, True])
def test_what_is_no_record_is_counted_and_never_echoed(cli: Cli, file: Path, html: bool) -> None:
    strange = f"{SECRET}\n\n".encode() + b'{"type":"event","seq":"%b"}\n' % SECRET.encode()
    file.write_bytes(strange + file.read_bytes() + b'{"time":"%b' % SECRET.encode())
    done = cli.run("view", *(["--html", "-"] if html else []), file.name)
    assert done.status == 0
    assert done.stderr.splitlines() == [
        "codex-adapter: 2 lines that are not records were skipped.",
        "codex-adapter: The last line is incomplete: its writer was stopped.",
    ]
    assert SECRET.encode() not in done.stdout
    if html:
        assert "The last line is incomplete" in read_page(done.stdout).text
    else:
        assert done.stdout.decode() == TOLD


def test_records_that_are_missing_are_said(cli: Cli, file: Path) -> None:
    written = records(STORY)
    file.write_bytes(journal([*written[:2], *written[3:]]))
    assert "! 1 record missing here\n" in cli.run("view", file.name).stdout.decode()


@pytest.mark.rule("E5")
@pytest.mark.parametrize("words", [[], pytest.param(["--html", "out.html"], marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (f"{SECRET}.jsonl", None, "FILE cannot be read"),
        (".", None, "DIR (.) contains no journal"),
        ("empty.jsonl", b"", "FILE is empty. If it is a journal, its run has not started"),
        ("empty.txt", b"", "FILE contains no record"),
        ("blank.jsonl", b"\n \n", "FILE contains no record"),
        ("text.txt", SECRET.encode(), "FILE contains no record"),
        ("codex.jsonl", b'{"type":"thread.started","thread_id":"SECRET"}\n', "use `replay`"),
    ],
)
def test_a_file_without_records_is_refused(
    cli: Cli, words: list[str], name: str, content: bytes | None, told: str
) -> None:
    if content is not None:
        (cli.directory / name).write_bytes(content)
    done = cli.run("view", *words, name)
    assert (done.status, done.stdout) == (2, b"")
    assert told in done.complaint
    assert "See `codex-adapter view --help`." in done.complaint
    assert SECRET not in done.complaint
    assert not (cli.directory / "out.html").exists()


def test_a_page_is_written_whole_and_its_place_is_said(cli: Cli, file: Path) -> None:
    before = (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_mode)
    done = cli.run("view", "--html", "out.html", file.name)
    assert (done.status, done.stderr) == (0, "")
    out = cli.directory / "out.html"
    assert done.stdout.decode() == f"The page is in {out.resolve()}\n"
    assert "The answer." in read_page(out.read_bytes()).text
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_mode) == before
    assert names(cli.directory) == ["journal.jsonl", "out.html"]


def test_an_old_page_is_replaced_and_keeps_its_mode(cli: Cli, file: Path) -> None:
    old = cli.directory / "old.html"
    old.write_text("old")
    old.chmod(0o644)
    assert cli.run("view", "--html", "old.html", file.name).status == 0
    assert old.read_bytes().startswith(b"<!doctype html>")
    assert stat.S_IMODE(old.stat().st_mode) == 0o644


@pytest.mark.fault(
    "consumer",
    "`view` cannot write its page",
    "`view` reports the reason, leaves no partial file and keeps the journal",
)
@pytest.mark.rule("E5")
@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("nowhere/out.html", "must be a regular file in an existing directory"),
        (".", "must be a regular file in an existing directory"),
        ("/dev/full", "cannot be written (No space left on device"),
    ],
)
def test_a_page_that_cannot_be_written_leaves_nothing(cli: Cli, file: Path, out: str, reason: str) -> None:
    done = cli.run("view", "--html", out, file.name)
    assert (done.status, done.stdout) == (2, b"")
    assert reason in done.complaint
    assert names(cli.directory) == [file.name]


def test_a_page_that_does_not_fit_leaves_the_old_one(cli: Cli, file: Path) -> None:
    old = cli.directory / "out.html"
    old.write_text("old")
    done = cli.finish(
        cli.start("view", "--html", old.name, file.name, preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (1000, 1000)))
    )
    assert (done.status, done.stdout) == (2, b"")
    assert "--html: OUT cannot be written (File too large)" in done.complaint
    assert old.read_text() == "old"
    assert names(cli.directory) == [file.name, old.name]


@pytest.mark.parametrize("link", [None, os.link, os.symlink])
def test_the_file_is_never_replaced_by_its_page(cli: Cli, file: Path, link: object) -> None:
    before, out = file.read_bytes(), file
    if callable(link):
        out = cli.directory / "linked.html"
        link(file, out)
    done = cli.run("view", "--html", out.name, file.name)
    assert (done.status, done.stdout) == (2, b"")
    assert "--html: OUT must not be the same file as FILE" in done.complaint
    with file.open("rb") as stdin:
        done = cli.finish(cli.start("view", "--html", out.name, "-", stdin=stdin))
    assert done.status == 2
    assert file.read_bytes() == before


@pytest.mark.rule("E2")
@pytest.mark.parametrize("words", [(), ("--html", "-")])
def test_a_reader_that_leaves_is_no_failure(cli: Cli, file: Path, words: tuple[str, ...]) -> None:
    file.write_bytes(file.read_bytes() * 300)
    with cli.start("view", *words, file.name) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(SOON) == 0


@pytest.mark.rule("E4")
def test_it_tells_what_comes_while_it_comes_and_can_be_stopped(cli: Cli) -> None:
    with cli.start("view", "-") as process:
        until_listening(process)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(journal(records(STORY))[:600])
        process.stdin.flush()
        assert process.stdout.readline() == TOLD.encode().splitlines(keepends=True)[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 143


@pytest.mark.rule("V1")
def test_text_loads_no_page_and_no_agent(cli: Cli, file: Path) -> None:
    code = (
        "import sys; from codex_adapter.cli import main; main(sys.argv[1:]);"
        "print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [ADAPTER[0], "-c", code, "view", file.name], cwd=cli.directory, env=cli.env, capture_output=True, check=True
    )
    loaded = set(done.stderr.decode().split())
    assert "codex_adapter.cli.view.command" in loaded
    unwanted = {"codex_adapter.cli.view.page", "codex_adapter.cli.run.command", "rich", "html", "codex_adapter.testing"}
    assert unwanted & loaded == set()


def test_its_help_tells_where_records_come_from(cli: Cli) -> None:
    done = cli.run("view", "--help")
    assert (done.status, done.stderr) == (0, "")
    assert "serve --journal" in done.stdout.decode()
    assert "codex-adapter view --html" in done.stdout.decode()
