"""Test the options of `turn` and `space`: early refusals, and options that continue a conversation."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_adapter.cli import main
from codex_adapter.testing import PrintJson, ReadPrompt, WriteFacts, WriteFile, read_facts
from codex_adapter.testing.thread_lines import THREAD_ID, agent_message, thread_started, turn_completed, turn_started

from ..rows import rows
from ..spaces.spaces_stage import make_space
from .command import Cli, Done, write_confinement

pytestmark = pytest.mark.rule("C13", "E5")
SECRET = "hunter2-hunter2"
TURN = ("turn", "--space", "space:path:house")

Try = Callable[..., Done]


@pytest.fixture
def attempt(cli: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Try:
    """A command line in this process, for speed; an agent, or an `aspHome`, would leave a mark."""
    make_space(cli.directory / "house", "house")
    for name, value in {**cli.env, "CODEX_BINARY": cli.agent(ReadPrompt(), WriteFile("started"))}.items():
        monkeypatch.setenv(name, value)
    for name in ("ASP_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(cli.directory)

    def attempt(*words: str) -> Done:
        there = sorted(path.name for path in cli.directory.iterdir())
        status = main(words)
        stdout, stderr = capfd.readouterr()
        assert "hunter2" not in stdout + stderr
        assert sorted(path.name for path in cli.directory.iterdir()) == there
        return Done(status, stdout.encode(), stderr)

    return attempt


@rows(
    ("words", "told"),
    [
        *(
            (("--" + name, ""), f"--{name} must not be empty")
            for name in ("session", "model", "cwd", "attach", "codex", "codex-home", "asp-home", "mask", "containment")
        ),
        *((("--" + name, SECRET), f"--{name} must be a number of seconds") for name in ("timeout", "idle-timeout")),
        (("--timeout", "-1"), "--timeout must be a finite number of seconds"),
        (("--idle-timeout", "-1"), "--idle-timeout must be a finite number of seconds, zero or more"),
        (("--tool-timeout", "nan"), "--tool-timeout must be a finite number of seconds"),
        (("--containment", SECRET), "--containment must be one of cgroup"),
        (("--timeout", "1", "--timeout", "2"), "--timeout occurs twice"),
        (("--codex-home", SECRET), "--codex-home is not a directory"),
        (("--codex-home", "house/space.toml"), "--codex-home is not a directory"),
        (
            ("--env", f"CODEX_HOME={SECRET}"),
            "--env: CODEX_HOME is reserved for the conversation. To select a login, use --codex-home",
        ),
        (("--env", f"CODEX_SQLITE_HOME={SECRET}"), "--env: CODEX_SQLITE_HOME is reserved for the conversation"),
        (("--env", f"={SECRET}"), "--env must be NAME=VALUE or NAME"),
        (("--asp-home", f"~/{SECRET}"), "--asp-home, or ASP_HOME, begins with ~, which the shell did not expand"),
        (("--cwd", SECRET), "--cwd: the directory does not exist"),
        (("--target", "review"), "Specify either --space, once or more, or --target"),
        (("--target-dir", "."), "--target-dir needs --target"),
        (("--harness", SECRET), "--harness must be agent-sdk, codex or pi-sdk"),
    ],
)
def test_what_would_be_silently_something_else_is_refused(attempt: Try, words: tuple[str, ...], told: str) -> None:
    done = attempt(*TURN, *words, "Hi.")
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith(told)


@pytest.mark.parametrize("name", ["target", "target-dir"])
def test_a_target_has_a_name_and_a_directory(attempt: Try, name: str) -> None:
    words = {"target": "review", "target-dir": "."} | {name: ""}
    done = attempt("turn", *(f"--{option}={value}" for option, value in words.items()), "Hi.")
    assert (done.status, done.complaint.partition(".")[0]) == (2, f"--{name} must not be empty")


@pytest.mark.rule("C14")
@pytest.mark.parametrize("command", [(*TURN, "Hi."), ("space", "check", "house")])
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"HOME": ""}, "--asp-home is missing, and HOME is not set"),
        ({"HOME": "hunter2"}, "--asp-home is missing, and HOME is not set"),
        ({"ASP_HOME": "~/hunter2"}, "--asp-home, or ASP_HOME, begins with ~"),
        ({"ASP_HOME": "hunter2-\udcff"}, "--asp-home must be UTF-8"),
    ],
)
def test_a_home_that_nobody_meant_is_not_made(
    attempt: Try,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    settings: dict[str, str],
    told: str,
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    done = attempt(*command)
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith(told)


@pytest.mark.fault(
    "environment", "CODEX_HOME is not a directory", "The command refuses the turn, which would have no login"
)
def test_a_home_of_codex_in_the_environment_has_to_be_there(attempt: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", SECRET)
    done = attempt(*TURN, "Hi.")
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith("CODEX_HOME is not a directory. Create it")


@pytest.mark.parametrize("empty", ["ASP_HOME", "CODEX_HOME"])
def test_a_variable_that_is_empty_is_none(cli: Cli, empty: str) -> None:
    make_space(cli.directory / "house", "house")
    (cli.directory / "work").mkdir()
    write_confinement(cli.directory / ".codex")
    cli.env |= {"CODEX_BINARY": cli.agent(ReadPrompt(), WriteFile("started")), empty: ""}
    cli.run(*TURN, "--cwd", "work", "Hi.")
    assert (cli.directory / "work" / "started").exists()
    assert (cli.directory / ".asp" / "state").is_dir()


def test_the_way_on_has_all_that_holds_for_more_than_one_turn(cli: Cli) -> None:
    make_space(cli.directory / "house", "house")
    (cli.directory / "work").mkdir()
    write_confinement(cli.directory / "own")
    lines = (thread_started(THREAD_ID), turn_started(), agent_message("item_0", "Ah."), turn_completed())
    binary = cli.agent(ReadPrompt(), WriteFacts("facts"), *map(PrintJson, lines))
    given = ["--timeout", "60", "--idle-timeout", "0.5e2", "--tool-timeout", "40", "--containment", "process_group"]
    given += ["--containment-max", "guard"]
    secret = ["--env", f"A_TOKEN={SECRET}", "--mask", "A_TOKEN"]
    codex = ["--codex", os.path.relpath(binary, cli.directory), "--codex-home", "own", "--asp-home", "asp"]
    done = cli.run(*TURN, *given, *secret, *codex, "--cwd", "work", "--format", "pretty", "Hi.")
    assert (done.status, done.stderr) == (0, "")
    told = done.stdout.decode().splitlines()[-1]
    assert SECRET not in told
    way = shlex.split(told.removeprefix("# to continue: codex-adapter "))
    assert way == [
        *("turn", "--session", THREAD_ID, "--space", f"space:path:{cli.directory}/house"),
        *("--asp-home", f"{cli.directory}/asp", "--cwd", f"{cli.directory}/work"),
        *("--codex", binary, "--codex-home", f"{cli.directory}/own"),
        *("--timeout", "60", "--idle-timeout", "50", "--tool-timeout", "40", "--mask", "A_TOKEN"),
        *("--containment", "process_group", "--containment-max", "guard"),
    ]
    facts = read_facts(cli.directory / "work" / "facts")
    assert facts.env["A_TOKEN"] == SECRET
    (cli.directory / "work" / "facts").unlink()
    home = Path(facts.env["CODEX_HOME"])
    (home / "sessions").mkdir(exist_ok=True)
    (home / "sessions" / f"rollout-2026-01-01T00-00-00-{THREAD_ID}.jsonl").write_text('{"type":"session_meta"}\n')
    elsewhere = cli.directory / "own"
    again = cli.finish(cli.start(*way, "--env", f"A_TOKEN={SECRET}", "And?", cwd=elsewhere))
    assert (again.status, again.stderr) == (0, "")
    assert read_facts(cli.directory / "work" / "facts").env["CODEX_HOME"] == str(home)
