"""Test `doctor --orphans`: the list, the kill, and the exit status."""

from __future__ import annotations

import json
import subprocess

import pytest

from codex_adapter.runtime.containment.marks import new_mark, with_mark

from .command import Cli

pytestmark = [pytest.mark.rule("N5", "C4"), pytest.mark.usefixtures("alone_with_orphans")]

SECRET = "hunter2-hunter2"


@pytest.fixture
def orphan_mark() -> str:
    """The mark of an adapter that is gone."""
    return new_mark().replace("-", "-9", 1)


def test_an_orphan_is_listed_and_ended_and_its_arguments_are_not_shown(cli: Cli, orphan_mark: str) -> None:
    command = ["sh", "-c", "sleep 600; :", SECRET]
    with subprocess.Popen(command, env=with_mark({"PATH": "/bin:/usr/bin", "KEY": SECRET}, orphan_mark)) as process:
        listed = cli.run("doctor", "--orphans")
        assert (listed.status, listed.stderr) == (1, "")
        assert f"{process.pid} sh, " in listed.stdout.decode()
        assert "codex-adapter doctor --orphans --kill" in listed.stdout.decode()
        assert process.poll() is None
        ended = cli.run("doctor", "--orphans", "--kill")
        assert ended.stderr == ""
        assert f"ended {process.pid} sh, " in ended.stdout.decode()
        assert process.wait(60) == -9
        assert SECRET.encode() not in listed.stdout + ended.stdout
    again = cli.run("doctor", "--orphans")
    assert f"{process.pid} sh, " not in again.stdout.decode()
    # Any other test can have killed an adapter a moment ago.
    assert again.status == (0 if again.stdout == b"No killed adapter left a process.\n" else 1)


def test_the_report_is_json_on_demand(cli: Cli, orphan_mark: str) -> None:
    with subprocess.Popen(["sleep", "600"], env=with_mark({"PATH": "/bin:/usr/bin"}, orphan_mark)) as process:
        listed = json.loads(cli.run("doctor", "--orphans", "--json").stdout)
        assert listed["ok"] is False
        assert listed["found"] == listed["left"]
        [found] = [orphan for orphan in listed["left"] if orphan["pid"] == process.pid]
        assert (found["name"], found["seconds"] < 600) == ("sleep", True)
        done = cli.run("doctor", "--orphans", "--kill", "--json")
        ended = json.loads(done.stdout)
        assert process.pid in [orphan["pid"] for orphan in ended["found"]]
        assert process.pid not in [orphan["pid"] for orphan in ended["left"]]
        assert (ended["ok"], done.status) == ((True, 0) if ended["left"] == [] else (False, 1))
        process.wait(60)


@pytest.mark.rule("E5")
def test_killing_alone_is_a_misunderstanding(cli: Cli) -> None:
    done = cli.run("doctor", "--kill")
    assert (done.status, done.stdout) == (2, b"")
    assert "--orphans" in done.stderr
