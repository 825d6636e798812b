"""Find the levels of containment that this machine has, and read those that the options allow (C4, N3)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from codex_adapter import BackendError, CodexConfig, InvalidRequestError
from codex_adapter.agents.codex.validation import check_config
from codex_adapter.cli.arguments import in_our_words
from codex_adapter.cli.errors import UsageError
from codex_adapter.runtime.containment.containment import LEVELS, Containment

__all__ = ["FoundLevel", "command_containment", "find_levels"]


def command_containment(options: argparse.Namespace) -> Containment:
    """Return what holds commands where the options of a backend choose the levels. Raises `UsageError` (N3)."""
    config = CodexConfig(containment=options.containment, containment_max=options.containment_max)
    try:
        check_config(config)
    except InvalidRequestError as error:
        raise UsageError(in_our_words(str(error))) from None
    return Containment.of(config)


class FoundLevel(NamedTuple):
    """A level that this machine has, and whether it takes a user namespace to have it."""

    level: str
    in_user_namespace: bool


async def find_levels(environ: Mapping[str, str]) -> list[FoundLevel]:
    """Return the levels at which an agent can be held here, best first: each is tried with a small program (N1)."""
    levels: list[FoundLevel] = []
    for level in LEVELS:
        containment = Containment(allowed=(level,))
        with suppress(OSError, BackendError):
            levels.append(FoundLevel(await containment.try_out(environ), containment.in_user_namespace))
    return levels
