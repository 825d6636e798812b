"""Test that the scripted agent accepts the arguments of the CLI and refuses others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codex_adapter.testing import PrintText, write_agent
from codex_adapter.testing.agent_arguments import complaint

from ..rows import rows

pytestmark = pytest.mark.rule("TK2")


def _run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    binary = write_agent(directory, [PrintText("played")], version="1.2.3")
    return subprocess.run([binary, *arguments], input=b"", capture_output=True, timeout=60, check=False)


def test_it_says_its_version(tmp_path: Path) -> None:
    assert _run(tmp_path, "--version").stdout == b"codex-cli 1.2.3\n"


def test_it_says_which_flags_it_takes_where(tmp_path: Path) -> None:
    assert b"--ask-for-approval <VALUE>" in _run(tmp_path, "--help").stdout
    after = _run(tmp_path, "exec", "--help").stdout
    assert b"--json\n" in after
    assert b"--ask-for-approval" not in after


def test_it_is_not_logged_in(tmp_path: Path) -> None:
    done = _run(tmp_path, "login", "status")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"Not logged in\n")


def test_it_refuses_with_status_2_and_without_output(tmp_path: Path) -> None:
    done = _run(tmp_path, "exec", "--no-such-flag", "-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"error: unexpected argument '--no-such-flag' found\n")


@rows(
    "arguments",
    [
        "exec -",
        "-a never exec --color never --json --image a b --skip-git-repo-check --sandbox read-only --model m -",
        "--ask-for-approval on-request e --add-dir a --add-dir b --output-schema f --json resume --last -",
        "exec --sandbox=workspace-write resume 0199a213-81c0-7800-8aa1-bbab2a035a53 --json -",
        "exec -c a=1 -c b=2 fork x -",
        "exec --image a.png -- --a-prompt-like-a-flag",
        "",
    ],
)
def test_the_command_lines_of_the_cli_are_taken(arguments: str) -> None:
    assert complaint(arguments.split()) is None


@rows(
    ("arguments", "reason"),
    [
        ("exec --ask-for-approval never -", "unexpected argument"),
        ("--json exec -", "unexpected argument"),
        ("exec resume x --sandbox read-only -", "unexpected argument"),
        ("exec resume x --add-dir d -", "unexpected argument"),
        ("exec --last -", "unexpected argument"),
        ("exec --full-auto -", "unexpected argument"),
        ("exec --json --json -", "multiple times"),
        ("exec -m a --model b -", "multiple times"),
        ("exec --sandbox", "a value is required"),
        ("exec --sandbox --json -", "a value is required"),
        ("exec --sandbox everything -", "invalid value"),
        ("-a sometimes exec -", "invalid value"),
    ],
)
def test_other_command_lines_are_refused(arguments: str, reason: str) -> None:
    assert reason in (complaint(arguments.split()) or "")
