"""List the releases of the Codex CLI that the laboratory runs."""

from __future__ import annotations

import json
import subprocess

__all__ = ["PACKAGE", "RELEASES", "newest"]

PACKAGE = "@openai/codex"

RELEASES = (
    *("0.44.0", "0.47.0", "0.61.0", "0.77.0", "0.98.0", "0.107.0", "0.116.0"),
    *("0.125.0", "0.140.0", "0.147.0", "0.155.0", "0.163.0", "0.169.0"),
)
"""The first one supported, then those between which something changes, then the newest known."""


def newest() -> str:
    """The release that npm gives out as the latest; raises CalledProcessError without a registry."""
    told = subprocess.run(
        ["npm", "view", PACKAGE, "version", "--json"], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    return str(json.loads(told.stdout))
