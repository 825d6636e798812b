"""Read the usage of an answer of pi: counts of tokens, and the cost (F10, F13, F15, M6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from codex_adapter.agents.pi.stream import lines as pl
from codex_adapter.core.token_counts import read_counts

__all__ = ["Usage", "read_usage", "usage_so_far"]

_decode_usage: Callable[[msgspec.Raw], dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_cost: Callable[[msgspec.Raw], pl.Usage] = msgspec.json.Decoder(pl.Usage).decode
_decode_answer: Callable[[msgspec.Raw], pl.OpenAnswer] = msgspec.json.Decoder(pl.OpenAnswer).decode


class Usage(NamedTuple):
    """The counts of an answer by their names, and its cost. A cost of 0 means that the price is unknown (F13)."""

    counts: Sequence[tuple[str, int]] = ()
    cost: float = 0.0


def read_usage(raw: msgspec.Raw) -> Usage:
    """Return the integers of an answer's usage and its cost; nothing of a usage of another shape (M6, F10)."""
    try:
        usage, cost = _decode_usage(raw), _decode_cost(raw).cost
    except Exception:  # noqa: BLE001 - a usage of another shape counts nothing
        return Usage()
    return Usage([*read_counts(usage)], (cost and cost.total) or 0.0)


def usage_so_far(update: pl.MessageUpdate | None) -> msgspec.Raw:
    """Return the usage of an answer so far. Releases before 0.87 have it in the copy of the message."""
    if update is None:
        return pl.NO_VALUE
    try:
        return update.usage if bytes(update.usage) != b"null" else _decode_answer(update.message).usage
    except Exception:  # noqa: BLE001 - a message of another shape has no usage
        return pl.NO_VALUE
