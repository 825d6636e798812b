"""Test that the descendants of a scripted agent match their step when the step ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from codex_adapter.testing import Exit, PrintText, StartDescendant, Step, WaitFor, write_agent

pytestmark = pytest.mark.rule("TK2")


@contextmanager
def _descendant(directory: Path, step: Step, *more: Step) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """An agent that has started its descendant and waits, and the descendant's pid."""
    binary = write_agent(directory / "bin", [step, PrintText("ready"), *(more or (WaitFor("go"),))])
    pipe = subprocess.PIPE
    with subprocess.Popen([binary, "exec", "-"], stdin=pipe, stdout=pipe, stderr=pipe, cwd=directory) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        pid = int((directory / "pid").read_text())
        try:
            yield process, pid
        finally:
            with suppress(ProcessLookupError):  # the test may have ended it, and process 1 waits for it at any moment
                os.kill(pid, signal.SIGKILL)
            process.kill()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_plain_descendant_is_a_child_in_the_group_of_the_agent(tmp_path: Path) -> None:
    with _descendant(tmp_path, StartDescendant("pid")) as (process, pid):
        assert _parent(pid) == process.pid
        assert (os.getpgid(pid), os.getsid(pid)) == (os.getpgid(process.pid), os.getsid(process.pid))
        assert Path(f"/proc/{pid}/environ").read_bytes() == Path(f"/proc/{process.pid}/environ").read_bytes()


def test_a_descendant_can_have_a_session_of_its_own(tmp_path: Path) -> None:
    with _descendant(tmp_path, StartDescendant("pid", session=True)) as (process, pid):
        assert _parent(pid) == process.pid
        assert os.getsid(pid) == os.getpgid(pid) == pid


def test_a_daemon_is_no_child_of_the_agent(tmp_path: Path) -> None:
    with _descendant(tmp_path, StartDescendant("pid", session=True, daemon=True)) as (process, pid):
        assert _parent(pid) != process.pid
        assert os.getsid(pid) not in (pid, os.getsid(process.pid))


def test_a_descendant_can_have_an_empty_environment(tmp_path: Path) -> None:
    with _descendant(tmp_path, StartDescendant("pid", clear_environment=True)) as (_, pid):
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""


def test_a_descendant_can_ignore_signals(tmp_path: Path) -> None:
    with _descendant(tmp_path, StartDescendant("pid", ignore=("SIGTERM", "SIGHUP"))) as (_, pid):
        status = Path(f"/proc/{pid}/status").read_text()
        ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
        wanted = (1 << signal.SIGTERM - 1) | (1 << signal.SIGHUP - 1)
        assert ignored & wanted == wanted


def test_a_descendant_holds_only_the_pipes_that_it_is_told_to(tmp_path: Path) -> None:
    with _descendant(tmp_path, StartDescendant("pid", hold_stdout=True), Exit(0)) as (process, pid):
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.wait(60) == 0
        assert process.stderr.read() == b""
        os.set_blocking(process.stdout.fileno(), False)
        assert process.stdout.read() is None
        os.kill(pid, signal.SIGKILL)
        os.set_blocking(process.stdout.fileno(), True)
        assert process.stdout.read() == b""
