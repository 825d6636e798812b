"""Refuse to log in pi, which logs in only in its own program (C16)."""

from __future__ import annotations

from typing import NoReturn

from codex_adapter.agents.pi.advice import LOGIN
from codex_adapter.errors import InvalidRequestError

__all__ = ["login_command"]


def login_command() -> NoReturn:
    """Raise `InvalidRequestError` with the next step: the CLI has no command that logs in (C16)."""
    raise InvalidRequestError(f"pi logs in only in its own program. {LOGIN}")
