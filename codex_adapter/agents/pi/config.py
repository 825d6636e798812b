"""Define how pi is run."""

from __future__ import annotations

from codex_adapter.request import RunConfig

__all__ = ["PiConfig"]


class PiConfig(RunConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of pi: the fields of `RunConfig`, and those that only this CLI has.

    `agent_dir` sets `PI_CODING_AGENT_DIR`, where the CLI keeps its login, models, settings and sessions; None inherits
    it.
    """

    agent_dir: str | None = None
