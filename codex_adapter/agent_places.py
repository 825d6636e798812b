"""Describe where an agent CLI keeps its settings, its logins and the programs that it brings (H13, H14, H15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

__all__ = ["AgentPlaces"]


def _no_program(_environ: Mapping[str, str]) -> None:
    """Return None, because most agents bring no bubblewrap."""


class AgentPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one agent CLI that a workspace hides from other agents and from commands.

    `settings` are names of files and directories, in lower case, that the agent reads wherever it finds them. `logins`
    are paths below `HOME`; `*` matches any text within a name. `variables` are the names of variables that hold such
    paths. `bubblewrap` takes the environment in which the agent is looked up. It returns the path of the agent's own
    bubblewrap, or None (H13, H14, H15).
    """

    settings: frozenset[str]
    logins: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    bubblewrap: Callable[[Mapping[str, str]], str | None] = _no_program
