"""Record real lines of the wire: of `run` and `replay`, of `serve` in both directions, and of `operations`.

Everything runs in a temporary directory, with scripted agents in the place of the Codex CLI.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from codex_adapter.testing import (
    MCP_SERVER,
    Hang,
    PrintJson,
    ReadPrompt,
    Sleep,
    Step,
    write_agent,
)
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    error_item,
    file_change,
    thread_started,
    turn_completed,
    turn_started,
)
from docs.generate.conversation import Conversation

__all__ = ["ROOT", "Line", "daemon_lines", "operation_lines", "records"]

ROOT: Final = Path(__file__).parents[2]
RECORDINGS: Final = ROOT / "fixtures" / "codex"
ADAPTER: Final = (sys.executable, "-m", "codex_adapter")
MOST_SECONDS: Final = 60

_BEGIN: Final[tuple[Step, ...]] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
_COMMAND: Final[tuple[Step, ...]] = (
    PrintJson(command_started("item_0", "pytest -q")),
    PrintJson(command_completed("item_0", "pytest -q", "1 failed\n", exit_code=1)),
)
_MESSAGE: Final = "The test expects 3, and the function returns 2."
_GROWING: Final = {"type": "item.updated", "item": {"id": "item_1", "type": "agent_message", "text": _MESSAGE[:15]}}
_TURN: Final[tuple[Step, ...]] = (
    *_BEGIN,
    *_COMMAND,
    PrintJson(_GROWING),
    PrintJson(agent_message("item_1", _MESSAGE)),
    PrintJson(turn_completed()),
)
_HANGING: Final[tuple[Step, ...]] = (*_BEGIN, *_COMMAND, Hang())
_SANDBOX_FAILURE: Final = "bwrap: No permissions to create new namespace"
_LONG_PLAN: Final = [{"text": f"Read module {number}.", "completed": False} for number in range(3000)]
_RARE_LINES: Final[tuple[Any, ...]] = (
    thread_started(),
    turn_started(),
    error_item("item_0", "The connection was lost once."),
    {"type": "item.completed", "item": {"id": "item_1", "type": "future_item", "text": "Not known yet."}},
    command_started("item_2", "ls"),
    command_completed("item_2", "ls", f"{_SANDBOX_FAILURE}\n", exit_code=1),
    command_started("item_3", "pwd"),
    command_completed("item_3", "pwd", f"{_SANDBOX_FAILURE}\n", exit_code=1),
    {"type": "item.started", "item": {"id": "item_4", "type": "todo_list", "items": _LONG_PLAN}},
    file_change("item_5", {"src/count.py": "update"}),
    agent_message("item_6", _MESSAGE),
    turn_completed(),
)
"""Lines with what the recordings of the real CLI do not have."""
_MODELS: Final = '{"models": [{"slug": "gpt-5.1-codex"}, {"slug": "gpt-5.1-codex-mini"}]}'
_CLI: Final = """\
#!/bin/sh
case "$1" in
--version) echo codex-cli 0.169.0;;
debug) echo '{models}';;
*) exec "${{AGENT:-{agent}}}" "$@";;
esac
"""
_OPERATIONS: Final[tuple[Any, ...]] = (
    {"type": "message", "id": "m1", "content": "I change the greeting."},
    {"type": "createFile", "id": "c1", "path": "hello.txt", "content": "Hello.\n"},
    {"type": "createFile", "id": "c2", "path": "data.bin", "content": "AAEC", "encoding": "base64", "overwrite": True},
    {"type": "readFile", "id": "r1", "path": "hello.txt"},
    {
        "type": "editFile",
        "id": "e1",
        "path": "hello.txt",
        "edits": [{"oldContent": "Hello.", "newContent": "Good morning."}],
    },
    {"type": "shell", "id": "s1", "command": "cat hello.txt", "timeout": 10_000},
    {"type": "shell", "id": "s2", "command": "head -c 20000000 /dev/zero | tr '\\0' x", "timeout": 10_000},
    {"type": "readFile", "id": "r2", "path": "missing.txt"},
    {"type": "shell", "id": "s3", "command": "sudo reboot"},
    {"type": "deleteFile", "id": "d1", "path": "data.bin"},
    {"type": "shell", "id": "s4", "command": "git push --force"},
)


class Line(NamedTuple):
    """One line of a conversation with the daemon: its definition in the schema, and its value."""

    name: str
    value: Any


@cache
def records() -> list[Any]:
    """Return records: of each kind from the recordings of the real CLI, then what only other lines give."""
    found: dict[Any, Any] = {}
    for value in (*_golden_records(), *_replayed_records(), *_failed_records()):
        found.setdefault(_shape(value), value)
    return list(found.values())


@cache
def daemon_lines() -> list[Line]:
    """Return the lines of conversations between a supervisor and `codex-adapter serve`."""
    with tempfile.TemporaryDirectory(prefix="codex-adapter-docs-") as place:
        return list(_conversations(Path(place).resolve()))


@cache
def operation_lines() -> tuple[list[Any], list[Any]]:
    """Return the messages sent to `codex-adapter operations`, and its events messages."""
    with tempfile.TemporaryDirectory(prefix="codex-adapter-docs-") as place:
        push = {"type": "shell", "id": "s5", "command": "git push --force"}
        outside = {"type": "createFile", "id": "c3", "path": "../hello.txt", "content": ""}
        sent: list[Any] = [
            {"protocolVersion": "1.0", "operations": list(_OPERATIONS)},
            {"type": "userMessage", "content": "denied"},
            {"protocolVersion": "1.0", "operations": [outside, push]},
            {"approval": {"operationId": "s5", "decision": "denied", "reason": "not today"}},
            {"type": "userMessage", "content": "Now run the tests."},
        ]
        lines = "".join(json.dumps(message) + "\n" for message in sent)
        command = [*ADAPTER, "operations", "--workspace", place, "--format", "jsonl"]
        received = [json.loads(line) for line in _output(command, lines, place).splitlines()]
    return sent, _without(place, "/home/you/project", received)


def _golden_records() -> Iterator[Any]:
    # What Codex does not report is from the recordings of other agents.
    for agent in (RECORDINGS, *sorted(set(RECORDINGS.parent.iterdir()) - {RECORDINGS})):
        for folder in sorted(agent.iterdir(), key=_version, reverse=True)[:1]:
            for path in sorted(folder.glob("*.events.jsonl")):
                yield from map(json.loads, path.read_bytes().splitlines())


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(map(int, folder.name.split("."))) if folder.is_dir() else ()


def _replayed_records() -> Iterator[Any]:
    lines = "".join(json.dumps(line) + "\n" for line in _RARE_LINES)
    for payloads in ("metadata", "full"):
        command = [*ADAPTER, "replay", "--format", "jsonl", "--tool-payloads", payloads, "-"]
        yield from map(json.loads, _output(command, lines, "/").splitlines())


def _failed_records() -> Iterator[Any]:
    for line in daemon_lines():
        if line.name == "RunCompletedNotification":
            yield line.value["params"]["completion"]


def _conversations(place: Path) -> Iterator[Line]:
    work, agents, journal, home = (place / name for name in ("work", "agents", "journal", "home"))
    for folder in (work, home / ".codex"):
        folder.mkdir(parents=True)
    write_agent(agents, _HANGING, name="hanging")
    write_agent(agents, (*_BEGIN, Sleep(30)), name="sleeping")
    default = write_agent(agents, _TURN, name="default")
    binary = place / "codex"
    binary.write_text(_CLI.format(models=_MODELS, agent=default))
    binary.chmod(0o755)
    (home / ".codex" / "config.toml").write_text(_CONFINEMENT)
    asp_home = _spaces(place)
    command = [*ADAPTER, "serve", "--codex", str(binary), "--journal", str(journal), "--journal-prompts"]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": str(place)}
    with Conversation(command, env) as daemon:
        _runs(daemon, work, agents)
        _turns(daemon, work, agents, asp_home)
        daemon.call("shutdown", mode="drain")
        daemon.notify("exit")
        lines = daemon.close()
    lines += [("RunRecord", json.loads(path.read_bytes().splitlines()[0])) for path in sorted(journal.glob("*.jsonl"))]
    yield from (Line(name, _without(str(place), "/home/you", value)) for name, value in lines)


def _runs(daemon: Conversation, work: Path, agents: Path) -> None:
    daemon.call("initialize", protocolVersion="1.0", clientInfo={"name": "my-supervisor", "version": "1.0"})
    request = {
        "prompt": "Why does the test fail?",
        "working_dir": str(work),
        "timeout": 600,
        "labels": {"task": "TASK-7"},
    }
    daemon.call("run/start", runId="fix-1", agentKind="codex", request=request, credit=100)
    daemon.until_completed("fix-1")
    daemon.call("run/events", runId="fix-1", fromSeq=0)
    hanging = {"AGENT": str(agents / "hanging")}
    daemon.call("run/start", runId="fix-2", agentKind="codex", request={**request, "env": hanging}, credit=1)
    daemon.until_event("fix-2")
    daemon.call("run/list")
    daemon.call("run/credit", runId="fix-2", events=50)
    daemon.call("run/cancel", runId="fix-2", kill=True)
    daemon.until_completed("fix-2")
    daemon.call("run/cancel", runId="fix-2")
    slow = {**request, "timeout": 0.2, "env": {"AGENT": str(agents / "sleeping")}}
    daemon.call("run/start", runId="fix-3", agentKind="codex", request=slow, credit=100)
    daemon.until_completed("fix-3")
    daemon.call("run/start", runId="fix-4", agentKind="codex", request={**request, "env": hanging}, credit=100)
    daemon.call("run/detach", runId="fix-4")
    daemon.call("run/cancel", runId="fix-4", kill=True)
    daemon.refusal("run/start", agentKind="codex", request={**request, "prompt": ""})


def _turns(daemon: Conversation, work: Path, agents: Path, asp_home: Path) -> None:
    where = {"aspHome": str(asp_home), "spec": {"spaces": ["space:review"]}}
    turn = {**where, "harness": "codex", "cwd": str(work), "prompt": "Why does the test fail?"}
    daemon.call("turns/capabilities")
    daemon.call("turns/resolve", **where)
    daemon.call("turns/describe", **where)
    daemon.call("turns/resolve", aspHome=str(asp_home), spec={"spaces": ["space:missing"]})
    target = {"targetName": "review", "targetDir": str(work)}
    daemon.call("turns/resolve", aspHome=str(asp_home), spec={"target": target})
    daemon.call("turns/run", externalSessionId="chat-1", externalRunId="turn-1", **turn)
    hanging = {"AGENT": str(agents / "hanging")}
    running = daemon.send("turns/run", externalSessionId="chat-2", externalRunId="turn-2", **turn, env=hanging)
    daemon.until_turn_event("turn-2", "message")
    daemon.call("turns/cancel", externalRunId="turn-2")
    daemon.until_refused(running)


_CONFINEMENT: Final = """\
sandbox_mode = "workspace-write"

[sandbox_workspace_write]
exclude_tmpdir_env_var = true
exclude_slash_tmp = true
"""
"""Spaces must be out of reach of the agent, and here they are in a temporary directory."""


def _spaces(place: Path) -> Path:
    space = place / "asp" / "registry" / "review" / "dev"
    (space / "skills" / "reviewing").mkdir(parents=True)
    (space / "skills" / "reviewing" / "SKILL.md").write_text("---\ndescription: How to review.\n---\nRead it twice.\n")
    (space / "space.toml").write_text('schema = 1\nid = "review"\n')
    servers = {
        "tickets": {"command": sys.executable, "args": [MCP_SERVER]},
        "broken": {"command": "/bin/false"},
    }
    (space / "mcp").mkdir()
    (space / "mcp" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return place / "asp"


def _output(command: Sequence[str], stdin: str, directory: str) -> str:
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, cwd=directory, timeout=MOST_SECONDS, check=False
    )
    if not done.stdout:
        raise ValueError(f"{command} printed nothing, and on standard error: {done.stderr}")
    return done.stdout


def _shape(value: Any) -> Any:
    """Return what makes a record different from others of its kind: its members, and the schema of its facet."""
    facet = value.get("data") or {}
    tool = facet.get("tool", {}) if isinstance(facet, dict) else {}
    members = tuple(sorted(value))
    return members, value.get("kind"), tuple(sorted(facet)), facet.get("schema"), tool.get("kind"), tool.get("phase")


def _without(place: str, instead: str, value: Any) -> Any:
    """Return a JSON value with another path in the place of a temporary one."""
    return json.loads(json.dumps(value).replace(place, instead).replace(sys.executable, "python3"))
