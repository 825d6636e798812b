"""Install releases from npm, each in its own directory."""

from __future__ import annotations

import platform
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from codex_adapter.agents.codex.releases import parse_version
from codex_adapter.runtime.programs import Version

from .versions import PACKAGE

__all__ = ["Installed", "install", "remove"]


class Installed(NamedTuple):
    """A native Codex CLI and how long it took to get it, in seconds; 0 for one that was there."""

    version: Version
    binary: Path
    seconds: float


def install(version: str, below: Path) -> Installed:
    """The release in `below/VERSION`, got from npm when it is not there yet.

    Raises CalledProcessError when npm cannot get it, and LookupError when it has no binary for this machine, or one
    that calls itself another release.
    """
    directory, started = below / version, time.monotonic()
    if not _natives(directory):
        directory.mkdir(parents=True, exist_ok=True)
        # Without its scripts: a package has no business to run anything here, and the binary needs none.
        npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(
            [*npm, "--prefix", str(directory), f"{PACKAGE}@{version}"], check=True, stdout=subprocess.DEVNULL
        )
        seconds = time.monotonic() - started
    else:
        seconds = 0.0
    natives = _natives(directory)
    if not natives:
        raise LookupError(f"{PACKAGE}@{version} has no binary for this machine: look into {directory}")
    said = subprocess.run([natives[0], "--version"], stdout=subprocess.PIPE, text=True, check=True, timeout=30).stdout
    told = parse_version(said)
    if told is None or str(told) != version:
        raise LookupError(f"the binary of {PACKAGE}@{version} calls itself {told}: remove {directory} and try again")
    return Installed(told, natives[0], seconds)


def remove(version: str, below: Path) -> None:
    """Give back the disk space of a release (200 MB and more)."""
    shutil.rmtree(below / version, ignore_errors=True)


def _natives(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"node_modules/**/vendor/{platform.machine()}-unknown-linux-musl/*/codex"))
