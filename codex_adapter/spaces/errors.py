"""Define the error for spaces. Its text never quotes a file (Z5)."""

from __future__ import annotations

import os
from typing import Final

from codex_adapter.strict_decode import shown

__all__ = ["SpaceError", "unreadable"]


class SpaceError(Exception):
    """Report that spaces cannot be used. The text names files and keys, but no values (Z5).

    `reference` is the wrong reference, None for another problem. `way` has the ids of the spaces that led to it, the
    first space first.
    """

    def __init__(self, problem: str, reference: str | None = None, way: tuple[str, ...] = ()) -> None:
        self.problem: Final = problem
        self.reference: Final = reference
        self.way: Final = way
        by_way = f" (by way of {' > '.join(way)})" if way else ""
        super().__init__(
            problem if reference is None else f"{shown(reference) or 'an empty reference'}{by_way}: {problem}"
        )


def unreadable(what: str, error: Exception) -> SpaceError:
    """Return the error for a failed read. `error` is an OSError, or a ValueError for an invalid path."""
    reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "invalid path"
    return SpaceError(f"{shown(what)} cannot be read ({reason})")
