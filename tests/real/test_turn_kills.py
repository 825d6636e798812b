"""Play some rounds of `turn_kills.py`: turns are killed at random instants."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from ..needs import missing, without
from ..protocols.rounds import Failure, play_all
from .claude_stage import claude_for_turns
from .pi_stage import pi_for_turns
from .releases import installed, sandbox_works
from .turn_kills import Round, play, play_claude, play_pi, summary

pytestmark = [
    pytest.mark.real,
    pytest.mark.rule("U2", "U8", "U9", "Z9", "N2"),
]


@pytest.mark.smoke
@pytest.mark.fault(
    "turns",
    "SIGKILL ends the process that runs a turn, its agent, or both",
    "No process survives and the conversation can continue",
)
@pytest.mark.parametrize(
    "player",
    [
        pytest.param(play, id="codex", marks=without("codex", not installed())),
        pytest.param(
            play_claude,
            id="claude",
            marks=[
                without("claude", not claude_for_turns()),
                without("bubblewrap", not all(map(shutil.which, ("bwrap", "socat")))),
            ],
        ),
        pytest.param(play_pi, id="pi", marks=without("pi", not pi_for_turns())),
    ],
)
def test_a_conversation_goes_on_whenever_its_turns_are_killed(player: Any) -> None:
    if player is play and not sandbox_works(installed()[0].binary):
        missing("bubblewrap")
    results = list(play_all(map(Round.of, range(41, 42)), player, jobs=1))
    failed = [result for result in results if isinstance(result, Failure)]
    assert not failed, failed
    assert "killed 0" not in summary(results)
