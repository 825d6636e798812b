"""Raise the limit of open files for this process, but not for the processes that it starts (C9, X9)."""

from __future__ import annotations

from contextlib import suppress

__all__ = ["original_limit", "raise_limit", "restore_limit"]

_original: list[tuple[int, int]] = []
"""The soft and the hard limit before they were raised; empty if they were not."""


def raise_limit() -> None:
    """Raise the soft limit of open files to the hard limit, for hundreds of runs with several descriptors each."""
    import resource  # noqa: PLC0415 - a single run does not raise the limit

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        _original[:] = [(soft, hard)]


def restore_limit(process: int) -> None:
    """Set the limits of a new process to the limits with which this process was started."""
    for limits in _original:
        import resource  # noqa: PLC0415 - as above

        with suppress(OSError):  # it has exited
            resource.prlimit(process, resource.RLIMIT_NOFILE, limits)


def original_limit() -> str:
    """Return the limits with which this process was started as `SOFT:HARD`; empty if they were not raised."""
    return ":".join(map(str, _original[0])) if _original else ""
