"""Test `demo`: a real run if a CLI is installed, and a run of the scripted agent otherwise."""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path

import pytest

from codex_adapter.testing import Exit, ReadPrompt

from ..needs import missing
from .command import ADAPTER, Cli, until_listening

pytestmark = pytest.mark.rule("C3")
NO_WHEEL = "import sys; sys.modules[{!r}] = None; from codex_adapter.cli import main; sys.exit(main())"


@pytest.fixture
def empty(cli: Cli) -> Path:
    """Where the demo has its temporary files; empty in the end."""
    path = cli.directory / "tmp"
    path.mkdir()
    cli.env["TMPDIR"] = str(path)
    return path


@pytest.mark.smoke
@pytest.mark.real
def test_the_real_cli_runs_offline_and_writes_its_file(cli: Cli, empty: Path) -> None:
    if importlib.util.find_spec("codex_cli_bin") is None:
        missing("codex")
    done = cli.run("demo")
    assert (done.status, done.stderr) == (0, "")
    text = done.stdout.decode()
    assert text.startswith("# The real Codex CLI: ")
    assert "\nx $ cat hello.txt (failed, exit 1" in text
    assert "\nhello.txt contains: Hello from the Codex CLI.\n" in text
    assert "The commands exited with 0, 1, 0." in text
    assert "\nThe agent ended with exit status: 0.\nSession: 0" in text
    assert "\x1b" not in text
    assert list(empty.iterdir()) == []


@pytest.mark.rule("TK2")
@pytest.mark.parametrize(
    ("kind", "package", "name"),
    [("codex", "codex_cli_bin", "the Codex CLI"), ("claude_code", "claude_agent_sdk", "Claude Code"), ("pi", "", "pi")],
)
def test_without_a_cli_it_says_so_and_uses_the_scripted_agent(
    cli: Cli, empty: Path, kind: str, package: str, name: str
) -> None:
    cli.env["PATH"] = "/usr/bin:/bin"
    program = (ADAPTER[0], "-c", NO_WHEEL.format(package))
    done = cli.finish(cli.start("demo", "--agent", kind, program=program))
    assert (done.status, done.stderr) == (0, "")
    text = done.stdout.decode()
    real, title = name.removeprefix("the "), name[:1].upper() + name[1:]
    assert text.startswith(f"# A scripted agent, not the real {real}. {title} was not found: install it with")
    assert f"\nhello.txt contains: Hello from {name}.\n" in text
    assert list(empty.iterdir()) == []


def test_it_fails_when_the_file_was_not_written(cli: Cli, empty: Path) -> None:
    done = cli.run("demo", "--codex", cli.agent(ReadPrompt()))
    assert done.status == 1
    assert b"\nThe agent did not write hello.txt.\n" in done.stdout
    assert list(empty.iterdir()) == []


def test_it_fails_as_the_agent_does(cli: Cli, empty: Path) -> None:
    assert cli.run("demo", "--codex", cli.agent(ReadPrompt(), Exit(3))).status == 3
    done = cli.run("demo", "--codex", "/nowhere")
    assert done.status == 127
    assert b"does not exist" in done.stdout
    assert list(empty.iterdir()) == []


def test_it_keeps_the_workspace_when_asked_to(cli: Cli, empty: Path) -> None:
    done = cli.run("demo", "--keep", "--codex", cli.agent(ReadPrompt()))
    [kept] = empty.iterdir()
    assert f"\nKept: {kept}\n" in done.stdout.decode()
    assert (kept / "workspace").is_dir()


@pytest.mark.rule("E4")
def test_a_signal_ends_it_and_leaves_nothing(cli: Cli, empty: Path) -> None:
    slow = cli.directory / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 100\n")
    slow.chmod(0o755)
    with cli.start("demo", "--codex", str(slow)) as process:
        until_listening(process)
        process.send_signal(signal.SIGTERM)
        done = cli.finish(process)
    assert (done.status, done.stderr) == (143, "")
    assert list(empty.iterdir()) == []
