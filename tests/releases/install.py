"""Install releases from npm, each in its own directory."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

from .subject import Installed, Subject

__all__ = ["install", "newest", "remove"]

LONGEST = 300.0
"""Seconds that npm may take, for example without a registry."""


def install(subject: Subject, version: str, below: Path) -> Installed:
    """The release in `below/VERSION`, got from npm when it is not there yet.

    Raises CalledProcessError or TimeoutExpired when npm cannot get it, and LookupError when it has no binary for this
    machine, or one that calls itself another release.
    """
    directory, started = below / version, time.monotonic()
    if not subject.programs(directory):
        directory.mkdir(parents=True, exist_ok=True)
        # Without its scripts: a package has no business to run anything here, and the binary needs none.
        npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        packages = [f"{subject.package}@{version}", *subject.beside]
        command = [*npm, "--prefix", str(directory), *packages]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=LONGEST)
        seconds = time.monotonic() - started
    else:
        seconds = 0.0
    programs = subject.programs(directory)
    if not programs:
        raise LookupError(f"{subject.package}@{version} has no binary for this machine: look into {directory}")
    told = subject.version_of(programs[0])
    if told is None or str(told) != version:
        raise LookupError(
            f"the binary of {subject.package}@{version} calls itself {told}: remove {directory} and try again"
        )
    return Installed(told, programs[0], seconds)


def remove(version: str, below: Path) -> None:
    """Give back the disk space of a release (200 MB and more)."""
    shutil.rmtree(below / version, ignore_errors=True)


def newest(subject: Subject) -> str:
    """Return the release that npm has as the latest. Raise CalledProcessError without a registry."""
    told = subprocess.run(
        ["npm", "view", subject.package, "version", "--json"], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    return str(json.loads(told.stdout))
