"""Test the oracle: it finds processes that hide in the usual ways, and reports clean runs as clean."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ..needs import missing
from ..waiting import until
from .oracle import Oracle, Process

pytestmark = [pytest.mark.real, pytest.mark.rule("K4")]

HIDING = {
    "a child": "exec sleep 600",
    "a session of its own": "setsid sleep 600 & read line",
    "an orphan": "(sleep 600 >/dev/null <&- &) ; read line",
    "no environment": "env -i sleep 600 & read line",
    "an orphan without an environment": "(setsid env -i sh -c 'sleep 600; true' WORD >/dev/null <&- &) ; read line",
}


@contextmanager
def _marked(oracle: Oracle, command: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {"PATH": os.environ["PATH"], **oracle.environment}
    with subprocess.Popen(["sh", "-c", command], env=environment, stdin=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            oracle.kill()


@pytest.mark.parametrize("way", HIDING)
def test_a_process_is_found_and_then_not_any_more(way: str) -> None:
    oracle = Oracle()
    with _marked(oracle, HIDING[way].replace("WORD", oracle.word)) as process:
        until(lambda: _sleepers(oracle))
        sleepers = _sleepers(oracle)
        assert ("sleep", "600") in oracle.left()
        assert os.getpid() not in [p.pid for p in oracle.look()]
        if process.pid not in sleepers:
            process.kill()
            process.wait()
            assert ("sleep", "600") in oracle.left()
    assert oracle.left() == []


def test_a_stranger_that_has_entered_a_namespace_of_the_run_is_found() -> None:
    flags = [] if os.geteuid() == 0 else ["--user"]
    new = ["unshare", *flags, *(["--map-root-user"] if flags else []), "--pid", "--fork", "--kill-child"]
    if subprocess.run([*new, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        missing("namespaces")
    oracle = Oracle()
    with _marked(oracle, f"exec {' '.join(new)} sh -c 'read line; true'"):
        inside = _wait_for(oracle, "sh")
        enter = ["nsenter", *flags, "--pid", f"--target={inside.pid}", "sleep", "601"]
        with subprocess.Popen(enter, env={"PATH": os.environ["PATH"]}) as process:
            assert _wait_for(oracle, "sleep").namespace == inside.namespace != Oracle()._home
            assert process.pid not in [found.pid for found in oracle.look()]
            oracle.kill()
    assert oracle.left() == []


def _sleepers(oracle: Oracle) -> list[int]:
    return [process.pid for process in oracle.look() if process.argv == ("sleep", "600")]


def _wait_for(oracle: Oracle, name: str) -> Process:
    found: list[Process] = []

    def is_there() -> bool:
        found.extend(p for p in oracle.look() if p.argv[:1] == (name,) and p.namespace != oracle._home)
        return bool(found)

    until(is_there)
    return found[0]


def test_a_process_that_was_not_waited_for_is_left() -> None:
    oracle = Oracle()
    with subprocess.Popen(["sleep", "600"], env={**os.environ, **oracle.environment}) as process:
        assert oracle.look()
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert oracle.left() == [("a zombie",)]
    assert oracle.left() == []


def test_a_pipe_that_was_not_closed_is_left() -> None:
    oracle = Oracle()
    ends = os.pipe()
    assert len(oracle.left()) == 1
    for end in ends:
        os.close(end)
    assert oracle.left() == []
