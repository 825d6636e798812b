"""Define how Claude Code is run."""

from __future__ import annotations

from codex_adapter.request import RunConfig

__all__ = ["ClaudeConfig"]


class ClaudeConfig(RunConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of Claude Code: the fields of `RunConfig`, and those that only this CLI has.

    `config_dir` sets `CLAUDE_CONFIG_DIR`, where the CLI keeps its login, settings and sessions; None inherits it.
    """

    config_dir: str | None = None
