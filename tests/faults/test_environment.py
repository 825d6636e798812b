"""Test that runs succeed with unusual variables, locales and interpreters."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_adapter.testing import (
    ReadPrompt,
    WriteFacts,
    read_facts,
)

from ..cli.command import ADAPTER, Cli
from .circumstances import without_abilities
from .ordinary import PROMPT, TURN, right

PYTHON = (sys.executable,)
MODULE = ("-m", "codex_adapter")


@pytest.mark.rule("S3", "S5", "W1", "W2")
@pytest.mark.parametrize("how", ["argument", "standard input"])
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(
            {"LC_ALL": "C"},
            marks=pytest.mark.fault("environment", "The locale is C", "Prompt, paths and answer keep their bytes"),
        ),
        pytest.param(
            {"LANG": "xx_XX.nonsense", "LC_CTYPE": "\udcff"},
            marks=pytest.mark.fault(
                "environment", "The locale does not exist on the machine", "Prompt, paths and answer keep their bytes"
            ),
        ),
        pytest.param(
            {"PYTHONIOENCODING": "utf-16"},
            marks=pytest.mark.fault(
                "environment",
                "PYTHONIOENCODING sets another encoding for the standard streams",
                "The records are still UTF-8",
            ),
        ),
    ],
    ids=["C", "unknown", "UTF-16"],
)
def test_text_is_the_same_whatever_the_locale(cli: Cli, environment: dict[str, str], how: str) -> None:
    work = cli.directory / "Ünïcode \U0001f600"
    work.mkdir()
    agent = cli.agent(ReadPrompt(), WriteFacts("facts"), *TURN)
    del cli.env["LANG"]
    cli.env |= environment
    words, stdin = ((PROMPT,), b"") if how == "argument" else ((), PROMPT.encode())
    right(cli.run("run", "--codex", agent, "--working-dir", str(work), *words, stdin=stdin))
    facts = read_facts(work / "facts")
    assert (facts.prompt, facts.cwd) == (PROMPT, str(work))


@pytest.mark.rule("Q1", "S3", "S4")
@pytest.mark.fault(
    "environment",
    "The locale is POSIX and Python uses ASCII",
    "A prompt on stdin keeps its bytes; a prompt argument is refused, never changed",
)
def test_text_is_the_same_or_refused_where_only_ascii_can_be_decoded(cli: Cli) -> None:
    work = cli.directory / "Ünïcode \U0001f600"
    work.mkdir()
    agent = cli.agent(ReadPrompt(), WriteFacts("facts"), *TURN)
    cli.env |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = cli.run("run", "--codex", agent, PROMPT, cwd=work)
    assert (done.status, done.completion["error"]["kind"]) == (2, "invalid_request")
    assert not (work / "facts").exists()
    right(cli.run("run", "--codex", agent, stdin=PROMPT.encode(), cwd=work))
    facts = read_facts(work / "facts")
    assert (facts.prompt, facts.cwd) == (PROMPT, str(work))


def no_home(cli: Cli) -> None:
    del cli.env["HOME"]


def home_of_nobody(cli: Cli) -> None:
    (cli.directory / "home").mkdir(mode=0o555)
    cli.env["HOME"] = str(cli.directory / "home")


def home_that_is_a_file(cli: Cli) -> None:
    cli.env["HOME"] = "/dev/null"


def no_path(cli: Cli) -> None:
    del cli.env["PATH"]


def nothing(cli: Cli) -> None:
    cli.env.clear()


def temporary_directory_is_gone(cli: Cli) -> None:
    cli.env["TMPDIR"] = str(cli.directory / "nowhere")


def names_without_values(cli: Cli) -> None:
    cli.env |= {"EMPTY": "", " ": " ", "a b": "=", "RUST_LOG": ""}


@pytest.mark.rule("S5", "C1")
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(no_home, marks=pytest.mark.fault("environment", "HOME is not set", "The run succeeds")),
        pytest.param(
            home_of_nobody, marks=pytest.mark.fault("environment", "HOME is not writable", "The run succeeds")
        ),
        pytest.param(
            home_that_is_a_file, marks=pytest.mark.fault("environment", "HOME is not a directory", "The run succeeds")
        ),
        pytest.param(no_path, marks=pytest.mark.fault("environment", "PATH is not set", "The run succeeds")),
        pytest.param(nothing, marks=pytest.mark.fault("environment", "The environment is empty", "The run succeeds")),
        pytest.param(
            temporary_directory_is_gone,
            marks=pytest.mark.fault(
                "environment",
                "TMPDIR does not exist",
                "The adapter writes the schema file elsewhere and the run succeeds",
            ),
        ),
        pytest.param(
            names_without_values,
            marks=pytest.mark.fault(
                "environment",
                "Environment variables have blank names or empty values",
                "The agent receives them unchanged",
            ),
        ),
    ],
)
def test_a_run_needs_none_of_the_usual_variables(cli: Cli, make: Callable[[Cli], None]) -> None:
    agent = cli.agent(ReadPrompt(), WriteFacts("facts"), *TURN)
    (cli.directory / "schema").write_text("{}")
    make(cli)
    program = (*without_abilities(), *ADAPTER) if make is home_of_nobody else ADAPTER
    right(cli.run("run", "--codex", agent, "--output-schema", "schema", "--", PROMPT, program=program))
    given = read_facts(cli.directory / "facts").env
    assert {name: given.get(name) for name in cli.env} == cli.env
    assert given.keys() - cli.env.keys() <= {"GIT_DIR", "RUST_LOG", "CODEX_ADAPTER_RUN", "LC_CTYPE"}


@pytest.mark.rule("S5")
@pytest.mark.fault(
    "environment", "Names and values of environment variables are not UTF-8", "The agent receives the same bytes"
)
def test_undecodable_variables_reach_the_agent_as_they_are(cli: Cli) -> None:
    agent = cli.agent(ReadPrompt(), WriteFacts("facts"), *TURN)
    odd = {b"ODD": b"\xff\xfe=\xed\xa0\x80", b"N\xe4ME": b"1"}
    env = {os.fsencode(name): os.fsencode(value) for name, value in cli.env.items()} | odd
    right(cli.run("run", "--codex", agent, PROMPT, env=env))
    given = read_facts(cli.directory / "facts").env
    assert {os.fsencode(name): os.fsencode(value) for name, value in given.items()}.items() >= odd.items()


@pytest.mark.rule("S4")
@pytest.mark.fault("environment", "The name of the current directory is not UTF-8", "The agent works in it")
def test_an_undecodable_working_directory_is_the_agents_too(cli: Cli) -> None:
    work = cli.directory / "n\udce4me"
    work.mkdir()
    right(cli.run("run", "--codex", cli.agent(ReadPrompt(), WriteFacts("facts"), *TURN), PROMPT, cwd=work))
    assert read_facts(work / "facts").cwd == str(work)


@pytest.mark.rule("S4")
@pytest.mark.fault("environment", "The paths in CODEX_BINARY and TMPDIR are not UTF-8", "The run succeeds")
def test_undecodable_paths_of_binary_and_temporary_files_are_used(cli: Cli) -> None:
    odd = cli.directory / "n\udce4me"
    odd.mkdir()
    (cli.directory / "schema").write_text("{}")
    binary = Path(cli.agent(ReadPrompt(), WriteFacts("facts"), *TURN)).rename(odd / "codex")
    cli.env |= {"TMPDIR": str(odd), "CODEX_BINARY": str(binary)}
    right(cli.run("run", "--output-schema", "schema", PROMPT))
    argv = read_facts(cli.directory / "facts").argv
    assert argv[argv.index("--output-schema") + 1].startswith(str(odd))
    assert [path.name for path in odd.iterdir()] == ["codex"]


@pytest.mark.rule("C1", "W3")
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            (*PYTHON, "-O", *MODULE),
            marks=pytest.mark.fault("environment", "Python runs with `-O`", "The run succeeds"),
        ),
        pytest.param(
            (*PYTHON, "-OO", *MODULE),
            marks=pytest.mark.fault("environment", "Python runs with `-OO`", "The run succeeds"),
        ),
        pytest.param(
            (*PYTHON, "-W", "error", *MODULE),
            marks=pytest.mark.fault(
                "environment", "Python runs with `-W error`", "The run succeeds and raises no warning"
            ),
        ),
        pytest.param(
            (*PYTHON, "-X", "dev", *MODULE),
            marks=pytest.mark.fault(
                "environment", "Python runs with `-X dev`", "The run succeeds and prints no warning"
            ),
        ),
        pytest.param(
            (*PYTHON, "-I", *MODULE),
            marks=pytest.mark.fault("environment", "Python runs with `-I`", "The run succeeds"),
        ),
        pytest.param(
            (*PYTHON, "-bb", "-B", "-X", "utf8=0", *MODULE),
            marks=pytest.mark.fault(
                "environment", "Python runs with `-bb`, which forbids mixing `bytes` and `str`", "The run succeeds"
            ),
        ),
    ],
    ids=lambda program: program[1],
)
def test_a_run_is_right_under_every_mode_of_the_interpreter(cli: Cli, program: tuple[str, ...]) -> None:
    (cli.directory / "schema").write_text("{}")
    agent = cli.agent(ReadPrompt(), *TURN)
    words = ("run", "--codex", agent, "--output-schema", "schema", "--add-dir", ".", PROMPT)
    right(cli.run(*words, program=program))


@pytest.mark.rule("C1", "P2")
@pytest.mark.fault("environment", "PYTHONDEVMODE is set and every warning is an error", "The run and its agent succeed")
def test_a_run_is_right_where_variables_make_python_strict(cli: Cli) -> None:
    cli.env |= {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
    right(cli.run("run", "--codex", cli.agent(ReadPrompt(), *TURN), PROMPT))


@pytest.mark.rule("N2", "S6")
@pytest.mark.fault(
    "environment",
    "Modules in the working directory have names of the adapter's or the standard library's modules",
    "Neither the guard nor the agent imports them",
)
def test_modules_that_lie_in_the_working_directory_are_not_loaded(cli: Cli) -> None:
    for name in ("socket", "ctypes", "guard", "contextlib", "trio", "codex_adapter"):
        (cli.directory / f"{name}.py").write_text("raise SystemExit(9)")
    cli.env |= {"PYTHONPATH": str(cli.directory)}
    right(cli.run("run", "--codex", cli.agent(ReadPrompt(), *TURN), PROMPT, program=(*PYTHON, "-I", *MODULE)))
