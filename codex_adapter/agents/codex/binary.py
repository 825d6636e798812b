"""Find the Codex CLI that a run executes, and its release (S6, S8)."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.releases import parse_version
from codex_adapter.file_systems import no_inquiry
from codex_adapter.runtime.programs import At, Binary, Program, Version

__all__ = ["PROGRAM", "find_binary", "packaged_release"]

_WHEEL_MODULE: Final = "codex_cli_bin"
_DEEPEST: Final = 8
"""Directories above a binary that are searched for its package."""
_LARGEST_MANIFEST: Final = 65_536
_WHEEL_METADATA: Final = re.compile(r"openai_codex_cli_bin-(.+)\.dist-info")

_LINUX_BUILDS: Final = {
    "x86_64": ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    "aarch64": ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
}
"""The npm package with the native binary, and the build target, by machine."""


def find_binary(config: CodexConfig, environ: Mapping[str, str], at: At = no_inquiry) -> Binary:
    """Return the CLI to run: configured, else `$CODEX_BINARY`, else the wheel, else `codex` on PATH (S6).

    The arguments and the errors are those of `Program.find`.
    """
    return PROGRAM.find(config.binary, environ, at)


def packaged_release(binary: str, at: At) -> Version | None:
    """Return the release of the npm package or the wheel that contains a binary, or None. Block on files.

    Call `at` with the role and the path of each file before the file is accessed.
    """
    for directory in Path(os.path.realpath(binary)).parents[:_DEEPEST]:
        at(PROGRAM.role, str(directory))
        with suppress(OSError):
            if directory.name == _WHEEL_MODULE:
                names = os.listdir(directory.parent)  # noqa: PTH208 - names are all that is needed
                found = next(filter(None, map(_WHEEL_METADATA.fullmatch, names)), None)
                return None if found is None else parse_version(f"codex-cli {found[1]}")
            with (directory / "package.json").open("rb") as file:
                return _of_npm(file.read(_LARGEST_MANIFEST))
    return None


def _native_binary(launcher: Path) -> Path | None:
    """Return the native binary that the npm launcher starts, or None.

    The binary is in a separate package. Node searches for this package in each `node_modules` directory above. In old
    releases the binary is in the launcher's own package.
    """
    build = _LINUX_BUILDS.get(platform.machine())
    if build is None:
        return None
    package, target = build
    vendors = [above / "node_modules" / "@openai" / package / "vendor" for above in launcher.parents]
    vendors.append(launcher.parent.parent / "vendor")
    for vendor in vendors:
        for folder in ("bin", "codex"):
            native = vendor / target / folder / "codex"
            if native.is_file():
                return native
    return None


def _of_npm(content: bytes) -> Version | None:
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        manifest: Any = msgspec.json.decode(content)
        if isinstance(manifest, dict) and str(manifest.get("name")).startswith("@openai/codex"):
            return parse_version(f"codex-cli {manifest.get('version')}")
    return None


PROGRAM: Final = Program(
    name="the Codex CLI",
    command="codex",
    variable="CODEX_BINARY",
    install="install it with `pip install openai-codex-cli-bin` or `npm install -g @openai/codex`",
    wheel="openai-codex-cli-bin",
    wheel_binary=(_WHEEL_MODULE, "bin", "codex"),
    is_launcher=lambda path: path.name == "codex.js",
    native_binary=_native_binary,
    parse_version=parse_version,
)
