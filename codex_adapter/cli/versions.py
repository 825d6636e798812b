"""Which version of a distribution is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version"]


def installed_version(distribution: str) -> str:
    """Its version; `unknown` for a source tree that was put on the path without being installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"
