"""Test directories that commands create for their own records, and directories that must exist."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_adapter.testing import ReadPrompt, WriteFile
from tests.widths import thinned

from ..spaces.spaces_stage import make_space
from .command import Cli, write_confinement

pytestmark = pytest.mark.rule("C22")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (("serve", "--journal", "a/b/runs"), "a/b/runs"),
        (("operations", "--workspace", "w", "--state", "a/b/state.db"), "a/b"),
        (("mailbox", "start", "--workspace", "w", "--mailbox", "a/b/box", "--no-wait", "Do it."), "a/b/box"),
        (("turn", "--space", "space:path:house", "--asp-home", "a/asp", "--cwd", "w", "Do it."), "a/asp"),
    ],
)
@pytest.mark.fault(
    "environment",
    "The directory for a command's own records does not exist",
    "The command creates it and those above it with access for its owner only, whatever the umask is",
)
def test_a_directory_for_our_own_records_is_made(cli: Cli, words: tuple[str, ...], made: str) -> None:
    cli.env["CODEX_BINARY"] = cli.agent(ReadPrompt())
    make_space(cli.directory / "house", "house")
    (cli.directory / "w").mkdir()
    write_confinement(cli.directory / ".codex")
    cli.finish(cli.start(*words, preexec_fn=lambda: os.umask(0)))
    place = cli.directory / made
    assert [mode(each) for each in (place, *place.parents) if each.is_relative_to(cli.directory / "a")] == [0o700] * (
        made.count("/") + 1
    )


@pytest.mark.parametrize(
    "words",
    thinned(
        [
            (("serve", "--journal=~/runs"),),
            (("operations", "--workspace", ".", "--state=~/state.db"),),
            (("mailbox", "start", "--workspace", ".", "--mailbox=~/box", "Do it."),),
            (("turn", "--space", "space:path:house", "--asp-home=~/asp", "Do it."),),
            (("login", "--codex-home=~/codex"),),
        ],
        2,
    ),
)
@pytest.mark.rule("E5")
def test_no_directory_is_made_by_the_name_of_a_tilde(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli.run(*words)
    assert (done.status, done.stdout) == (2, b"")
    assert "begins with ~, which the shell did not expand. Use an absolute path, or ./~" in done.complaint
    assert not any(path.name.startswith("~") for path in cli.directory.iterdir())


@pytest.mark.parametrize(
    ("words", "complaint"),
    thinned(
        [
            (("run", "--working-dir", "gone", "Hi."), "--working-dir must be an existing directory"),
            (("run", "--codex-home", "gone", "Hi."), "CODEX_HOME is not a directory"),
            (("operations", "--workspace", "gone"), "--workspace: the directory does not exist. Create it first"),
            (("operations", "--audit", "--state", "gone/state.db"), "--state: "),
            (("mailbox", "resume", "--mailbox", "gone"), "the mailbox does not exist"),
            (("mailbox", "status", "--mailbox", "gone"), "the mailbox does not exist"),
            (("turn", "--space", "space:path:house", "--cwd", "gone", "Hi."), "--cwd: the directory does not exist"),
            (("turn", "--space", "space:path:house", "--codex-home", "gone", "Hi."), "--codex-home is not a directory"),
            (("run", "--last-message", "gone/answer", "Hi."), "--last-message"),
        ],
        2,
    ),
)
def test_any_other_directory_that_does_not_exist_is_an_error(cli: Cli, words: tuple[str, ...], complaint: str) -> None:
    cli.env["CODEX_BINARY"] = cli.agent(ReadPrompt(), WriteFile("started"))
    make_space(cli.directory / "house", "house")
    done = cli.run(*words)
    assert done.status != 0
    assert complaint in done.complaint
    assert not (cli.directory / "gone").exists()
