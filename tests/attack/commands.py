"""Define a task for every command in a scene, and check its result and leftovers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from codex_adapter.testing import PrintJson, demo_script
from codex_adapter.testing.thread_lines import agent_message, turn_completed

from ..cli.command import Done
from .scene import Scene

__all__ = ["COMMANDS", "Trial", "agent", "demo", "doctor", "mailbox", "operations", "replay", "run", "serve", "turn"]

Trial: TypeAlias = Callable[[Scene], tuple[Done, bool]]
RECORDING = Path(__file__).parents[2] / "fixtures" / "codex" / "0.169.0" / "shell_ok.jsonl"
ANSWER = '[CREATE_FILE path="made"]\nby an answer\n[/CREATE_FILE]\n[DONE]\nMade it.\n[/DONE]\n'


def agent(scene: Scene) -> str:
    """Return a scripted agent that does a whole turn."""
    return scene.cli.agent(*demo_script(path=str(scene.state / "hello.txt")))


def run(scene: Scene) -> tuple[Done, bool]:
    schema = scene.place / "schema.json"
    schema.write_text("{}")
    steps = (*demo_script(path=str(scene.state / "hello.txt"))[:-1], PrintJson(agent_message("last", "{}")))
    binary = scene.cli.agent(*steps, PrintJson(turn_completed()))
    done = scene.run("run", "--codex", binary, "--output-schema", str(schema), "hi")
    return done, [record.get("outcome") for record in done.records][-1:] == ["completed"]


def serve(scene: Scene) -> tuple[Done, bool]:
    calls = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "1.0"}},
        {"id": 2, "method": "run/start", "params": {"runId": "a", "agentKind": "codex", "request": {"prompt": "hi"}}},
    ]
    text = b"".join(json.dumps({"jsonrpc": "2.0", **call}).encode() + b"\n" for call in calls)
    journal = str(scene.state / "journal")
    done = scene.run("serve", "--codex", agent(scene), "--on-eof", "drain", "--journal", journal, stdin=text)
    ends = [record["params"]["completion"] for record in done.records if record.get("method") == "run/completed"]
    return done, [end["outcome"] for end in ends] == ["completed"]


def operations(scene: Scene) -> tuple[Done, bool]:
    workspace = scene.state / "workspace"
    workspace.mkdir()
    made = {"type": "createFile", "path": "made", "content": "."}
    shown = {"type": "shell", "command": "ls"}
    text = json.dumps({"protocolVersion": "1.0", "operations": [made, shown]}).encode()
    words = ("--workspace", str(workspace), "--policy", "permissive", "--state", str(scene.state / "app.db"))
    done = scene.run("operations", *words, stdin=text)
    events = [event for record in done.records for event in record["events"]]
    return done, [event.get("stdout") for event in events] == [None, "made\n"]


def mailbox(scene: Scene) -> tuple[Done, bool]:
    workspace, box = scene.state / "workspace", scene.state / "mailbox"
    workspace.mkdir()
    words = ("mailbox", "start", "--no-wait", "--workspace", str(workspace), "--mailbox", str(box))
    scene.prepare(*words, "Make it.")
    answer = box / "inbox" / "answer.txt"
    answer.write_text(ANSWER)
    os.utime(answer, (1_000_000,) * 2)
    done = scene.run("mailbox", "once", "--mailbox", str(box))
    return done, [record["type"] for record in done.records][-1:] == ["done"] and (workspace / "made").exists()


def turn(scene: Scene) -> tuple[Done, bool]:
    space = scene.place / "house"
    space.mkdir()
    (space / "space.toml").write_text('schema = 1\nid = "house"\nsettings.permissions = "read-only"\n')
    words = ("--space", f"space:path:{space}", "--asp-home", str(scene.state / "asp"), "--codex", agent(scene))
    done = scene.run("turn", *words, "hi")
    return done, [record["result"]["success"] for record in done.records if record["type"] == "complete"] == [True]


def replay(scene: Scene) -> tuple[Done, bool]:
    done = scene.run("replay", str(RECORDING))
    return done, done.records[-1]["outcome"] == "completed"


def doctor(scene: Scene) -> tuple[Done, bool]:
    done = scene.run("doctor", "--json", "--codex", agent(scene))
    return done, [record["ok"] and record["containment"] != "none" for record in done.records] == [True]


def demo(scene: Scene) -> tuple[Done, bool]:
    done = scene.run("demo")
    return done, b"hello.txt contains: Hello from the Codex CLI." in done.stdout


COMMANDS: Final[tuple[Trial, ...]] = (run, serve, operations, mailbox, turn, replay, doctor, demo)
