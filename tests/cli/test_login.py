"""Test `login` with the CLI that runs use."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import Cli

pytestmark = pytest.mark.rule("C16")


@pytest.fixture
def codex(tmp_path: Path) -> Path:
    """A CLI that prints its arguments, its home and its input, and exits with 7."""
    path = tmp_path / "codex"
    path.write_text('#!/bin/sh\necho "$@" home=$CODEX_HOME\ncat\nexit 7\n')
    path.chmod(0o755)
    return path


def test_it_becomes_the_login_of_the_cli_with_its_arguments_streams_and_status(cli: Cli, codex: Path) -> None:
    home = cli.directory / "of" / "cli"
    words = ("--codex", str(codex), "--codex-home", str(home))
    done = cli.run("login", *words, "--", "--with-api-key", "x", stdin=b"key\n")
    assert (done.status, done.stderr) == (7, "")
    assert done.stdout == f"login --with-api-key x home={home}\nkey\n".encode()


@pytest.mark.rule("C22")
def test_a_new_home_is_made_for_its_owner_alone(cli: Cli, codex: Path) -> None:
    cli.env["CODEX_HOME"] = "by/variable"
    assert cli.run("login", "--codex", str(codex)).status == 7
    assert (cli.directory / "by" / "variable").stat().st_mode & 0o777 == 0o700
    done = cli.run("login", "--codex", str(codex), "--codex-home", "/dev/null/x")
    assert (done.status, done.stdout) == (2, b"")
    assert "The directory in --codex-home or CODEX_HOME cannot be created" in done.complaint


def test_it_takes_the_binary_that_a_run_takes(cli: Cli, codex: Path) -> None:
    cli.env["CODEX_BINARY"] = str(codex)
    assert cli.run("login").stdout == b"login home=\n"


@pytest.mark.parametrize("what", ["missing", "not executable", "not a program"])
def test_a_cli_that_cannot_be_executed_gives_the_next_step(cli: Cli, codex: Path, what: str) -> None:
    if what == "missing":
        codex.unlink()
    elif what == "not executable":
        codex.chmod(0o644)
    else:
        codex.write_text("#!/no/such/interpreter\n")
    done = cli.run("login", "--codex", str(codex))
    assert done.status == 2
    assert str(codex) not in done.complaint
    assert "config." not in done.complaint
