"""Test which modules a start loads, as lists from fresh interpreters."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

import codex_adapter

pytestmark = pytest.mark.rule("V1")

PACKAGE = "codex_adapter"
REQUIRED = "import trio, msgspec, typing_extensions"
LIST = """
import os, sys
{before}
known = set(sys.modules)
try:
    exec({program!r})
except SystemExit:
    pass
found = sorted(set(sys.modules) - known)
import json
os.write(2, json.dumps(found).encode())
"""

VOCABULARY = {PACKAGE, *(f"{PACKAGE}.{name}" for name in ("errors", "events", "hints", "request", "tool_calls"))}
FOR_AGENTS = {
    f"{PACKAGE}.{name}"
    for name in (
        "own_directories",
        "runtime.agent_home",
        "runtime.login_files",
        "runtime.mount_notes",
        "runtime.mount_targets",
        "runtime.private_file",
        "runtime.program_output",
        "runtime.programs",
        "runtime.releases",
        "runtime.request_files",
    )
}
NOT_OF_A_RUN = {
    f"{PACKAGE}.runtime.containment.{name}" for name in ("guard", "guard_processes", "guard_program", "orphans")
} | {f"{PACKAGE}.runtime.gateway", f"{PACKAGE}.runtime.session_expectation", *FOR_AGENTS}
OTHER_PARTS_OF_AN_AGENT = (f"{PACKAGE}.agents.codex.harness", f"{PACKAGE}.agents.codex.probes", f"{PACKAGE}.probes")
COMMAND = {f"{PACKAGE}.records", f"{PACKAGE}.cli"} | {
    f"{PACKAGE}.cli.{name}"
    for name in (
        *("arguments", "commands", "errors", "drive_run", "logs", "process_settings"),
        *("forced_exit", "output", "signals", "present", "present.views"),
    )
}
OF_AGENTS = {f"{PACKAGE}.{name}" for name in ("agent", "options", "cli.agent_options", "cli.option_names")}
BARE_COMMAND = {PACKAGE, *(f"{PACKAGE}.{name}" for name in ("cli", "cli.errors", "runtime", "runtime.exhaustion"))}


@pytest.fixture(scope="module")
def run(package: dict[str, str]) -> set[str]:
    """What any run needs of ours, besides the core."""
    runtime = {module.removesuffix(".__init__") for module in package if module.startswith(f"{PACKAGE}.runtime")}
    return VOCABULARY | {f"{PACKAGE}.{name}" for name in ("agent", "file_systems", "runs")} | runtime - NOT_OF_A_RUN


def test_the_package_by_itself_is_one_module() -> None:
    assert ours(loaded("import codex_adapter")) == {PACKAGE}


@pytest.mark.rule("P2")
def test_what_opens_a_run_loads_nothing_of_the_standard_library_that_trio_and_msgspec_do_not(run: set[str]) -> None:
    modules = loaded("from codex_adapter import open_run", REQUIRED)
    assert modules - ours(modules) == set()
    assert without_core(ours(modules)) == run


@pytest.mark.rule("P2")
def test_all_public_names_together_load_no_other_layer(run: set[str]) -> None:
    modules = loaded("from codex_adapter import *", REQUIRED)
    assert modules - ours(modules) == set()
    assert without_core(ours(modules)) == run | {*FOR_AGENTS, f"{PACKAGE}.runtime.gateway", f"{PACKAGE}.text"}


@pytest.mark.rule("P4")
@pytest.mark.parametrize("name", ["Pipeline", "read_thread_events", "RunRequest", "Event", "BackendError"])
def test_what_needs_no_event_loop_loads_none(name: str) -> None:
    assert not {"trio", "asyncio"} & loaded(f"from codex_adapter import {name}; import codex_adapter.records")


def test_a_run_loads_a_parser_of_arguments_and_nothing_of_the_other_commands(tmp_path: Path, run: set[str]) -> None:
    agent = tmp_path / "codex"
    agent.write_text("#!/bin/sh\nexec cat >/dev/null\n")
    agent.chmod(0o755)
    modules = loaded(command("run", "--codex", str(agent), "x"), REQUIRED)
    assert modules - ours(modules) <= {"argparse", "gettext", "locale", "_locale"}
    added = {f"{PACKAGE}.cli.{name}" for name in ("run", "run.command", "run.options", "inputs", "prompts")}
    assert without_core(ours(modules)) == run | COMMAND | OF_AGENTS | FOR_AGENTS | added


def test_a_replay_loads_no_options_of_a_run(tmp_path: Path, run: set[str]) -> None:
    recording = tmp_path / "recorded.jsonl"
    recording.write_text('{"type":"turn.started"}\n')
    modules = loaded(command("replay", str(recording)), REQUIRED)
    assert modules - ours(modules) <= {"argparse", "gettext", "locale", "_locale"}
    assert without_core(ours(modules)) == run | COMMAND | OF_AGENTS | FOR_AGENTS | {f"{PACKAGE}.cli.replay"}


@pytest.mark.rule("C1")
@pytest.mark.parametrize("words", [["--help"], ["-h"], [], ["rum"]])
def test_help_and_a_mistaken_command_load_no_event_loop(words: Sequence[str]) -> None:
    modules = loaded(command(*words))
    assert ours(modules) == BARE_COMMAND
    assert not {"trio", "msgspec", "argparse", "asyncio", "subprocess", "socket"} & modules


@pytest.mark.rule("N2")
def test_a_guard_loads_little(root: Path) -> None:
    guard = str(root / PACKAGE / "runtime" / "containment" / "guard.py")
    program = f"""
import sys
sys.argv = ["guard.py", "guard", "", "", "", "not a number"]
try:
    exec(open({guard!r}).read(), {{"__name__": "__main__", "__file__": {guard!r}}})
except ValueError:
    pass
"""
    modules = loaded(program, "", "-S")
    assert ours(modules) == {PACKAGE} | {
        f"{PACKAGE}.runtime.containment{name}" for name in ("", ".guard_program", ".guard_processes")
    }
    assert not {"socket", "subprocess", "selectors", "re", "typing", "pathlib", "dataclasses", "site"} & modules


@pytest.mark.rule("P1")
def test_checkers_and_interpreters_find_each_name_in_the_same_place(package: dict[str, str]) -> None:
    homes = {
        alias.name: node.module
        for node in ast.walk(ast.parse(package[f"{PACKAGE}.__init__"]))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith(PACKAGE)
        for alias in node.names
    }
    assert sorted(homes) == sorted(codex_adapter.__all__)
    for name, home in homes.items():
        assert getattr(codex_adapter, name) is getattr(import_module(home), name)
    assert set(homes) <= set(dir(codex_adapter))


@pytest.mark.rule("P1")
def test_a_name_that_is_not_there_is_missed_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'codex_adapter' has no attribute 'open_runs'"):
        codex_adapter.open_runs  # type: ignore[attr-defined] # noqa: B018 - a checker misses it too


def command(*words: str) -> str:
    return f"from codex_adapter.cli import main; main({list(words)!r})"


def loaded(program: str, before: str = "", *options: str) -> set[str]:
    """The modules that a program loads after what came before."""
    source = LIST.format(program=program, before=before)
    done = subprocess.run(
        [sys.executable, "-I", *options, "-c", source],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    listed = done.stderr.splitlines()[-1]
    return set(json.loads(listed))


def ours(modules: set[str]) -> set[str]:
    return {module for module in modules if module.split(".")[0] == PACKAGE}


def without_core(modules: set[str]) -> set[str]:
    """All but the core and the agent's folder; of the folder, nothing of its harness and its probes."""
    assert not {module for module in modules if module.startswith(OTHER_PARTS_OF_AN_AGENT)}
    return {module for module in modules if module.split(".")[1:2] not in (["core"], ["agents"])}
