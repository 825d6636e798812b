"""Test the command `space` with valid and invalid spaces, and the content that it lists."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from codex_adapter.testing import MCP_SERVER

from ..runtime.survivors import Survivors
from ..spaces.spaces_stage import make_space
from ..waiting import until
from .command import Cli

pytestmark = pytest.mark.rule("C14")
SKILL = "---\ndescription: How one greets.\n---\nSay ahoy.\n"
HOOKS = 'schema = 1\n[[hook]]\nname = "note"\nevent = "stop"\ncommand = "true"\n'


def servers(**commands: list[str]) -> str:
    """The file of these MCP servers."""
    listed = {name: {"command": command[0], "args": command[1:]} for name, command in commands.items()}
    return json.dumps({"mcpServers": listed})


@pytest.fixture
def space(cli: Cli) -> Path:
    """A space that depends on another one."""
    make_space(cli.directory / "base", "base", files={"skills/greeting/SKILL.md": SKILL})
    mcp = servers(notes=[sys.executable, "-I", "-S", MCP_SERVER, "ok"], broken=["false"])
    files = {"hooks/hooks.toml": HOOKS, "mcp/mcp.json": mcp}
    return make_space(cli.directory / "house", "house", deps=["space:path:../base"], files=files)


def test_a_space_that_is_fine(cli: Cli, space: Path) -> None:
    done = cli.run("space", "check", "house")
    assert (done.status, done.stderr, done.records) == (0, "", [{"ok": True}])
    assert cli.run("space", "check", "--format", "pretty", str(space)).stdout == b"+ the space is valid\n"
    assert sorted(path.name for path in cli.directory.iterdir()) == ["base", "house"]


@pytest.mark.parametrize("action", ["check", "describe"])
def test_a_space_that_is_not_fine_says_why(cli: Cli, space: Path, action: str) -> None:
    (cli.directory / "base" / "space.toml").write_text('schema = 1\nid = "base"\nhunter = "hunter2-hunter2"\n')
    done = cli.run("space", action, "house")
    [answer] = done.records
    assert (done.status, done.stderr, answer["ok"]) == (1, "", False)
    assert answer["error"]["code"] == "resolve_failed"
    assert answer["error"]["message"].startswith("space:path:../base (by way of house): space.toml: ")
    assert b"hunter2" not in done.stdout
    text = cli.run("space", action, "house", "--format", "pretty")
    assert (text.status, text.stdout.decode()) == (1, f"x {answer['error']['message']}\n")


@pytest.mark.rule("U11")
def test_it_is_described_by_names(cli: Cli, space: Path) -> None:
    done = cli.run("space", "describe", "house")
    [answer] = done.records
    assert (done.status, done.stderr) == (0, "")
    assert (answer["hooks"], answer["skills"], answer["unanswered"]) == (["note"], ["greeting"], ["broken"])
    assert answer["tools"]
    assert all(name.startswith("notes/") for name in answer["tools"])
    assert Survivors(cli.directory).now() == []
    text = cli.run("space", "describe", "house", "--format", "pretty").stdout.decode().splitlines()
    assert text == [
        "# hooks: note",
        "# skills: greeting",
        f"# tools: {', '.join(answer['tools'])}",
        "! MCP server broken did not answer. Its tools are unknown.",
    ]


def test_registry_and_dependencies_are_those_of_the_home_that_is_named(cli: Cli) -> None:
    make_space(cli.directory / "house", "house", deps=["space:base@^1"])
    make_space(cli.directory / "asp" / "registry" / "base" / "1.0.0", "base", "1.0.0")
    assert cli.run("space", "check", "house").status == 1
    assert cli.run("space", "check", "house", "--asp-home", "asp").status == 0
    cli.env["ASP_HOME"] = "asp"
    assert cli.run("space", "check", "house").status == 0
    (cli.directory / "asp").rename(cli.directory / ".asp")
    del cli.env["ASP_HOME"]
    assert cli.run("space", "check", "house").status == 0


def test_a_signal_ends_the_asking_and_the_servers(cli: Cli) -> None:
    mcp = servers(slow=["sh", "-c", ": > ${SPACE}/asked; sleep 1000"])
    space = make_space(cli.directory / "house", "house", files={"mcp/mcp.json": mcp})
    with cli.start("space", "describe", str(space)) as process:
        until((space / "asked").exists)
        process.send_signal(signal.SIGTERM)
        done = cli.finish(process)
    assert (done.status, done.stdout, done.stderr) == (143, b"", "")
    assert Survivors(cli.directory).now() == []
