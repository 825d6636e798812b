"""Test which abilities a user namespace removes from an agent, and the option to run without one."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.widths import thinned

from ..attack.commands import agent, doctor
from ..attack.scene import Scene, scene_in
from ..needs import missing
from .mailbox_desk import done_with

pytestmark = pytest.mark.rule("N3")

NOBODY = "65534"


@pytest.fixture
def scene() -> Iterator[Scene]:
    """The command line as a plain user, whose strongest level takes a user namespace."""
    with scene_in("plain_user") as found:
        if "in a user namespace" not in doctor(found)[0].stdout.decode():
            missing("namespaces")
        yield found


@pytest.fixture
def set_uid_id() -> Iterator[str]:
    """A set-uid copy of `id` that belongs to root."""
    if os.geteuid() != 0:
        missing("root")
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        program = Path(shutil.copy(shutil.which("id") or "", directory))
        program.chmod(0o4755)
        yield str(program)


def seen(scene: Scene, program: str, *options: str) -> list[str]:
    """Return what an agent sees: who owns a file of root, and as whom a set-uid program of root runs."""
    program_of_agent, facts = scene.place / "agent", scene.state / "facts"
    look = f"stat -c %u /etc/passwd; {program} -u"
    program_of_agent.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec echo codex-cli 0.163.0\n{{ {look}; }} > {facts}\n'
    )
    program_of_agent.chmod(0o755)
    done = scene.run("run", "--codex", str(program_of_agent), *options, "hi")
    assert done.records[-1]["outcome"] == "completed", done
    return facts.read_text().split()


@pytest.mark.fault(
    "environment",
    "An agent of an unprivileged user needs ssh or sudo",
    "`--containment-max guard` contains it without a namespace",
)
def test_an_agent_sees_files_and_set_uid_programs_of_root_as_they_are(scene: Scene, set_uid_id: str) -> None:
    user = str(scene.user)
    assert seen(scene, set_uid_id) == [NOBODY, user]
    for level in ("guard", "process_group"):
        assert seen(scene, set_uid_id, "--containment-max", level) == ["0", "0"]
    assert scene.left() == []


@pytest.mark.rule("C4")
def test_doctor_says_what_the_namespace_costs_and_names_the_option(scene: Scene) -> None:
    [found] = [each for each in json.loads(doctor(scene)[0].stdout)["findings"] if each["subject"] == "containment"]
    assert (found["state"], found["found"].split()[0]) == ("warning", "pid_namespace")
    assert "ssh" in found["advice"]
    assert "--containment-max guard" in found["advice"]


@pytest.mark.rule("C9", "J1")
def test_a_daemon_takes_the_option_for_all_of_its_runs(scene: Scene) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "1.0"}}
    line = json.dumps(call).encode() + b"\n"
    for options, level in (((), "pid_namespace"), (("--containment-max", "guard"), "guard")):
        done = scene.run("serve", *options, stdin=line)
        assert done.records[0]["result"]["containment"] == level


@pytest.mark.rule("C11")
def test_commands_of_operations_take_the_option_without_an_agent(scene: Scene) -> None:
    workspace = scene.state / "workspace"
    workspace.mkdir()
    operation = {"type": "shell", "command": "stat -c %u /etc/passwd"}
    text = json.dumps({"protocolVersion": "1.0", "operations": [operation]}).encode()
    # No bubblewrap: neither on PATH, nor beside the CLI.
    scene.cli.env |= {"PATH": without_bubblewrap(scene), "CODEX_BINARY": agent(scene)}
    for options, owner in (((), NOBODY), (("--containment-max", "guard"), "0")):
        words = ("operations", "--workspace", str(workspace), "--policy", "permissive", *options)
        done = scene.run(*words, stdin=text)
        assert [event["stdout"] for record in done.records for event in record["events"]] == [f"{owner}\n"], done


@pytest.mark.rule("I17", "C12")
def test_the_command_that_answers_is_in_no_user_namespace(scene: Scene) -> None:
    workspace, seen_by_it = scene.state / "workspace", scene.state / "seen"
    workspace.mkdir()
    answer = scene.place / "answer.txt"
    answer.write_text(done_with("Nothing to do."))
    command = f"stat -c %u /etc/passwd > {seen_by_it}; cat {answer}"
    words = ("--workspace", str(workspace), "--mailbox", str(scene.state / "mailbox"), "--answer", command)
    done = scene.run("mailbox", "start", *words, "Do nothing.")
    assert done.status == 0, done
    assert seen_by_it.read_text() == "0\n"


@pytest.mark.rule("E5")
@pytest.mark.parametrize("command", thinned(["run", "serve", "operations", "mailbox", "turn"], 2))
def test_a_strongest_level_that_is_weaker_than_the_weakest_is_refused(command: str, scene: Scene) -> None:
    words = {
        "run": ("hi",),
        "operations": ("--workspace", str(scene.state)),
        "mailbox": ("start", "--workspace", str(scene.state), "--mailbox", str(scene.place / "box"), "Do it."),
        "turn": ("--space", "space:path:.", "hi"),
    }
    given = (*words.get(command, ()), "--containment", "guard", "--containment-max", "process_group")
    done = scene.run(command, *given)
    assert done.status == 2
    assert "--containment-max must be at least as strong as --containment" in done.stderr + done.stdout.decode()


def without_bubblewrap(scene: Scene) -> str:
    """Return a PATH with the few programs that are needed, and no bubblewrap."""
    programs = scene.place / "programs"
    programs.mkdir()
    for name in ("sh", "stat"):
        (programs / name).symlink_to(shutil.which(name) or "")
    return f"{programs}:{Path(sys.executable).parent}"
