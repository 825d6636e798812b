"""Find the pi that a run executes, and its release (S6, S8)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from codex_adapter.agents.pi.advice import INSTALL
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.releases import parse_version
from codex_adapter.file_systems import Inquiry, inquire, no_inquiry
from codex_adapter.runtime.login_files import read_json
from codex_adapter.runtime.programs import At, Binary, Program, Version, versions_of_this_run

__all__ = ["PROGRAM", "find_binary", "release_of"]

_PACKAGE: Final = "@earendil-works/pi-coding-agent"

PROGRAM: Final = Program(
    name="pi",
    command="pi",
    variable="PI_BINARY",
    install=f"install it with `{INSTALL}`, which needs Node.js 22.19 or newer",
    parse_version=parse_version,
)


def find_binary(config: PiConfig, environ: Mapping[str, str], at: At = no_inquiry) -> Binary:
    """Return the CLI to run: configured, else `$PI_BINARY`, else `pi` on PATH (S6).

    The arguments and the errors are those of `Program.find`.
    """
    return PROGRAM.find(config.binary, environ, at)


async def release_of(binary: Binary, environ: Mapping[str, str], config: PiConfig) -> Version | None:
    """Return the release of the CLI, or None. Read it from the package of the script, else ask the program (S8).

    Release 0.74 takes more than a second to print its release, and prints it to standard error.
    """
    release = await inquire(_packaged_release, binary.path)
    return release or await versions_of_this_run(PROGRAM).of(binary, environ, config)


def _packaged_release(inquiry: Inquiry, path: str) -> Version | None:
    inquiry.at(PROGRAM.role, path)
    for directory in Path(path).resolve().parents[:4]:
        package: Any = read_json(directory / "package.json")
        if isinstance(package, dict) and package.get("name") == _PACKAGE:
            return parse_version(str(package.get("version")))
    return None
