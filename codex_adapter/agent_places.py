"""Describe where an agent CLI keeps its settings, its logins and the programs that it brings (H13, H14, H15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

__all__ = ["AgentPlaces"]


def _no_program(_environ: Mapping[str, str]) -> None:
    """Return None: most agents bring no bubblewrap."""


class AgentPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one agent CLI that a workspace keeps other agents and commands out of.

    `settings` are names of files and directories that the agent obeys wherever it finds them, in lower case (H15).
    `logins` are paths below `HOME`; `*` stands for any text within a name (H14). `variables` name such places (H14).
    `bubblewrap` returns the path of the bubblewrap that comes with the agent, for an environment in which the agent is
    looked up; None if it does not bring one (H13).
    """

    settings: frozenset[str]
    logins: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    bubblewrap: Callable[[Mapping[str, str]], str | None] = _no_program
