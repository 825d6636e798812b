"""Test that a case is played through the adapter, with a scripted agent as the release."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter.runtime.programs import Version
from codex_adapter.testing import Exit, Hang, PrintJson, ReadPrompt, Step, WriteStderr, write_agent
from codex_adapter.testing.thread_lines import command_started, thread_started
from tests.regenerate_goldens import golden
from tests.releases.shelf import Shelf
from tests.releases.subject import Installed
from tests.releases.trial import judge

from .catalogue import Case, Run
from .play import play
from .subject import CODEX

pytestmark = pytest.mark.rule("R2")


def _release(directory: Path, *steps: Step) -> Installed:
    return Installed(Version(0, 169, 0), Path(write_agent(directory, steps)), 0.0)


async def test_what_the_agent_prints_and_what_the_adapter_tells_are_both_kept(tmp_path: Path) -> None:
    release = _release(tmp_path / "agent", ReadPrompt(), PrintJson(thread_started()), WriteStderr("noise"), Exit(3))
    [played] = await play(Case(name="x", about="X."), release, tmp_path / "case")
    assert (played.scenario, played.through, played.returncode, played.error) == ("x", "adapter", 3, None)
    assert played.stdout.startswith(b'{"type":"thread.started"')
    assert played.stderr == b"noise"
    assert played.records == golden(played.stdout, 3)
    assert played.left == 0


async def test_a_signal_reaches_the_agent_itself(tmp_path: Path) -> None:
    release = _release(tmp_path / "agent", PrintJson(command_started("item_0", "ls")), Hang())
    [played] = await play(Case(name="x", about="X.", runs=(Run(signal="SIGKILL"),)), release, tmp_path / "case")
    assert (played.returncode, played.left) == (-9, 0)


async def test_a_request_that_is_refused_says_why(tmp_path: Path) -> None:
    old = _release(tmp_path / "agent")._replace(version=Version(0, 44, 0))
    run = Run(approval="untrusted")
    [played] = await play(Case(name="x", about="X.", runs=(run,)), old, tmp_path / "case")
    assert played.returncode is None
    assert played.error is not None


@pytest.mark.parametrize("run", [Run(prompt=""), Run(arguments=("--x",)), Run(sandbox="everything")])
async def test_what_the_adapter_cannot_be_asked_for_is_played_alone(run: Run, tmp_path: Path) -> None:
    release = _release(tmp_path / "agent", PrintJson(thread_started()))
    [played] = await play(Case(name="x", about="X.", runs=(run,)), release, tmp_path / "case")
    assert played.through == "cli"


async def test_a_trial_finds_a_missing_golden_a_line_of_no_kind_and_another_ending(tmp_path: Path) -> None:
    release = _release(tmp_path / "agent", PrintJson({"type": "of_tomorrow"}))
    [played] = await play(Case(name="x", about="X."), release, tmp_path / "case")
    shelf = Shelf("codex", tmp_path / "shelf")
    first = judge(CODEX, release.version, played, played.stdout, shelf)
    assert [finding.what for finding in first.findings] == ["parse errors or unknown events", "there is no golden"]
    assert first.unknown == 1
    shelf.put("0.169.0", "x", played.stdout, 1, None)
    assert judge(CODEX, release.version, played, played.stdout, shelf).findings[-1].what == "it ends otherwise"
    shelf.put("0.169.0", "x", played.stdout, 0, None)
    assert len(judge(CODEX, release.version, played, played.stdout, shelf).findings) == 1
