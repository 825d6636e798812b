"""Test well-behaved MCP servers on stdio: their tools are listed, and they end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from codex_adapter.spaces import Server
from codex_adapter.spaces.mcp import ServerError, list_tools
from codex_adapter.testing.mcp_config import MCP_SERVER
from codex_adapter.testing.mcp_server import TOOLS
from codex_adapter.workspace import Containment

from ...runtime.survivors import Survivors
from .servers import LONG, program, scripted

pytestmark = pytest.mark.rule("U11")
Serving = Callable[[str], Server]


@pytest.mark.parametrize("mode", ["ok", "garbage"])
async def test_a_server_is_asked_for_the_names_of_its_tools(mode: str, survivors: Survivors) -> None:
    server = program(sys.executable, "-I", "-S", MCP_SERVER, mode, env=survivors.env)
    assert await list_tools(server, seconds=LONG) == tuple(TOOLS)


async def test_all_pages_are_asked_for_and_each_name_counts_once(serving: Serving) -> None:
    server = serving("""
welcome(tools={})
assert page("b", "a", nextCursor="2") == {}
assert page("c", "a", nextCursor="\\u2603") == {"cursor": "2"}
assert page("d") == {"cursor": "\\u2603"}
""")
    assert await list_tools(server, seconds=LONG) == ("b", "a", "c", "d")


@pytest.mark.parametrize("last", ["nextCursor=None", "nextCursor=''", "_meta={'nextCursor': 'x'}"])
async def test_a_page_without_a_cursor_is_the_last(serving: Serving, last: str) -> None:
    assert await list_tools(serving(f"welcome(tools={{}}); page('a', {last})"), seconds=LONG) == ("a",)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_server_may_speak_another_revision_than_was_offered(serving: Serving, revision: str) -> None:
    server = serving(f"assert welcome({revision!r})['protocolVersion'] == '2025-06-18'; page('a')")
    assert await list_tools(server, seconds=LONG) == ("a",)


@pytest.mark.parametrize("code", [-32601, -32600])
async def test_a_server_that_offers_no_tools_need_not_know_the_question(serving: Serving, code: int) -> None:
    server = serving(f"welcome(); say(id=hear()['id'], error={{'code': {code}, 'message': 'no'}})")
    if code == -32601:
        assert await list_tools(server, seconds=LONG) == ()
    else:
        with pytest.raises(ServerError):
            await list_tools(server, seconds=LONG)


async def test_requests_of_the_server_are_answered_meanwhile(serving: Serving) -> None:
    server = serving("""
say(id="first", method="ping")
say(id=7, method="sampling/createMessage", params={"messages": []})
asked = hear()
assert asked["method"] == "initialize"
assert hear() == {"jsonrpc": "2.0", "id": "first", "result": {}}
refused = hear()
assert (refused["id"], refused["error"]["code"]) == (7, -32601)
say(id=asked["id"], result={"protocolVersion": "2025-06-18", "capabilities": {}})
hear()
page("a")
""")
    assert await list_tools(server, seconds=LONG) == ("a",)


async def test_what_is_no_answer_is_left_aside(serving: Serving) -> None:
    server = serving("""
print("Listening on stdio", flush=True)
print("\\n  \\r\\n[1, null, \\"x\\", {}, []]\\nnull\\n{\\"id\\":1}\\n{\\"id\\":true,\\"result\\":{}}", flush=True)
print("[" * 100000 + "]" * 100000, flush=True)
sys.stdout.buffer.write(b"\\xff\\xfe\\n")
sys.stderr.write("x" * 1000000)
say(method="notifications/message", params={"level": "info", "data": "x"})
say(id=None, error={"code": -32700, "message": "what?"})
say(id=99, result={"protocolVersion": "no"})
say(id="1", result={"protocolVersion": "no"})
welcome()
say(id=1, result={})
say(method="notifications/tools/list_changed")
page("a")
""")
    assert await list_tools(server, seconds=LONG) == ("a",)


async def test_a_server_may_send_several_messages_on_one_line(serving: Serving) -> None:
    server = serving("""
asked = hear()
result = {"protocolVersion": "2025-03-26", "capabilities": {}}
print(json.dumps([{"id": 5, "method": "ping"}, {"method": "x"}, {"id": asked["id"], "result": result}]), flush=True)
assert hear()["id"] == 5
hear()
page("a")
""")
    assert await list_tools(server, seconds=LONG) == ("a",)


async def test_a_server_may_answer_in_any_pieces(serving: Serving) -> None:
    server = serving("""
def say(**message):
    for byte in json.dumps(message).encode() + b"\\n":
        os.write(1, bytes([byte]))
welcome()
page("\\u00e4")
""")
    assert await list_tools(server, seconds=LONG) == ("\N{LATIN SMALL LETTER A WITH DIAERESIS}",)


async def test_a_server_may_answer_and_exit_at_once(serving: Serving) -> None:
    server = serving("""
for number, result in enumerate([{"protocolVersion": "2025-06-18"}, {"tools": [{"name": "a"}]}], 1):
    say(id=number, result=result)
""")
    assert await list_tools(server, seconds=LONG) == ("a",)


async def test_a_server_starts_in_its_directory_with_its_arguments(tmp_path: Path, survivors: Survivors) -> None:
    script = "welcome(); page(os.getcwd(), *sys.argv[1:])"
    server = scripted(tmp_path, script, env=survivors.env)
    odd = ("a b", "$HOME", "'\"", "*", "")
    arguments = (*server.args, *odd[:-1])
    server = program(sys.executable, *arguments, cwd=str(tmp_path), env=survivors.env)
    assert await list_tools(server, seconds=LONG) == (str(tmp_path.resolve()), *odd[:-1])


@pytest.mark.parametrize("command", ["./tool", "tool"])
async def test_a_command_is_looked_up_as_a_shell_does(tmp_path: Path, survivors: Survivors, command: str) -> None:
    server = scripted(tmp_path, "welcome(); page('a')")
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\nexec {server.command} {' '.join(server.args)}\n")
    tool.chmod(0o755)
    env = survivors.env | {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert await list_tools(program(command, env=env, cwd=str(tmp_path)), seconds=LONG) == ("a",)


async def test_a_server_has_the_variables_that_the_cli_gives_it_and_its_own(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen")
    monkeypatch.setenv("CODEX_HOME", "/nowhere")
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    monkeypatch.setenv("LC_ALL", "C")
    server = serving("open('env', 'w').write(json.dumps(dict(os.environ))); welcome(); page()")
    own = {"TOKEN": "the server's own", "LD_PRELOAD": "/none.so", "LC_ALL": "POSIX"}
    server = program(server.command or "", *server.args, env={**server.env, **own}, cwd=str(tmp_path))
    await list_tools(server, seconds=LONG)
    env = json.loads((tmp_path / "env").read_text())
    assert "sk-not-to-be-seen" not in env.values()
    assert "CODEX_HOME" not in env
    assert own.items() <= env.items()
    assert env["TZ"] == "Asia/Kolkata"
    assert {"HOME", "PATH", "LANG", "TMPDIR"} <= env.keys()


async def test_a_server_is_given_time_to_end_by_itself(serving: Serving, tmp_path: Path) -> None:
    server = serving("welcome(); page('a'); assert sys.stdin.read() == ''; open('ended', 'w')")
    assert await list_tools(server, seconds=LONG) == ("a",)
    assert (tmp_path / "ended").exists()


async def test_servers_share_what_is_known_of_this_machine(serving: Serving) -> None:
    containment = Containment()
    server = serving("welcome(); page('a')")
    assert await list_tools(server, seconds=LONG, containment=containment) == ("a",)
    assert containment.level is not None


async def test_a_command_that_is_none_is_told(survivors: Survivors, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    for server in (
        program("/no/such/program", env=survivors.env),
        program("no-such-program", env=survivors.env),
        program("", env=survivors.env),
        program("-x", env=survivors.env),
        program(str(plain), env=survivors.env),
        program(str(tmp_path), env=survivors.env),
        program("true", env=survivors.env),
        program("true", env=survivors.env, cwd="/no/such/directory"),
        program("true", env=survivors.env, cwd="\0"),
        program("true", env=survivors.env, cwd="\ud800"),
        program("true\0", env=survivors.env),
        program("true", "x" * 200_000, env=survivors.env),
        program("true", env={**survivors.env, "A-B": "x"}),
        program("true", env={**survivors.env, "A": "\0"}),
        Server(name="none", command=None, args=(), env={}, cwd=None, url=None, space="any"),
    ):
        with pytest.raises(ServerError, match="cannot be started"), trio.fail_after(LONG):
            await list_tools(server, seconds=LONG)
