"""List the mount points that the CLI's sandbox creates in the directories that commands may write to (K8).

The CLI removes them itself, unless it is killed during a command.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MOUNT_TARGETS"]

_OWN_FILES: Final = (
    *(".cc-writes", "agents", "commands", "hooks", "launch.json", "loop.md", "output-styles", "routines"),
    *("scheduled_tasks.json", "settings.json", "settings.local.json", "skills", "workflows"),
)
_FILES: Final = (
    *(".bash_profile", ".bashrc", ".gitconfig", ".gitmodules", ".idea", ".mcp.json", ".profile", ".ripgreprc"),
    *(".vscode", ".zprofile", ".zshrc"),
)
MOUNT_TARGETS: Final = (*(f".claude/{name}" for name in _OWN_FILES), ".claude", *_FILES)
"""Files and directories that did not exist before, with the content of a directory before the directory."""
