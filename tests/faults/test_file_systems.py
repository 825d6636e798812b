"""Test runs with unusual directories and file systems: success, or a typed error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from codex_adapter.testing import (
    Exit,
    ReadPrompt,
    WriteFacts,
    read_facts,
)

from ..cli.command import ADAPTER, Cli
from ..runtime.agents import write_turn
from .circumstances import after, in_namespace, needs, without_abilities
from .ordinary import IO, PROMPT, TURN, right

PYTHON = (sys.executable,)
MODULE = ("-m", "codex_adapter")


def deep(directory: Path, size: int) -> Path:
    """A directory whose path has so many bytes; made step by step, since the path may be longer than any call takes."""
    whole, rest = divmod(size - len(os.fsencode(directory)), 200)
    names = ["d" * 199] * (whole - 1) + ["d" * (rest + 99), "d" * 99]
    parent = os.open(directory, os.O_PATH)
    for name in names:
        os.mkdir(name, dir_fd=parent)
        child = os.open(name, os.O_PATH, dir_fd=parent)
        os.close(parent)
        parent = child
    os.close(parent)
    return Path(directory, *names)


@pytest.mark.rule("S4", "W3")
@pytest.mark.fault("environment", "The path of the current directory has the maximum length", "The agent works in it")
def test_a_working_directory_with_the_longest_path_is_the_agents_too(cli: Cli) -> None:
    work = deep(cli.directory, 4085)
    right(cli.run("run", "--codex", cli.agent(ReadPrompt(), WriteFacts("facts"), *TURN), PROMPT, cwd=work))
    assert read_facts(work / "facts").cwd == str(work)


@pytest.mark.rule("S4", "W3")
@pytest.mark.fault(
    "environment",
    "The path of the current directory exceeds the limit of system calls",
    "The run succeeds, or an error names the directory",
)
def test_a_working_directory_with_too_long_a_path_is_refused_at_most(cli: Cli) -> None:
    work = deep(cli.directory, 5000)
    step = after(f"for name in {work.relative_to(cli.directory).parts!r}: os.chdir(name)")
    done = cli.run("run", "--codex", cli.agent(ReadPrompt(), *TURN), PROMPT, program=(*step, *ADAPTER))
    assert done.status in (0, 2, 125)
    assert done.completion
    assert done.status == 0 or "directory" in done.complaint


@pytest.mark.rule("S4", "E1", "W3")
@pytest.mark.fault(
    "environment",
    "The current directory was deleted and the request names no other",
    "The adapter raises BackendError `io` with advice; the status is 125",
)
def test_a_deleted_directory_is_an_io_error(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), *TURN)
    gone = str(cli.directory / "gone")
    program = (*after(f"os.mkdir({gone!r})\nos.chdir({gone!r})\nos.rmdir({gone!r})"), *PYTHON, "-P", *MODULE)
    done = cli.run("run", "--codex", agent, PROMPT, program=program)
    assert (done.status, done.completion["error"]["message"]) == (125, IO)
    assert "working" in done.complaint
    right(cli.run("run", "--codex", agent, "--working-dir", str(cli.directory), PROMPT, program=program))


@pytest.mark.rule("C1", "S4")
@pytest.mark.fault(
    "environment",
    "site-packages, HOME, CODEX_HOME, TMPDIR and the working directory are read-only",
    "A run that writes nothing succeeds",
)
def test_a_run_needs_to_write_nothing(cli: Cli) -> None:
    read_only = in_namespace("mount -o remount,bind,ro /")
    needs(read_only)
    cli.env["CODEX_HOME"] = str(cli.directory)
    right(cli.run("run", "--codex", cli.agent(ReadPrompt(), *TURN), PROMPT, program=(*read_only, *ADAPTER)))


@pytest.mark.rule("Q3", "S10", "W3")
@pytest.mark.fault(
    "environment",
    "No temporary directory is writable",
    "The adapter raises BackendError `io` with advice; the status is 125",
)
def test_a_schema_without_any_temporary_directory_is_an_io_error(cli: Cli) -> None:
    read_only = in_namespace("mount -o remount,bind,ro /")
    needs(read_only)
    (cli.directory / "schema").write_text("{}")
    words = ("run", "--codex", cli.agent(ReadPrompt(), *TURN), "--output-schema", "schema", PROMPT)
    done = cli.run(*words, program=(*read_only, *ADAPTER))
    assert (done.status, done.completion["error"]["message"]) == (125, IO)
    assert "temporary directory" in done.complaint


@pytest.mark.rule("N1", "N2", "E3")
@pytest.mark.fault(
    "environment", "`/proc` does not exist", "The run succeeds at a containment level that does not need it"
)
def test_a_run_needs_no_proc(cli: Cli) -> None:
    hidden = in_namespace("mount -t tmpfs none /proc")
    needs(hidden)
    agent = cli.agent(ReadPrompt(), *TURN, Exit(3))
    done = cli.run("run", "--codex", agent, PROMPT, program=(*hidden, *ADAPTER))
    assert (done.status, done.stderr) == (3, "")
    assert done.completion["status"] == {"code": 3, "signal": None}


@pytest.mark.rule("N1", "N2", "K4")
@pytest.mark.fault(
    "environment",
    "`/proc` and namespaces do not exist, and the agent leaves a child in its process group",
    "The adapter kills the child without a hang",
)
def test_without_proc_and_namespaces_a_child_in_the_agents_group_is_killed(cli: Cli) -> None:
    hidden = in_namespace("echo 0 >/proc/sys/user/max_pid_namespaces && mount -t tmpfs none /proc")
    needs(hidden)
    agent = cli.directory / "codex"
    agent.write_text("#!/bin/sh\nsleep 600 >/dev/null 2>&1 </dev/null &\nexit 3\n")
    agent.chmod(0o755)
    done = cli.run("run", "--codex", str(agent), PROMPT, program=(*hidden, *ADAPTER))
    assert (done.status, done.stderr) == (3, "")


@pytest.mark.rule("Q3", "S10")
@pytest.mark.parametrize(
    "umask",
    [
        pytest.param(
            "0777",
            marks=pytest.mark.fault(
                "environment", "The umask is 0777", "The agent can read the schema and other users cannot"
            ),
        ),
        pytest.param(
            "0000", marks=pytest.mark.fault("environment", "The umask is 0000", "Other users cannot read the schema")
        ),
    ],
)
def test_the_schema_file_is_private_and_readable_whatever_the_umask(cli: Cli, umask: str) -> None:
    needs(without_abilities())
    (cli.directory / "schema").write_text('{"a":1}')
    write_turn(cli.directory / "turn", answer="{}")
    agent = cli.directory / "codex"
    tell = 'stat -c %a "${word%/*}" "$word"; cat "$word"'
    look = f"for word; do case $last in --output-schema) {tell};; esac; last=$word; done"
    agent.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit\numask 022\n{{ {look}; }} >seen 2>&1\ncat turn\n')
    agent.chmod(0o755)
    words = ("run", "--codex", str(agent), "--output-schema", "schema", PROMPT)
    program = (*without_abilities(), *after(f"os.umask(0o{umask})"), *ADAPTER)
    assert cli.run(*words, program=program).status == 0
    assert (cli.directory / "seen").read_text() == '700\n600\n{"a":1}'
