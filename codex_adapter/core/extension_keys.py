"""Define the extension keys and the capabilities that agents have in common (Q3, G3)."""

from __future__ import annotations

from typing import Final

__all__ = ["ADD_DIRS", "FORK", "MODEL", "NON_INTERACTIVE", "RESUME", "WITHOUT_KEY"]

ADD_DIRS: Final = "agent_api.exec.add_dirs.v1"
FORK: Final = "agent_api.session.fork.v1"
MODEL: Final = "agent_api.config.model.v1"
NON_INTERACTIVE: Final = "agent_api.exec.non_interactive"
RESUME: Final = "agent_api.session.resume.v1"

WITHOUT_KEY: Final = frozenset(
    {
        "agent_api.run",
        "agent_api.events",
        "agent_api.events.live",
        "agent_api.control.cancel.v1",
        "agent_api.tools.structured.v1",
        "agent_api.session.handle.v1",
    }
)
"""The capabilities that need no extension key."""
