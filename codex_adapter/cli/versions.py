"""Find the installed version of a distribution."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version"]


def installed_version(distribution: str) -> str:
    """Return the version, or `unknown` for a source tree that is on the path but not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"
