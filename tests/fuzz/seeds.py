"""Provide the seeds of the fuzzer: recordings of the real CLIs, and the names in their lines."""

from __future__ import annotations

from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

from tests.agents.agent_lines import AgentLines
from tests.agents.table import AGENTS
from tests.fuzz.pipeline import GROWN, HEADER, SECRETS, flags_of

__all__ = ["CRASHES", "inputs", "recordings", "tokens"]

CRASHES: Final = Path(__file__).with_name("crashes")
"""Inputs that broke a rule once; each is kept, under the name of what it broke."""

_LONGEST_OF_ALL: Final = 250_000


@cache
def recordings(agent: AgentLines) -> tuple[bytes, ...]:
    """Return the beginnings of different streams that the CLI printed, and of what older releases print."""
    found = sorted({path.read_bytes() for path in agent.recordings()}, key=len)
    kept = dict.fromkeys(data[: agent.beginning] for data in found)
    return (*agent.older, *sorted(kept))


def inputs() -> list[bytes]:
    """Return the recordings as inputs of the target, with all options one after the other."""
    found = []
    for number_of_agent, agent in enumerate(AGENTS.values()):
        for number, stream in zip(count(), recordings(agent), strict=False):
            flags = flags_of(number_of_agent, number % 64)
            found.append(bytes((flags, number % 17, number % 13)).ljust(HEADER, b"\x50") + stream)
    return found


def tokens(agent: AgentLines) -> list[bytes]:
    """Return what a mutation may put anywhere: names of the lines' vocabulary, secrets, and what grows."""
    names = [f'"{name}"'.encode() for name in (*agent.names, *agent.types)]
    return [*names, *(secret.encode() for secret in SECRETS * 8), *[GROWN] * 30, b"\\u0", b"\r\n"]
