"""Refuse a turn that the installed release of the Codex CLI does not support (U9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from codex_adapter.agents.codex.releases import SHORT_DESCRIPTION, need
from codex_adapter.harness import HarnessTurn
from codex_adapter.harness.attachments import Attachments
from codex_adapter.harness.installation import Installed
from codex_adapter.turn_errors import TurnError

__all__ = ["check_release", "missing"]

_NEEDED: Final[Mapping[str, Callable[[HarnessTurn, Attachments], bool]]] = {
    "skills": lambda turn, _: bool(turn.environment.skills),
    "long_description": lambda turn, _: any(
        len(skill.description) > SHORT_DESCRIPTION for skill in turn.environment.skills
    ),
    "hooks": lambda turn, _: bool(turn.environment.hooks),
    "mcp_servers": lambda turn, _: bool(turn.environment.servers),
    "gif_and_webp": lambda _, attachments: any(image.format in ("gif", "webp") for image in attachments.images),
}
"""A predicate for each need, by name: whether a turn has it."""


def check_release(installed: Installed, turn: HarnessTurn, attachments: Attachments) -> None:
    """Raise `TurnError` if the release does not support the turn (U9)."""
    for name, needed in _NEEDED.items():
        if needed(turn, attachments) and (error := missing(installed, name)) is not None:
            raise error


def missing(installed: Installed, name: str) -> TurnError | None:
    """Return the error for a need that the release does not meet, or None."""
    row, release = need(name), installed.release
    if release is None or row.holds(release):
        return None
    return TurnError(
        f"{row.about}: release {row.since} or newer of the Codex CLI is required, but {release} is installed"
    )
