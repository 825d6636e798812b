"""Name the packages of an extra, for any source of the installation (P9)."""

from __future__ import annotations

__all__ = ["how_to_install"]


def how_to_install(extra: str) -> str:
    """Return the next step for a user without the packages of `extra`: one command, without this project's name."""
    import shlex  # noqa: PLC0415 - for failures only
    from importlib import metadata  # noqa: PLC0415

    try:
        declared = [line.partition("; ") for line in metadata.requires("codex-adapter") or []]
    except metadata.PackageNotFoundError:
        declared = []
    packages = [requirement for requirement, _, marker in declared if marker == f"extra == '{extra}'"]
    return f"Install them: {shlex.join(['pip', 'install', *packages])}" if packages else f"Install the extra `{extra}`"
