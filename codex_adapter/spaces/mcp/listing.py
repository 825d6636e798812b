"""The tools of one server, and of several at once (U11)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import trio

from codex_adapter.spaces import Server
from codex_adapter.spaces.mcp.errors import ServerError, not_started, too_slow, without_library
from codex_adapter.spaces.mcp.stdio import tools_by_stdio
from codex_adapter.workspace import Containment

__all__ = ["list_all_tools", "list_tools"]

_AT_ONCE: Final = 64


async def list_tools(server: Server, *, seconds: float, containment: Containment | None = None) -> tuple[str, ...]:
    """The names of the server's tools, in its order, asked of it in at most so many seconds (U11).

    A program is started for that, and nothing of it is left then (H8). `containment` remembers from one to the next how
    well this machine can hold them. Raises `ServerError`.
    """
    with trio.move_on_after(seconds):
        return await _tools(server, containment or Containment())
    raise too_slow(seconds)


async def list_all_tools(servers: Sequence[Server], *, seconds: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tools of all servers as `SERVER/TOOL`, and the names of those that did not answer, in their order (U11).

    All of it takes at most so many seconds; one that fails holds up no other, but where there are very many of them.
    """
    # They are programs of the user, ssh among them perhaps, which a user namespace hinders.
    containment = Containment(strongest="guard")
    limiter = trio.CapacityLimiter(_AT_ONCE)
    answers: dict[int, tuple[str, ...]] = {}

    async def ask(number: int, server: Server) -> None:
        async with limiter:
            with suppress(ServerError):
                answers[number] = await list_tools(server, seconds=seconds, containment=containment)

    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for number, server in enumerate(servers):
                nursery.start_soon(ask, number, server)
    tools = (f"{server.name}/{tool}" for number, server in enumerate(servers) for tool in answers.get(number, ()))
    return tuple(tools), tuple(server.name for number, server in enumerate(servers) if number not in answers)


async def _tools(server: Server, containment: Containment) -> tuple[str, ...]:
    if server.url is not None:
        try:
            from codex_adapter.spaces.mcp.streamable_http import tools_by_http  # noqa: PLC0415 - an extra
        except ImportError:
            raise without_library() from None
        return await tools_by_http(server.url)
    if server.command is None:
        raise not_started()
    argv = (server.command, *server.args)
    return await tools_by_stdio(argv, env=server.env, cwd=server.cwd, containment=containment)
