"""What a turn can ask for and not every release of the Codex CLI can do: it is refused, not left out (U9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from codex_adapter.agents.codex.harness.attachments import Attachments
from codex_adapter.agents.codex.harness.installed import Installed, Release
from codex_adapter.agents.codex.harness.skills import LONGEST_DESCRIPTION
from codex_adapter.harness import HarnessTurn
from codex_adapter.turn_errors import TurnError

__all__ = ["REPLACES_INSTRUCTIONS", "check_release", "lacking"]

REPLACES_INSTRUCTIONS: Final[Release] = (0, 147, 0)
"""Before, a conversation went on with the instructions and skills that it began with."""


class _Need(NamedTuple):
    what: str
    since: Release
    asked: Callable[[HarnessTurn, Attachments], bool]


_NEEDS: Final = (
    _Need("skills", (0, 77, 0), lambda turn, _: bool(turn.environment.skills)),
    _Need(
        f"a skill's description of more than {LONGEST_DESCRIPTION} characters",
        (0, 147, 0),
        lambda turn, _: any(len(skill.description) > LONGEST_DESCRIPTION for skill in turn.environment.skills),
    ),
    _Need("hooks", (0, 125, 0), lambda turn, _: bool(turn.environment.hooks)),
    _Need("MCP servers whose tools run unasked", (0, 125, 0), lambda turn, _: bool(turn.environment.servers)),
    _Need("images in GIF or WebP", (0, 116, 0), lambda _, attachments: attachments.modern),
)


def check_release(installed: Installed, turn: HarnessTurn, attachments: Attachments) -> None:
    """Raises `TurnError` where the release lacks something that the turn needs (U9)."""
    for need in _NEEDS:
        if need.asked(turn, attachments) and not installed.since(need.since):
            raise lacking(installed, need.what, need.since)


def lacking(installed: Installed, what: str, since: Release) -> TurnError:
    """The error for something that a release cannot do."""
    needed, there = (".".join(map(str, release)) for release in (since, installed.release or since))
    return TurnError(f"{what}: need release {needed} or newer of the Codex CLI, and {there} is installed")
