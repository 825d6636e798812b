"""Test that sandboxed commands end with all their processes, at every level."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import trio

from codex_adapter.runtime.containment.containment import Containment, Level
from codex_adapter.workspace import Workspace
from codex_adapter.workspace.sandbox import Sandbox

from ..runtime.survivors import Survivors
from .shells import Shell

pytestmark = pytest.mark.rule("H8", "H9", "H13")


@pytest.fixture
def shell(workspace: Workspace, survivors: Survivors, sandbox: Sandbox, level: Level) -> Iterator[Shell]:
    """Commands in a sandbox, held at each level; nothing of them is left after the test."""
    yield Shell(workspace, survivors, sandbox, Containment(allowed=(level,)))
    assert survivors.now() == []


async def test_nothing_outlives_the_shell(shell: Shell) -> None:
    result = await shell("setsid sleep 61 & (cd /; exec env -i sleep 62) & yes >&2 & echo done; exit 7")
    assert (result.exit_code, result.stdout.text(), result.timed_out) == (7, "done\n", False)


async def test_a_command_is_killed_at_its_time_limit(shell: Shell) -> None:
    result = await shell("setsid sleep 61 & trap '' TERM; yes", timeout=0.5, keep=1000)
    assert (result.exit_code, result.timed_out) == (124, True)


async def test_a_limit_that_passes_while_the_sandbox_is_set_up_is_a_time_out_too(shell: Shell) -> None:
    for delay in (0.0, 0.01, 0.03):
        result = await shell("sleep 61", timeout=delay)
        assert (result.exit_code, result.timed_out) == (124, True)


async def test_cancelling_the_call_kills_everything(shell: Shell) -> None:
    with trio.move_on_after(0.2) as scope:
        await shell("setsid sleep 61 & yes")
    assert scope.cancelled_caught


async def test_a_command_that_kills_its_parent_lives_on(shell: Shell) -> None:
    result = await shell("setsid sleep 61 & kill -KILL $PPID; kill -TERM $PPID; kill -STOP $PPID; echo on; exit 3")
    assert (result.exit_code, result.stdout.text()) == (3, "on\n")
