"""Test the scripted agent as a process: its waits, its signals, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from codex_adapter.testing import (
    CloseStdout,
    Die,
    Exit,
    ExitOnSignal,
    Hang,
    IgnoreSignals,
    PrintText,
    Repeat,
    Sleep,
    Step,
    WaitFor,
    WriteFile,
    write_agent,
)

pytestmark = pytest.mark.rule("TK2")

RUN = ("exec", "--json", "-")


def _play(directory: Path, *script: Step, prompt: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    binary = write_agent(directory / "bin", script)
    return subprocess.run([binary, *RUN], input=prompt, capture_output=True, cwd=directory, timeout=60, check=False)


def _start(directory: Path, *script: Step) -> subprocess.Popen[bytes]:
    binary = write_agent(directory / "bin", script)
    pipe = subprocess.PIPE
    return subprocess.Popen([binary, *RUN], stdin=pipe, stdout=pipe, stderr=pipe, cwd=directory)


def test_it_repeats_a_line_until_nobody_reads_and_then_fails_like_the_cli(tmp_path: Path) -> None:
    with _start(tmp_path, Repeat("abc")) as process:
        assert process.stdout is not None
        assert process.stdout.read(400_000) == b"abc\n" * 100_000
        process.stdout.close()
        assert process.wait(60) == 101


def test_it_waits_for_a_file(tmp_path: Path) -> None:
    with _start(tmp_path, PrintText("ready"), WaitFor("go"), PrintText("gone")) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        (tmp_path / "go").touch()
        assert process.stdout.read() == b"gone\n"


def test_it_waits_for_a_writer_of_a_fifo_and_for_the_reader_of_its_own(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in")
    os.mkfifo(tmp_path / "out")
    with _start(tmp_path, WriteFile("out", "ready"), WaitFor("in"), PrintText("gone")) as process:
        assert (tmp_path / "out").read_text() == "ready"
        (tmp_path / "in").write_text("")
        assert process.communicate(timeout=60) == (b"gone\n", b"")


def test_it_exits_and_dies_as_it_is_told(tmp_path: Path) -> None:
    assert _play(tmp_path, Exit(3), PrintText("never")).returncode == 3
    assert _play(tmp_path).returncode == 0
    assert _play(tmp_path, Die()).returncode == -signal.SIGKILL
    assert _play(tmp_path, IgnoreSignals(("SIGTERM",)), Die("SIGTERM")).returncode == -signal.SIGTERM
    assert _play(tmp_path, Die("SIGSEGV"), PrintText("never")).stdout == b""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_without_a_word(tmp_path: Path, name: str) -> None:
    with _start(tmp_path, PrintText("ready"), Hang()) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.Signals[name])
        assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == -signal.Signals[name]


def test_it_exits_on_a_signal_if_it_is_told(tmp_path: Path) -> None:
    with _start(tmp_path, ExitOnSignal("SIGINT", 7), PrintText("ready"), Hang()) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 7


def test_it_ignores_signals_if_it_is_told(tmp_path: Path) -> None:
    script: list[Step] = [IgnoreSignals(("SIGINT", "SIGTERM")), PrintText("ready"), WaitFor("go"), Exit(5)]
    with _start(tmp_path, *script) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        (tmp_path / "go").touch()
        assert process.wait(60) == 5


def test_it_closes_its_output_and_lives_on(tmp_path: Path) -> None:
    with _start(tmp_path, PrintText("last"), CloseStdout(), WaitFor("go")) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"last\n"
        assert process.poll() is None
        (tmp_path / "go").touch()
        assert process.wait(60) == 0


def test_it_sleeps_for_that_long(tmp_path: Path) -> None:
    assert _play(tmp_path, Sleep(0.01)).returncode == 0
