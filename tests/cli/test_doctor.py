"""Test `doctor`: the requirements of a run, which are present, and the advice for the others."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from codex_adapter.agents.codex.places import codex_places
from codex_adapter.agents.codex.releases import NEEDS
from codex_adapter.core.request_checks import CONTAINMENT_LEVELS
from codex_adapter.workspace import find_sandbox
from tests.widths import thinned

from ..needs import missing
from .command import ADAPTER, Cli

pytestmark = pytest.mark.rule("C4")
SECRET = "sk-hunter2hunter2hunter2"
TOOLLESS = "a model without tools"
NEEDED = {need.about for need in NEEDS}


def examine(cli: Cli, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the report."""
    done = cli.run("doctor", "--json", *words)
    assert done.stderr == ""
    assert done.stdout.count(b"\n") == 1
    assert SECRET.encode() not in done.stdout
    return done.status, json.loads(done.stdout)


def finding(report: dict[str, Any], subject: str) -> dict[str, Any]:
    """What was found about one thing."""
    [found] = [entry for entry in report["findings"] if entry["subject"] == subject]
    assert isinstance(found, dict)
    return found


def sandboxed(cli: Cli, *, works: bool, words: str = "sandbox --") -> str:
    """The path of a CLI whose sandbox starts, or does not, behind these words of its command line."""
    path = cli.directory / "codex"
    run = f'"{words} "*) shift {len(words.split())}; exec "$@" ;;' if works else ""
    path.write_text(f'#!/bin/sh\ncase "$* " in --version*) echo codex-cli 0.163.0 ;; {run} *) exit 1 ;; esac\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("words", ["sandbox --", "sandbox linux --"])
def test_it_runs_a_command_in_the_sandbox_of_the_cli(cli: Cli, words: str) -> None:
    cli.env["TMPDIR"] = f"{cli.directory}/tmp"
    status, report = examine(cli, "--codex", sandboxed(cli, works=True, words=words))
    assert (status, report["agent_sandbox"]) == (0, True)
    assert finding(report, "agent sandbox")["state"] == "ok"


def test_a_sandbox_that_cannot_start_is_reported_with_what_to_do(cli: Cli) -> None:
    binary = sandboxed(cli, works=False)
    status, report = examine(cli, "--codex", binary)
    assert (status, report["ok"], report["agent_sandbox"]) == (0, True, False)
    assert "danger-full-access" in finding(report, "agent sandbox")["advice"]
    done = cli.run("doctor", "--codex", binary)
    assert done.stdout.endswith(b"A run can start, but the sandbox of the Codex CLI does not work.\n")
    assert list(cli.directory.glob("**/codex-adapter-doctor-*")) == []


def test_a_login_can_be_required(cli: Cli) -> None:
    binary = cli.agent()
    assert examine(cli, "--codex", binary, "--require-login")[0] == 3
    cli.env["CODEX_API_KEY"] = SECRET
    assert examine(cli, "--codex", binary, "--require-login")[0] == 0
    assert examine(cli, "--codex", "/nowhere", "--require-login")[0] == 1


def test_a_required_login_that_is_missing_is_shown_as_failed(cli: Cli) -> None:
    binary = cli.agent()
    done = cli.run("doctor", "--codex", binary, "--require-login")
    lines = done.stdout.decode().splitlines()
    assert done.status == 3
    assert "FAIL login: no login found" in lines
    assert "A run can start." not in lines
    assert lines[-1].startswith("A run can start, but the required login is missing. Follow the advice on `login`")
    done = cli.run("doctor", "--codex", binary)
    assert b"note login: no login found" in done.stdout


def test_a_key_that_the_cli_does_not_use_is_noted(cli: Cli) -> None:
    cli.env["OPENAI_API_KEY"] = SECRET
    _, report = examine(cli, "--codex", cli.agent())
    assert "OPENAI_API_KEY is set" in finding(report, "login")["found"]
    assert "CODEX_API_KEY" in finding(report, "login")["advice"]


def test_a_binary_that_answers_is_enough_for_a_run(cli: Cli) -> None:
    binary = cli.agent(version="0.163.0")
    status, report = examine(cli, "--codex", binary)
    assert (status, report["ok"]) == (0, True)
    assert report["binary"]["path"] == binary
    assert (report["binary"]["origin"], report["binary"]["version"]) == ("configured", "0.163.0")
    assert report["binary"]["supported"] is True
    assert report["containment"]
    assert all(report[name].count(".") >= 1 for name in ("adapter", "python", "trio", "msgspec"))


@pytest.mark.rule("R1")
@pytest.mark.parametrize(
    ("version", "takes"),
    [
        ("0.44.0", {"approval policy 'on-failure'", "approval policy 'untrusted'"}),
        (
            "0.169.0",
            {"additional directories", "images", "resuming the last session", "forking a session", TOOLLESS, *NEEDED},
        ),
    ],
)
def test_it_tells_what_the_release_takes_of_what_differs(cli: Cli, version: str, takes: set[str]) -> None:
    status, report = examine(cli, "--codex", cli.agent(version=version))
    assert status == 0
    assert {name for name, has in report["binary"]["features"].items() if has} == takes


@pytest.mark.rule("S6")
def test_the_binary_is_found_as_a_run_finds_it(cli: Cli) -> None:
    cli.env["CODEX_BINARY"] = cli.agent()
    assert examine(cli)[1]["binary"]["origin"] == "CODEX_BINARY"


@pytest.mark.parametrize("name", thinned(["nowhere/codex", ".", "plain", "liar"], 2))
@pytest.mark.fault(
    "spawning",
    "doctor examines a program that is not a Codex CLI",
    "It reports one failed finding with advice and exits with status 1",
)
def test_what_is_no_codex_cli_makes_it_fail(cli: Cli, name: str) -> None:
    (cli.directory / "plain").touch()
    liar = cli.directory / "liar"
    liar.write_text(f"#!/bin/sh\necho {SECRET}\n")
    liar.chmod(0o755)
    status, report = examine(cli, "--codex", str(cli.directory / name))
    assert (status, report["ok"]) == (1, False)
    failed = [entry for entry in report["findings"] if entry["state"] == "failed"]
    assert len(failed) == 1
    assert failed[0]["advice"]


@pytest.mark.rule("S8")
def test_a_release_that_is_too_old_makes_it_fail(cli: Cli) -> None:
    status, report = examine(cli, "--codex", cli.agent(version="0.42.0"))
    assert status == 1
    assert "0.44.0" in finding(report, "release")["advice"]


@pytest.mark.rule("S8")
def test_a_build_from_source_is_taken_as_it_is(cli: Cli) -> None:
    status, report = examine(cli, "--codex", cli.agent(version="0.0.0"))
    assert status == 0
    assert finding(report, "release")["state"] == "warning"


@pytest.mark.rule("X1", "X5")
def test_a_login_is_told_without_its_secret(cli: Cli) -> None:
    binary = cli.agent()
    _, report = examine(cli, "--codex", binary)
    assert report["login"] == {"auth_json": False, "config_toml": False, "CODEX_API_KEY": False}
    assert "codex-adapter login" in finding(report, "login")["advice"]
    home = cli.directory / "home"
    home.mkdir()
    (home / "auth.json").write_text(SECRET)
    (home / "config.toml").write_text(SECRET)
    cli.env["CODEX_API_KEY"] = SECRET
    status, report = examine(cli, "--codex", binary, "--codex-home", str(home))
    assert status == 0
    assert report["login"] == {"auth_json": True, "config_toml": True, "CODEX_API_KEY": True}
    assert finding(report, "login")["state"] == "ok"


def test_a_codex_home_that_is_not_there_makes_it_fail(cli: Cli) -> None:
    cli.env["CODEX_HOME"] = str(cli.directory / SECRET)
    status, report = examine(cli, "--codex", cli.agent())
    assert status == 1
    assert "CODEX_HOME" in finding(report, "home")["advice"]


@pytest.mark.rule("N3")
def test_it_tells_the_levels_of_containment_that_this_machine_gives(cli: Cli) -> None:
    _, report = examine(cli, "--codex", cli.agent())
    levels = report["containment_levels"]
    assert levels == [level for level in CONTAINMENT_LEVELS if level in levels]
    assert levels[-1] == "process_group"
    assert report["containment"] == levels[0]
    assert finding(report, "containment")["found"].startswith(levels[0])


@pytest.mark.rule("N3")
@pytest.mark.fault(
    "spawning", "doctor runs on a machine without cgroups and namespaces", "It lists the containment levels that remain"
)
def test_it_does_not_tell_a_level_that_cannot_be_had(cli: Cli) -> None:
    unshare = ("unshare", "-Urm", "sh", "-c")
    if cli.finish(cli.start("true", program=unshare)).status != 0:
        missing("namespaces")
    poorer = 'mount -t tmpfs none /sys/fs/cgroup && echo 0 >/proc/sys/user/max_pid_namespaces && exec "$@"'
    done = cli.run("doctor", "--json", "--codex", cli.agent(), program=(*unshare, poorer, "sh", *ADAPTER))
    report = json.loads(done.stdout)
    assert report["containment_levels"] == ["guard", "process_group"]
    assert report["containment"] == "guard"


@pytest.mark.rule("C4", "H13")
def test_it_tells_whether_there_is_a_sandbox_for_commands(cli: Cli) -> None:
    _, report = examine(cli, "--codex", cli.agent())
    found = find_sandbox(cli.env, agents=(codex_places(cli.agent()),))
    assert report["sandbox"] == ("none" if found is None else found.level)
    # A PATH without bubblewrap, and a CLI that brings none.
    cli.env["PATH"] = str(cli.directory)
    _, report = examine(cli, "--codex", cli.agent())
    assert (report["sandbox"], finding(report, "sandbox")["state"]) == ("none", "warning")
    assert "bubblewrap" in finding(report, "sandbox")["advice"]


def test_a_home_in_the_temporary_directory_is_no_place_for_a_sandbox(cli: Cli) -> None:
    cli.env |= {"TMPDIR": str(cli.directory), "CODEX_HOME": f"{cli.directory}/home"}
    (cli.directory / "home").mkdir(exist_ok=True)
    status, report = examine(cli, "--codex", sandboxed(cli, works=True))
    assert (status, report["agent_sandbox"]) == (0, False)
    [finding] = [finding for finding in report["findings"] if finding["subject"] == "agent sandbox"]
    assert finding["found"] == "CODEX_HOME is in the temporary directory"


def test_the_text_says_the_same(cli: Cli) -> None:
    cli.env["TMPDIR"] = f"{cli.directory}/tmp"
    done = cli.run("doctor", "--codex", sandboxed(cli, works=True))
    assert done.status == 0
    assert done.stdout.endswith(b"\nA run can start.\n")
    assert b"takes: " not in done.stdout
    done = cli.run("doctor", "--verbose", "--codex", cli.agent())
    assert b"supports: additional directories, images" in done.stdout
    assert re.search(rb"\n(ok  |note) containment: ", done.stdout)  # only root has the best one everywhere
    done = cli.run("doctor", "--codex", "/nowhere")
    assert done.status == 1
    assert done.stdout.endswith(b"\nA run cannot start.\n")


def test_without_any_cli_it_says_how_to_get_one(cli: Cli) -> None:
    cli.env["PATH"] = "/nowhere"
    code = "import sys; sys.modules['codex_cli_bin'] = None; from codex_adapter.cli import main; sys.exit(main())"
    done = cli.finish(cli.start("doctor", program=(ADAPTER[0], "-c", code)))
    assert done.status == 1
    assert b"pip install openai-codex-cli-bin" in done.stdout
