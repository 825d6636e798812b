"""Test every command in every surrounding: a correct result or a clear error, and no leftovers."""

from __future__ import annotations

import pytest

from .commands import COMMANDS, Trial
from .scene import Scene

pytestmark = [pytest.mark.attack, pytest.mark.rule("C7", "K4", "N1", "S10")]

UNCLEAR = ("Traceback", "internal error", "Errno", "errno", "Exception")
CLEAR_RECORDS = (
    '"advice":',
    "too few resources",
    "The sandbox cannot be set up",
    "Cannot fork",
    "codex backend error: io",
    "codex backend error: timeout",
    "codex exited non-zero",
)
"""What a record says of a shortage; the exit status is 0 where the records are the result."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_gives_the_right_result_or_a_clear_error(scene: Scene, command: Trial) -> None:
    done, right = command(scene)
    said = done.stderr + done.stdout.decode()
    assert done.status >= 0
    assert [word for word in UNCLEAR if word in said] == [], said
    if scene.surrounding.full_disk or scene.surrounding.processes:
        assert right or (done.status != 0 and done.stderr) or any(word in said for word in CLEAR_RECORDS), said
    else:
        assert right, said
        assert (done.status, done.stderr) == (0, ""), said
    assert scene.left() == []
