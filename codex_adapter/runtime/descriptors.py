"""Raise the limit of open files for this process, and keep it from what the process starts (C9, X9)."""

from __future__ import annotations

from contextlib import suppress

__all__ = ["give_back_limit", "original_limit", "raise_limit"]

_given: list[tuple[int, int]] = []
"""The soft and the hard limit before they were raised; empty where they were not."""


def raise_limit() -> None:
    """Raise the soft limit of open files to the hard one, for hundreds of runs with several descriptors each."""
    import resource  # noqa: PLC0415 - a single run needs no more than it is given

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        _given[:] = [(soft, hard)]


def give_back_limit(process: int) -> None:
    """Give a process that was just started the limit that this one was started with."""
    for limits in _given:
        import resource  # noqa: PLC0415 - as above

        with suppress(OSError):  # it has exited
            resource.prlimit(process, resource.RLIMIT_NOFILE, limits)


def original_limit() -> str:
    """Return the limits that this process was started with as `SOFT:HARD`, empty where they were not raised."""
    return ":".join(map(str, _given[0])) if _given else ""
