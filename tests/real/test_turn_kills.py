"""Play some rounds of `turn_kills.py`: turns are killed at random instants."""

from __future__ import annotations

import pytest

from ..protocols.rounds import Failure, play_all
from .releases import installed
from .turn_kills import Round, play, summary

pytestmark = [
    pytest.mark.real,
    pytest.mark.rule("U2", "U8", "U9", "Z9", "N2"),
    pytest.mark.skipif(not installed(), reason="no Codex CLI: install openai-codex-cli-bin, or set CODEX_RELEASES"),
]


@pytest.mark.smoke
@pytest.mark.fault(
    "turns",
    "SIGKILL ends the process that runs a turn, its agent, or both",
    "No process survives and the conversation can continue",
)
def test_a_conversation_goes_on_whenever_its_turns_are_killed() -> None:
    results = list(play_all(map(Round.of, range(41, 42)), play, jobs=1))
    failed = [result for result in results if isinstance(result, Failure)]
    assert not failed, failed
    assert "killed 0" not in summary(results)
