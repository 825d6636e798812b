"""Why a server's tools are not known, in words that hold nothing of what it said (U11)."""

from __future__ import annotations

from codex_adapter.extras import how_to_install

__all__ = ["ServerError", "misunderstood", "not_started", "too_slow", "unreachable", "without_library"]


class ServerError(Exception):
    """A server's tools could not be asked for: one sentence of ours (U11)."""


def not_started() -> ServerError:
    """For a program that cannot be executed, or is gone before it has answered."""
    return ServerError("The server cannot be started, or ends before it answers; try its command by hand")


def unreachable() -> ServerError:
    """For a URL at which nobody answers, or whose answer breaks off."""
    return ServerError("The server cannot be reached at its URL, or hangs up; see that it runs there")


def too_slow(seconds: float) -> ServerError:
    """For a server that may yet answer."""
    return ServerError(f"The server did not answer in {seconds:g} seconds; see what it waits for")


def misunderstood() -> ServerError:
    """For an answer that is none, is an error, or is too long."""
    return ServerError("The server does not answer as an MCP server does; see that its command or URL is one")


def without_library() -> ServerError:
    """For a URL where nothing can be asked over HTTP."""
    return ServerError(f"Packages for servers with a URL are missing. {how_to_install('turns')}")
