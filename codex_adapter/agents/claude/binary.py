"""Find the Claude Code CLI that a run executes, and its release (S6, S8)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.releases import parse_version
from codex_adapter.file_systems import no_inquiry
from codex_adapter.runtime.programs import At, Binary, Program

__all__ = ["PROGRAM", "find_binary"]

_LAUNCHERS: Final = frozenset({"claude.exe", "cli-wrapper.cjs"})
"""The names of the npm launcher. The installer of the npm package may put the native binary in its place."""
_LARGEST_LAUNCHER: Final = 1024 * 1024
_LINUX_PACKAGES: Final = {"x86_64": "claude-code-linux-x64", "aarch64": "claude-code-linux-arm64"}


def find_binary(config: ClaudeConfig, environ: Mapping[str, str], at: At = no_inquiry) -> Binary:
    """Return the CLI to run: configured, else `$CLAUDE_BINARY`, else the wheel, else `claude` on PATH (S6).

    The arguments and the errors are those of `Program.find`.
    """
    return PROGRAM.find(config.binary, environ, at)


def _is_launcher(path: Path) -> bool:
    return path.name in _LAUNCHERS and path.stat().st_size <= _LARGEST_LAUNCHER


def _native_binary(launcher: Path) -> Path | None:
    """Return the native binary that the npm launcher starts, or None.

    The binary is in a separate package, for glibc or for musl; npm installs the one that fits.
    """
    package = _LINUX_PACKAGES.get(platform.machine())
    if package is None:
        return None
    for above in launcher.parents:
        for name in (package, f"{package}-musl"):
            native = above / "node_modules" / "@anthropic-ai" / name / "claude"
            if native.is_file():
                return native
    return None


PROGRAM: Final = Program(
    name="Claude Code",
    command="claude",
    variable="CLAUDE_BINARY",
    install=(
        "install it with `pip install 'claude-agent-sdk>=0.2.187'` or, where this wheel does not exist, with "
        "`npm install -g @anthropic-ai/claude-code`"
    ),
    wheel="claude-agent-sdk",
    wheel_binary=("claude_agent_sdk", "_bundled", "claude"),
    is_launcher=_is_launcher,
    native_binary=_native_binary,
    parse_version=parse_version,
)
