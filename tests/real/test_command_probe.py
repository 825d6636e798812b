"""Test `doctor --probe` with each real CLI, and with real CLIs that a wrapper makes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from codex_adapter.probes.perform import perform
from codex_adapter.probes.verdicts import judge, judge_all
from tests.probes.scripted_agents import SCRIPTED

from ..needs import PROGRAMS, without
from .agents import RealAgent, claude_programs, each_agent, node_path, pi_programs
from .releases import installed

pytestmark = [pytest.mark.real, pytest.mark.rule("C8", "R1")]

LONG: Final = 1200.0
"""Seconds within which all probes must end, also on a machine with much else to do."""
OWN_SERVER: Final = "the CLI uses the model server of its settings"


class RealProgram(NamedTuple):
    """A real CLI: its agent, its file, and the PATH with which it starts."""

    kind: str
    file: Path
    path: str


def programs() -> Iterator[Any]:
    """Yield every real CLI of this machine. The newest Codex CLI belongs to the tests of every change."""
    codex = [(release.binary, str(release)) for release in installed()]
    claude = [(file, _directory(file, 3)) for file in reversed(claude_programs())]
    pi = [(file, _directory(file, 2)) for file in reversed(pi_programs())]
    for kind, found in (("codex", codex), ("claude_code", claude), ("pi", pi)):
        if not found:
            yield pytest.param(None, id=kind, marks=without(PROGRAMS[kind]))
        for number, (file, release) in enumerate(found):
            path = node_path(file) if kind == "pi" else os.environ["PATH"]
            marks = [pytest.mark.smoke] if (kind, number) == ("codex", 0) else []
            yield pytest.param(RealProgram(kind, file, path), id=f"{kind}-{release}", marks=marks)


def _directory(file: Path, above: int) -> str:
    name = file.parents[above].name
    return name if name[:1].isdigit() else "installed"


@pytest.mark.rule("R3")
@pytest.mark.parametrize("program", list(programs()))
def test_no_known_release_breaks_a_promise(program: RealProgram, tmp_path: Path) -> None:
    words = ["doctor", "--probe", "--agent", program.kind, SCRIPTED[program.kind].option, str(program.file)]
    env = {**os.environ, "PATH": program.path, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "codex_adapter", *words]
    done = subprocess.run(command, capture_output=True, check=False, timeout=LONG, env=env)
    *records, summary = [json.loads(line) for line in done.stdout.splitlines()]
    broken = {record["promise"]: record["detail"] for record in records if record.get("state") == "broken"}
    assert broken == {}
    assert (done.returncode, summary["ok"]) == (0, True)
    assert summary["holds"] > 25
    assert list(tmp_path.iterdir()) == []


def wrapped(agent: RealAgent, place: Path, before: str) -> str:
    """Write a script that does something and then becomes the real CLI; return its path."""
    place.mkdir()
    wrapper = place / "cli"
    wrapper.write_text(f'#!/bin/sh\n{before}\nexec "{agent.program}" "$@"\n')
    wrapper.chmod(0o755)
    return str(wrapper)


async def verdicts_of(
    agent: RealAgent, binary: str, root: Path, *names: str, seconds: float = LONG
) -> Mapping[str, tuple[str, str | None]]:
    """Perform some probes of an agent with a program, and return state and detail of each promise."""
    stage = SCRIPTED[agent.kind].stage(binary)
    evidence = []
    found: dict[str, tuple[str, str | None]] = {}
    for probe in stage.probes:
        if probe.name in names:
            seen = await perform(probe, stage, root / probe.name, binary=binary, release=None, seconds=seconds)
            found |= {verdict.promise: (verdict.state, verdict.detail) for verdict in judge(probe, seen, None)}
            evidence.append(seen)
    return found | {verdict.rule: (verdict.state, verdict.detail) for verdict in judge_all(evidence)}


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start pi with the Node.js beside it."""
    programs = pi_programs()
    if programs:
        monkeypatch.setenv("PATH", node_path(programs[-1]))


@each_agent()
@pytest.mark.smoke
@pytest.mark.usefixtures("node")
async def test_a_cli_that_prints_garbage_keeps_all_other_promises(agent: RealAgent, tmp_path: Path) -> None:
    binary = wrapped(agent, tmp_path / "bin", "echo '{\"garbage'")
    found = dict(await verdicts_of(agent, binary, tmp_path, "message"))
    assert found.pop("T1") == ("broken", "lines that cannot be read: 1")
    assert set(found.values()) == {("holds", None)}


@each_agent()
@pytest.mark.rule("K4")
@pytest.mark.usefixtures("node")
async def test_a_cli_that_leaves_a_process_is_contained(agent: RealAgent, tmp_path: Path) -> None:
    leave = '[ "$1" = --version ] || setsid sleep 605 >/dev/null 2>&1 </dev/null &'
    found = await verdicts_of(agent, wrapped(agent, tmp_path / "bin", leave), tmp_path, "left behind", "cancelled")
    assert set(found.values()) == {("holds", None)}


@each_agent()
@pytest.mark.rule("S5")
@pytest.mark.usefixtures("node")
async def test_a_cli_that_ignores_its_settings_reaches_no_other_server(agent: RealAgent, tmp_path: Path) -> None:
    settings = ("CODEX_HOME", "PI_CODING_AGENT_DIR", "CLAUDE_CONFIG_DIR")
    elsewhere = "; ".join(f"export {name}={tmp_path}/elsewhere" for name in settings)
    ignore = f"mkdir -p {tmp_path}/elsewhere; {elsewhere}; unset ANTHROPIC_BASE_URL"
    found = await verdicts_of(agent, wrapped(agent, tmp_path / "bin", ignore), tmp_path, "message", seconds=5)
    state, detail = found[OWN_SERVER]
    assert state == "broken"
    assert "the model server received no request; " in (detail or "")
    assert found["a completed turn ends with status 0 and a final text"][0] == "broken"
