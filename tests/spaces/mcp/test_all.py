"""Test several servers at once: none blocks another, and those without an answer are named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter.spaces.mcp import list_all_tools
from codex_adapter.testing.mcp_config import MCP_SERVER
from codex_adapter.testing.mcp_server import TOOLS

from ...runtime.survivors import Survivors
from .endpoint import endpoint, well
from .servers import LONG, program, remote, scripted

pytestmark = pytest.mark.rule("U11")


async def test_without_servers_there_is_nothing() -> None:
    assert await list_all_tools([], seconds=LONG) == ((), ())


async def test_tools_come_in_the_order_of_their_servers(tmp_path: Path, survivors: Survivors) -> None:
    with endpoint(well("x", "y")) as web:
        servers = [
            program("false", name="broken", env=survivors.env),
            scripted(tmp_path, "welcome(); page('b', 'a')", name="first", env=survivors.env),
            program(sys.executable, "-I", "-S", MCP_SERVER, name="second", env=survivors.env),
            scripted(tmp_path, "welcome(); page()", name="without", env=survivors.env),
            remote("http://127.0.0.1:1/", name="absent"),
            remote(web.url, name="third"),
        ]
        tools, unanswered = await list_all_tools(servers, seconds=LONG)
    expected = ["first/b", "first/a", *(f"second/{tool}" for tool in TOOLS), "third/x", "third/y"]
    assert (list(tools), unanswered) == (expected, ("broken", "absent"))


@pytest.fixture
def clock() -> MockClock:
    """The clock of the test, which runs as any other and which the test can move forward."""
    return MockClock(rate=1.0)


async def passing(clock: MockClock, *told: Path) -> None:
    """Let the time limit of two minutes pass as soon as these files exist and all that they mean was read."""
    while not all(path.exists() for path in told):
        await wait_all_tasks_blocked(0.01)
    await wait_all_tasks_blocked(0.01)
    clock.jump(2 * LONG)


async def test_one_that_hangs_holds_up_no_other(tmp_path: Path, survivors: Survivors, clock: MockClock) -> None:
    hanging = [scripted(tmp_path, "time.sleep(600)", name=f"hung{number}", env=survivors.env) for number in range(7)]
    good = scripted(tmp_path, "welcome(); page('a'); open('told', 'w'); hear()", name="good", env=survivors.env)
    with trio.fail_after(3 * LONG):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(passing, clock, tmp_path / "told")
            tools, unanswered = await list_all_tools([*hanging, good], seconds=2 * LONG)
    assert (tools, unanswered) == (("good/a",), tuple(server.name for server in hanging))


@pytest.mark.fault(
    "turns",
    "Many MCP servers hang when the adapter lists their tools",
    "One time limit covers all servers, and the result names them",
)
async def test_however_many_hang_it_takes_no_longer(tmp_path: Path, survivors: Survivors, clock: MockClock) -> None:
    servers = [scripted(tmp_path, "time.sleep(600)", name=f"hung{number}", env=survivors.env) for number in range(70)]
    with trio.fail_after(3 * LONG):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(passing, clock)
            tools, unanswered = await list_all_tools(servers, seconds=2 * LONG)
    assert (tools, unanswered) == ((), tuple(server.name for server in servers))
    assert survivors.now() == []


async def test_all_are_asked_at_once_and_all_are_gone_when_it_is_cancelled(
    tmp_path: Path, survivors: Survivors
) -> None:
    os.mkfifo(tmp_path / "up")
    up = os.open(tmp_path / "up", os.O_RDWR | os.O_NONBLOCK)
    try:
        script = "open(__file__ + '.up', 'w').close(); os.write(os.open('up', os.O_WRONLY), b'x'); time.sleep(600)"
        servers = [scripted(tmp_path, script, name=f"s{number}", env=survivors.env) for number in range(20)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: list_all_tools(servers, seconds=LONG))
            for _ in range(20):
                await trio.lowlevel.wait_readable(up)
                assert os.read(up, 1) == b"x"
            assert len(list(tmp_path.glob("*.up"))) == 20
            assert len(survivors.now()) >= 20
            nursery.cancel_scope.cancel()
        assert survivors.now() == []
    finally:
        os.close(up)
