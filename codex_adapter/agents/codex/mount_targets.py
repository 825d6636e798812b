"""Name the mount points that the CLI's sandbox creates, and the directories in which it leaves them (K8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from codex_adapter.agents.codex.extensions import ExecOptions

__all__ = ["MOUNT_TARGETS", "mount_roots"]

MOUNT_TARGETS: Final = (".git", ".codex", ".agents", ".aws")


def mount_roots(options: ExecOptions, env: Mapping[str, str], cwd: str) -> list[str]:
    """Return the directories that commands of a run may write to; none unless the sandbox restricts them."""
    if options.sandbox_mode != "workspace-write":
        return []
    return [cwd, *options.add_dirs, "/tmp", env.get("TMPDIR", "/tmp")]  # noqa: S108 - as the CLI has them
