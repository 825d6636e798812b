"""Run every test of this directory once for each installed release of the CLI."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..needs import missing, without
from .claude_stage import ClaudeStage, claude_for_turns
from .pi_stage import PiStage, pi_for_turns
from .releases import Release, installed, sandbox_works
from .stage import Stage
from .stages import stage_of

NONE = pytest.param(None, marks=without("codex"))


@pytest.fixture(scope="session", params=list[object](installed()) or [NONE], ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    """One Codex CLI after the other."""
    assert isinstance(request.param, Release)
    return request.param


@pytest.fixture
def stage(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A place for runs, whose temporary files of ours are gone at the end."""
    ours = tmp_path / "ours"
    ours.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(ours))
    yield Stage(release, tmp_path)
    assert list(ours.iterdir()) == []


@pytest.fixture(params=list[object]([*installed(), *claude_for_turns(), *pi_for_turns()]) or [NONE], ids=str)
def any_stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A place for turns of one harness after the other, whose temporary files of ours are gone at the end."""
    ours = tmp_path / "ours"
    ours.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(ours))
    yield stage_of(request.param, tmp_path)
    assert list(ours.iterdir()) == []


@pytest.fixture
def any_sandbox(any_stage: Stage) -> None:
    """A test whose agent must be able to run commands in the CLI's own sandbox."""
    if isinstance(any_stage, PiStage):
        return
    if isinstance(any_stage, ClaudeStage):
        works = all(map(shutil.which, ("bwrap", "socat")))
    else:
        works = sandbox_works(any_stage.release.binary)
    if not works:
        missing("bubblewrap")


@pytest.fixture
def agent_sandbox(release: Release, request: pytest.FixtureRequest) -> None:
    """A test whose agent must be able to run commands in the CLI's own sandbox; one of another mode needs none."""
    spec = getattr(request.node, "callspec", None)
    mode = spec.params.get("mode") if spec is not None else None
    if mode != "danger-full-access" and not sandbox_works(release.binary):
        missing("bubblewrap")
