"""Test hostile MCP servers on stdio: their output is bounded, and they end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from codex_adapter.spaces import Server
from codex_adapter.spaces.mcp import ServerError, list_tools
from tests.widths import thinned

from ...runtime.survivors import Survivors
from .servers import LONG, NEVER

pytestmark = pytest.mark.rule("U11")
Serving = Callable[[str], Server]
SECRET = "sk-said-by-the-server"
SLOW, GONE, OTHER = "did not answer in", "cannot be started", "does not answer like"


def welcomed(script: str) -> str:
    """The script, after a good beginning."""
    return f"welcome(tools={{}}); {script}"


def listed(result: str) -> str:
    """A server that answers so when it is asked for its tools."""
    return welcomed(f"say(id=hear()['id'], result={result}); hear()")


@pytest.mark.parametrize(
    ("script", "told"),
    thinned(
        [
            ("time.sleep(600)", SLOW),
            ("hear(); hear()", SLOW),
            (welcomed("hear(); hear()"), SLOW),
            ("os.kill(os.getpid(), signal.SIGSTOP)", SLOW),
            ("sys.exit(0)", GONE),
            ("hear(); sys.exit(3)", GONE),
            (welcomed("sys.exit(0)"), GONE),
            ("os.close(1); time.sleep(600)", GONE),
            ("os.close(0); os.close(1); time.sleep(600)", GONE),
            ("os.close(0); time.sleep(600)", SLOW),
            ("os.kill(os.getpid(), signal.SIGKILL)", GONE),
            ("print('{\"id\":1,\"result\":', end='', flush=True)", GONE),
            ("while True: os.write(1, b'x' * 65536)", OTHER),
            ("while True: os.write(1, b'\\n' * 65536)", OTHER),
            ("while True: os.write(1, (b'x' * 1048575 + b'\\n'))", OTHER),
            ("while True: say(method='notifications/message', params={'data': 'x' * 10000})", OTHER),
            ("while True: say(id=1, method='ping')", f"{SLOW}|{OTHER}"),
            (
                welcomed("print('[' + '{\"id\":1,\"method\":\"ping\"},' * 50000 + '1]', flush=True); time.sleep(600)"),
                SLOW,
            ),
        ],
        2,
    ),
    ids=lambda text: text[:60],
)
@pytest.mark.fault(
    "turns",
    "An MCP server floods, hangs, exits or violates the protocol",
    "The result names it as a server without an answer, and its process ends",
)
async def test_a_server_that_gives_no_answer_is_told_and_gone(serving: Serving, script: str, told: str) -> None:
    with trio.fail_after(LONG), pytest.raises(ServerError, match=told):
        await list_tools(serving(script), seconds=NEVER if told.startswith(SLOW) else LONG)


@pytest.mark.parametrize(
    "script",
    thinned(
        [
            f"say(id=hear()['id'], error={{'code': -1, 'message': '{SECRET}'}}); hear()",
            "say(id=hear()['id'], error='broken'); hear()",
            "say(id=hear()['id'], result=None); hear()",
            f"say(id=hear()['id'], result='{SECRET}'); hear()",
            f"say(id=hear()['id'], result={{'protocolVersion': '{SECRET}', 'capabilities': {{}}}}); hear()",
            "say(id=hear()['id'], result={'capabilities': {}}); hear()",
            "say(id=hear()['id'], result={'protocolVersion': 20250618}); hear()",
            "say(id=hear()['id'], result={'protocolVersion': '2025-06-18', 'capabilities': []}); hear()",
            welcomed(f"say(id=hear()['id'], error={{'code': -32601, 'message': '{SECRET}'}}); hear()"),
            listed("None"),
            listed("[]"),
            listed("{}"),
            listed("{'tools': {}}"),
            listed("{'tools': [{}]}"),
            listed("{'tools': [{'name': 5}]}"),
            listed("{'tools': [{'name': ''}]}"),
            listed("{'tools': ['a']}"),
            listed(f"{{'tools': [{{'name': '{SECRET}' + chr(27)}}]}}"),
            listed(f"{{'tools': [{{'name': '{SECRET}' + chr(10)}}]}}"),
            listed("{'tools': [{'name': 'x' * 257}]}"),
            listed("{'tools': [{'name': str(n)} for n in range(10001)]}"),
            listed("{'tools': [{'name': 'a'}] * 10001}"),
            listed("{'tools': [], 'nextCursor': 5}"),
            listed("{'tools': [{'name': 'a', 'description': 'x' * 4194304}]}"),
            welcomed("\nwhile True: page('a', nextCursor='again')"),
            welcomed("\nwhile True: page(*map(str, range(5000)), nextCursor='again')"),
        ],
        3,
    ),
    ids=lambda script: script[:90],
)
async def test_an_answer_that_is_none_is_told_and_not_quoted(serving: Serving, script: str) -> None:
    with pytest.raises(ServerError, match=OTHER) as caught:
        await list_tools(serving(script), seconds=LONG)
    assert SECRET not in repr(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_the_largest_answer_is_taken(serving: Serving) -> None:
    names = [f"{number:04}".ljust(256, "x") for number in range(10_000)]
    server = serving("""
welcome()
names = [f"{number:04}".ljust(256, "x") for number in range(10000)]
for start in range(0, 9900, 100):
    page(*names[start:start + 100], nextCursor="more", _meta="x" * 300000)
page(*names[9900:], _meta="x" * (4194304 - 40000))
""")
    assert await list_tools(server, seconds=LONG) == tuple(names)


@pytest.mark.parametrize(
    "start",
    [
        "for number in range(1, 65):\n    number in (9, 19, 32, 33) or signal.signal(number, signal.SIG_IGN)",
        "os.fork() or (os.setsid(), time.sleep(600))",
        "os.fork() and os._exit(0)\nos.setsid()\nos.fork() and os._exit(0)",
        "os.fork() or os.execvpe('sleep', ['sleep', '600'], {})",
        "for _ in range(50): os.fork() or time.sleep(600)",
        "if not os.fork():\n    os.setsid()\n    while True: os.fork() or (time.sleep(0.05), os._exit(0))",
        "os.fork() or os.kill(os.getpid(), signal.SIGSTOP)",
    ],
    ids=lambda script: script[:60],
)
@pytest.mark.fault("turns", "An MCP server leaves processes behind", "No process survives")
async def test_nothing_that_a_server_started_is_left(serving: Serving, survivors: Survivors, start: str) -> None:
    server = serving(f"{start}\nwelcome()\npage('a')\nwhile True: time.sleep(600)")
    assert await list_tools(server, seconds=LONG) == ("a",)
    assert survivors.now() == []


@pytest.mark.parametrize("ending", ["cancelled", "too late"])
async def test_nothing_is_left_of_a_server_that_is_not_waited_for(
    serving: Serving, survivors: Survivors, tmp_path: Path, ending: str
) -> None:
    os.mkfifo(tmp_path / "up")
    server = serving("""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.fork() or os.setsid()
open("up", "w").close()
time.sleep(600)
""")
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:

            async def cancel() -> None:
                await trio.to_thread.run_sync((tmp_path / "up").read_bytes)
                assert len(survivors.now()) >= 1
                scope.cancel()

            if ending == "cancelled":
                nursery.start_soon(cancel)
            with pytest.raises(ServerError, match=SLOW):
                await list_tools(server, seconds=LONG if ending == "cancelled" else NEVER)
    assert scope.cancelled_caught == (ending == "cancelled")
    assert survivors.now() == []
