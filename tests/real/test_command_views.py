"""Test `run --format pretty`, `doctor` and `demo` with the real CLI."""

from __future__ import annotations

import json

import pytest

from codex_adapter.testing import Shell, answer, script

from .commands import perform, running, told
from .stage import Stage

pytestmark = [pytest.mark.real]


@pytest.mark.rule("C7")
def test_a_run_is_told_as_text(stage: Stage) -> None:
    with stage.model(
        script(Shell("echo of the command; exit 3"), answer("All\x1b[31m done.", delay=stage.release.pause))
    ):
        done = perform(stage, "run", "--format", "pretty", "Do it.")
    assert (done.status, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert "echo of the command" in text
    assert "All" in text
    assert "\x1b" not in text
    assert '"type"' not in text


@pytest.mark.rule("C4")
def test_the_doctor_finds_the_release_fit(stage: Stage) -> None:
    with stage.model(script()):
        done = perform(stage, "doctor")
        report = json.loads(perform(stage, "doctor", "--json").stdout)
    assert (done.status, done.stderr) == (0, b"")
    assert f"{stage.release}, supported" in done.stdout.decode()
    assert report["ok"] is True
    assert report["binary"]["version"] == str(stage.release)
    assert report["binary"]["path"] == str(stage.release.binary)
    assert report["binary"]["features"]["forking a session"] is not stage.release.before(0, 155)
    assert stage.oracle.word not in done.stdout.decode()


@pytest.mark.rule("C4", "S6")
def test_the_doctor_says_what_to_do_without_a_cli(stage: Stage) -> None:
    with running(stage, "doctor", "--codex", str(stage.root / "missing")) as process:
        done = told(process)
    assert done.status == 1
    assert b"pip install openai-codex-cli-bin" in done.stdout


@pytest.mark.rule("C3")
def test_the_demo_really_runs_the_cli_and_leaves_nothing(stage: Stage) -> None:
    done = perform(stage, "demo")
    assert (done.status, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert str(stage.release.binary) in text
    assert "hello.txt contains: Hello from the Codex CLI." in text
    assert list((stage.root / "tmp").glob("codex-adapter*")) == []
