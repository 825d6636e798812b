"""Test every command with each real agent CLI and a scripted model: one test for all agents."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.agents import agent_of
from codex_adapter.testing import Answer, Message, ModelServer, Scenario, Shell, script

from ..waiting import SOON
from .agents import RealAgent, each_agent
from .commands import Told
from .oracle import Oracle

pytestmark = [pytest.mark.real, pytest.mark.rule("C23")]
ABSENT = dict.fromkeys(("id", "encoding", "overwrite", "cwd", "timeout"))
MEMBERS = {
    "message": ("content",),
    "createFile": ("path", "content", "encoding", "overwrite"),
    "shell": ("command", "cwd", "timeout"),
}
REFUSAL = Answer(status=401, body={"type": "error", "error": {"type": "authentication_error", "message": "no key"}})
CREATE = {"type": "createFile", "path": "count.sh", "content": "echo 1 2 3\n"}
FIRST = '[CREATE_FILE path="count.sh"]\necho 1 2 3\n[/CREATE_FILE]\n\n[RUN_COMMAND]\nsh count.sh\n[/RUN_COMMAND]\n'
LAST = "[MESSAGE]\nIt counts.\n[/MESSAGE]\n[DONE]\nIt counts.\n[/DONE]\n"


class Place:
    """The directories of one test, and the commands in them. Each process of a command has the oracle's word."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.workspace.mkdir()
        self.oracle = Oracle()

    @contextmanager
    def model(self, agent: RealAgent, scenario: Scenario) -> Iterator[dict[str, str]]:
        """Serve a scenario; yield the environment of a command that uses it."""
        with ModelServer(scenario) as server:
            yield {**agent.environment(self.root, server), **self.oracle.environment}

    def perform(self, env: Mapping[str, str], *words: str, stdin: bytes | None = None) -> Told:
        """A command from its start to its end, of which nothing is left."""
        done = subprocess.run(
            [sys.executable, "-m", "codex_adapter", *words],
            env=dict(env),
            cwd=self.workspace,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=SOON,
            check=False,
        )
        self.oracle.check()
        return Told(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def place() -> Iterator[Place]:
    """A place with a short path: an agent may make sockets in its temporary directory."""
    with tempfile.TemporaryDirectory(prefix="agent-", dir="/tmp", ignore_cleanup_errors=True) as root:
        yield Place(Path(root))


def words(agent: RealAgent, command: str, *more: str) -> list[str]:
    return [command, "--agent", agent.kind, *agent.options(), *more]


def free(agent: RealAgent) -> list[str]:
    """The option with which the agent's own sandbox is off, if it has one: many machines cannot start it."""
    return ["--sandbox", "danger-full-access"] if agent.unrestricted() else []


@each_agent()
@pytest.mark.rule("C1", "C10")
def test_run_and_view(place: Place, agent: RealAgent) -> None:
    with place.model(agent, script(Shell("echo out; exit 3"), "Done.")) as env:
        done = place.perform(env, *words(agent, "run", *free(agent), "Do it."))
    assert (done.status, done.stderr) == (0, b"")
    assert {event["agent_kind"] for event in done.events} == {agent.kind}
    assert (done.completion["ok"], done.completion["final_text"]) == (True, "Done.")
    codes = [event["data"]["tool"]["exit_code"] for event in done.events if event["kind"] == "tool_result"]
    assert codes == [3]
    shown = place.perform(env, "view", "-", stdin=done.stdout)
    assert (shown.status, b"Done." in shown.stdout) == (0, True)


@each_agent()
@pytest.mark.rule("E1", "F9", "AG4")
def test_run_without_a_model_has_the_advice_of_the_agent(place: Place, agent: RealAgent) -> None:
    with place.model(agent, script(fallback=REFUSAL)) as env:
        done = place.perform(env, *words(agent, "run", *free(agent), "Do it."))
    advice = agent_of(agent.kind).advice["not_logged_in"]
    found = (done.status, done.completion["hint"], done.completion["advice"])
    assert found == (1, "not_logged_in", advice)
    assert done.stderr.decode() == f"codex-adapter: {advice}\n"
    shown = place.perform(env, "view", "-", stdin=done.stdout)
    assert advice in shown.stdout.decode()


@each_agent()
@pytest.mark.rule("C9", "J4")
def test_serve_as_the_default_agent_and_view_of_its_journal(place: Place, agent: RealAgent) -> None:
    request = {"prompt": "Do it.", "extensions": agent.unrestricted()}
    params = {"runId": "r", "agentKind": agent.kind, "request": request, "credit": 1_000_000}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "1.0", "clientInfo": {}}},
        {"jsonrpc": "2.0", "id": 2, "method": "run/start", "params": params},
        {"jsonrpc": "2.0", "id": 3, "method": "shutdown", "params": {"mode": "drain"}},
    ]
    stdin = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    journal = str(place.root / "journal")
    options = ["--journal", journal, "--on-eof", "drain"]
    with place.model(agent, script("Done.")) as env:
        done = place.perform(env, *words(agent, "serve", *options), stdin=stdin)
        listed = place.perform(env, "view", "--format", "jsonl", journal)
    assert (done.status, done.stderr) == (0, b"")
    assert list(done.records[0]["result"]["capabilities"]) == [agent.kind]
    completed = [record["params"] for record in done.records if record.get("method") == "run/completed"]
    assert [(each["runId"], each["completion"]["final_text"]) for each in completed] == [("r", "Done.")]
    [row] = [record for record in listed.records if record["run_id"] == "r"]
    assert row["ok"] is True


@each_agent()
@pytest.mark.rule("C4")
def test_doctor(place: Place, agent: RealAgent) -> None:
    with place.model(agent, script()) as env:
        report = json.loads(place.perform(env, *words(agent, "doctor", "--json")).stdout)
    assert (report["agent"], report["ok"], report["binary"]["path"]) == (agent.kind, True, str(agent.program))
    assert report["binary"]["supported"] is True


@each_agent()
@pytest.mark.rule("C3")
def test_demo(place: Place, agent: RealAgent) -> None:
    with place.model(agent, script()) as env:
        done = place.perform(env, *words(agent, "demo"))
    assert (done.status, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"# The real ")
    assert b"The commands exited with 0, 1, 0." in done.stdout
    assert list((place.root / "tmp").iterdir()) == []


@each_agent()
@pytest.mark.rule("C16")
def test_login(place: Place, agent: RealAgent) -> None:
    with place.model(agent, script()) as env:
        done = place.perform(env, *words(agent, "login"), "--", "status")
    if agent.login is None:
        assert (done.status, done.stdout) == (2, b"")
        assert agent_of(agent.kind).advice["not_logged_in"].partition(". ")[2] in done.stderr.decode()
        return
    assert done.status == agent.login
    assert b"codex-adapter: " not in done.stderr


@each_agent()
@pytest.mark.rule("C11", "O15", "O18", "AG7")
def test_operations(place: Place, agent: RealAgent) -> None:
    texts = [written(CREATE, {"type": "shell", "command": "sh count.sh"}), written({"type": "message", "content": "1"})]
    task = ["--workspace", str(place.workspace), "--task", "Make count.sh count."]
    items = [Message("no") if agent.structured is None else agent.structured(json.dumps(v), v) for v in texts]
    with place.model(agent, script(*items)) as env:
        done = place.perform(env, *words(agent, "operations", *task))
    if agent.structured is None:
        assert (done.status, b"a schema of the last message" in done.stderr) == (2, True)
        return
    assert (done.status, done.stderr) == (0, b"")
    first = next(record["message"] for record in done.records if record["type"] == "events")
    assert [event["success"] for event in first["events"]] == [True, True]
    assert first["events"][1]["stdout"] == "1 2 3\n"
    assert (done.records[-1]["reason"], done.records[-1]["turns"]) == ("completed", 2)


def written(*operations: dict[str, Any]) -> dict[str, Any]:
    """What a model writes for the schema: every member, null for those that are absent."""
    full = [
        {"type": each["type"], "id": None} | {name: each.get(name, ABSENT.get(name)) for name in MEMBERS[each["type"]]}
        for each in operations
    ]
    return {"protocolVersion": "1.0", "operations": full}


@each_agent()
@pytest.mark.rule("C12", "I17", "AG7")
def test_mailbox(place: Place, agent: RealAgent) -> None:
    mailbox = ["--mailbox", str(place.root / "mailbox"), "--workspace", str(place.workspace)]
    with place.model(agent, script(FIRST, LAST)) as env:
        answer = ["--answer", agent.kind, *agent.options()]
        done = place.perform(env, "mailbox", "start", *mailbox, *answer, "Make count.sh count.")
    assert (done.status, done.stderr) == (0, b"")
    results = [record["result"] for record in done.records if record["type"] == "result"]
    assert [result["command"] for result in results] == ["CREATE_FILE", "RUN_COMMAND", "MESSAGE", "DONE"]
    assert (results[1]["output"], done.records[-1]["type"]) == ("1 2 3", "done")
