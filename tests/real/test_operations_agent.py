"""Test `codex-adapter operations --agent` with the real CLI on a task of several turns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.strict_schema import agent_schema
from codex_adapter.testing import Answer, Patch, Shell, answer, script
from codex_adapter.workspace import find_sandbox

from ..needs import missing
from ..waiting import SOON
from .commands import Told, running, told
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("O15", "O16", "O17")]


@pytest.fixture(autouse=True)
def takes_tools_away(stage: Stage) -> None:
    """Skip releases with which no agent works by operations."""
    stage.release.needs(0, 147, what="a model without tools")


SECRET = "hunter2-hunter2-hunter2"
ABSENT = {"id": None, "encoding": None, "overwrite": None, "cwd": None, "timeout": None}
MEMBERS = {
    "message": ("content",),
    "createFile": ("path", "content", "encoding", "overwrite"),
    "editFile": ("path", "edits"),
    "shell": ("command", "cwd", "timeout"),
}
DONE: dict[str, Any] = {"type": "message", "content": "It counts."}


def written(*operations: dict[str, Any]) -> str:
    """What a model writes that is held to the output schema: every member, null for those that are absent."""
    full = [
        {"type": given["type"], "id": given.get("id")}
        | {name: given[name] if name in given else ABSENT[name] for name in MEMBERS[given["type"]]}
        for given in operations
    ]
    return json.dumps({"protocolVersion": "1.0", "operations": full})


def shell(command: str, **members: Any) -> dict[str, Any]:
    """An operation that runs a command."""
    return {"type": "shell", "command": command, **members}


def words(stage: Stage) -> list[str]:
    """The command line of the work."""
    agent = ["--agent", "codex", "--codex", str(stage.release.binary), "--task", "Make count.sh count."]
    return ["--workspace", str(stage.workspace), *agent]


def work(stage: Stage, *decisions: dict[str, Any], options: tuple[str, ...] = ()) -> Told:
    """The command from its start to its end."""
    lines = "".join(json.dumps({"approval": decision}) + "\n" for decision in decisions)
    with running(stage, "operations", *words(stage), *options, stdin=subprocess.PIPE) as process:
        return told(process, lines.encode())


def prompt(request: dict[str, Any]) -> str:
    """What the user said last."""
    text: str = request["input"][-1]["content"][-1]["text"]
    return text


def messages(done: Told, kind: str) -> list[dict[str, Any]]:
    """The messages in the records of one type."""
    return [record["message"] for record in done.records if record["type"] == kind]


@pytest.mark.smoke
def test_a_task_is_done_in_two_turns(stage: Stage) -> None:
    create = {"type": "createFile", "path": "count.sh", "content": "echo 1 2 3\n"}
    scenario = script(written(create, shell("sh count.sh")), answer(written(DONE), delay=stage.release.pause))
    with stage.model(scenario) as server:
        done = work(stage)
        first, second = server.requests
    assert (done.status, done.stderr) == (0, b"")
    assert first["text"]["format"]["schema"] == agent_schema()
    assert first["text"]["format"]["strict"] is True
    assert prompt(first).endswith("The task:\nMake count.sh count.")
    created, counted = json.loads(prompt(second))["events"]
    assert (created["bytesWritten"], counted["stdout"]) == (11, "1 2 3\n")
    assert done.records[-1]["reason"] == "completed"


def test_a_task_with_a_failure_that_is_mended_and_an_approval(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_TOKEN", SECRET)
    create = {"type": "createFile", "id": "make", "path": "bin/count.sh", "content": "echo 1 2; exit 3\n"}
    mend = {"type": "editFile", "path": "bin/count.sh", "edits": [{"oldContent": "; exit 3", "newContent": " 3"}]}
    remove = shell("rm -r temp", id="rm-1")
    scenario = script(
        written(create, shell("mkdir temp; env"), shell("sh bin/count.sh", id="run-1")),
        # What the agent itself tries changes nothing.
        answer(Shell("echo x > own"), delay=stage.release.pause),
        answer(written(mend, remove, shell("sh bin/count.sh; ls")), delay=stage.release.pause),
        answer(written(DONE), delay=stage.release.pause),
    )
    with stage.model(scenario) as server:
        done = work(stage, {"operationId": "rm-1", "decision": "approved"})
        requests = server.requests
    assert (done.status, done.stderr) == (0, b"")
    assert {record["turn"] for record in done.records} == {1, 2, 3}
    first, asked, resumed, last = messages(done, "events")
    assert [event["success"] for event in first["events"]] == [True, True, False]
    assert (asked["status"], [event["type"] for event in asked["events"]]) == (
        "awaiting_approval",
        ["editFile", "approvalRequired"],
    )
    assert [event["success"] for event in resumed["events"]] == [True, True]
    assert resumed["events"][1]["stdout"] == "1 2 3\nbin\n"
    assert (last["status"], len(requests)) == ("completed", 4)

    # What the model was asked: the schema, read-only, and the events as its user's words, all in one session.
    for request in requests:
        assert request["text"]["format"]["schema"] == agent_schema()
        assert "read-only" in json.dumps(request["input"])
    prompts = [prompt(requests[0]), prompt(requests[1]), prompt(requests[3])]
    assert json.loads(prompts[1]) == first
    assert json.loads(prompts[2]) == resumed | {"events": [asked["events"][0], *resumed["events"]]}
    history = json.dumps(requests[3]["input"])
    assert all(json.dumps(text)[1:-1] in history for text in prompts)
    sessions = {record["completion"]["session_id"] for record in done.records if record["type"] == "runCompleted"}
    assert sessions == {done.records[-1]["sessionId"]}
    assert not (stage.workspace / "own").exists()

    assert SECRET not in json.dumps(requests)
    assert SECRET.encode() not in done.stdout


def test_a_failed_run_ends_the_work_with_its_status(stage: Stage) -> None:
    refusal = Answer(status=400, body={"error": {"message": "no", "type": "invalid_request_error"}})
    with stage.model(script(fallback=refusal)):
        done = work(stage)
    assert done.status == 1
    assert (done.records[-1]["reason"], done.records[-1]["turns"]) == ("failed", 1)


def test_an_answer_that_is_none_is_told_to_the_model(stage: Stage) -> None:
    with stage.model(script("I am done.", answer(written(DONE), delay=stage.release.pause))) as server:
        done = work(stage)
        [error] = json.loads(prompt(server.requests[1]))["events"]
    assert done.status == 0
    assert (error["type"], error["category"], error["message"]) == (
        "error",
        "validation",
        "a message must be JSON in UTF-8",
    )


CLEAN = "git config filter.fmt.clean ./build/fmt.sh && echo '* filter=fmt' > .gitattributes && echo two > a.txt"
"""Has git run a script of the workspace whenever it compares `a.txt` with what was committed."""
NESTED = """\
set -e
git init -q sub
cd sub
git config filter.fmt.clean ../build/fmt.sh
git config user.name n
git config user.email n@localhost
echo one > a
git add a
git commit -qm One
echo "* filter=fmt" > .gitattributes
echo two > a
cd ..
git add sub
"""
"""Does so in a repository of its own, which the git of the outer one looks into."""
WORK = "git add -A && git -c user.name=n -c user.email=n@localhost commit -qm Two && git gc -q && git status"


def repository(stage: Stage) -> None:
    """Make the workspace a repository with a commit."""
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "One"]):
        (stage.workspace / "a.txt").write_text("one\n")
        names = ("-c", "user.name=n", "-c", "user.email=n@localhost")
        subprocess.run(["git", *names, *words], cwd=stage.workspace, check=True)


@pytest.mark.rule("H15", "O18")
@pytest.mark.fault(
    "workspace", "An agent's operations write git settings", "No git process outside the sandbox uses them"
)
@pytest.mark.smoke
def test_nothing_of_git_that_operations_make_runs_outside_of_their_sandbox(stage: Stage) -> None:
    if find_sandbox(agents=known_places()) is None:
        missing("bubblewrap")
    repository(stage)
    files = {"build/fmt.sh": f"#!/bin/sh\ntouch {stage.root}/escaped\ncat\n", "nested.sh": NESTED, "work.sh": WORK}
    made = [{"type": "createFile", "path": path, "content": content} for path, content in files.items()]
    commands = ("chmod +x build/fmt.sh", CLEAN, "sh nested.sh", "sh work.sh")
    first = written(*made, *map(shell, commands))
    with stage.model(script(first, fallback=answer(written(DONE), delay=stage.release.pause))) as server:
        done = work(stage, options=("--policy", "permissive"))
    assert not (stage.root / "escaped").exists()
    _, cleaned, nested, git = messages(done, "events")[0]["events"][3:]
    assert (done.status, len(server.requests)) == (0, 2)
    assert (cleaned["success"], nested["success"], git["success"]) == (False, True, True)
    assert "filter" not in (stage.workspace / ".git" / "config").read_text()


@pytest.mark.rule("H15", "O18")
def test_settings_of_the_cli_in_the_workspace_are_never_obeyed(stage: Stage) -> None:
    command = json.dumps(["-c", f"touch {stage.root}/escaped; sleep 5"])
    (stage.workspace / ".codex").mkdir()
    settings = f'mcp_servers.x = {{ command = "/bin/sh", args = {command} }}\n'
    (stage.workspace / ".codex" / "config.toml").write_text(settings)
    (stage.workspace / "AGENTS.md").write_text("MARKED INSTRUCTIONS")
    trusted = f'[projects."{stage.workspace}"]\ntrust_level = "trusted"\n'
    with stage.model(script(fallback=answer(written(DONE))), config=trusted) as server:
        done = work(stage)
        assert "MARKED INSTRUCTIONS" not in json.dumps(server.requests)
    assert done.status == 0
    assert not (stage.root / "escaped").exists()


def test_settings_of_the_cli_cannot_be_made_by_operations_on_files(stage: Stage) -> None:
    create = {"type": "createFile", "path": ".codex/config.toml", "content": "x"}
    with stage.model(script(written(create), fallback=answer(written(DONE)))):
        done = work(stage, options=("--policy", "permissive"))
    assert done.status == 75
    assert not (stage.workspace / ".codex").exists()


CANARY = "canary-in-a-file"
MCP_RESOURCES = {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}
TOOLS = {"exec_command", "write_stdin", "shell", "shell_command", "local_shell", "view_image", "web_search", "js_repl"}


@pytest.mark.rule("O18")
@pytest.mark.parametrize("model", ["mock-model", "gpt-5.5", "gpt-5.1-codex"])
def test_the_agent_has_no_tools_of_its_own(stage: Stage, model: str) -> None:
    secret = stage.root / "secret"
    secret.write_text(CANARY)
    lines = ("*** Begin Patch", f"*** Update File: {secret}", "@@", "-canary", "+changed", "*** End Patch")
    patch = Patch("\n".join(lines), through="tool")
    scenario = script(
        answer(Shell(f"cat {secret}; touch {stage.root}/ran")),
        answer(patch, delay=stage.release.pause),
        answer(written(DONE), delay=stage.release.pause),
    )
    with stage.model(scenario, config=stage.mcp_server("mine")) as server:
        done = work(stage, options=("--model", model))
        requests = server.requests
    assert (done.status, len(requests)) == (0, 3)
    names = {tool.get("name", tool["type"]) for request in requests for tool in request["tools"]}
    assert not names & TOOLS
    assert names <= {"apply_patch", "update_plan", "request_user_input", *MCP_RESOURCES}
    assert CANARY not in json.dumps(requests)
    assert secret.read_text() == CANARY
    assert not (stage.root / "ran").exists()


def test_what_is_not_decided_goes_on_without_the_agent(stage: Stage) -> None:
    (stage.workspace / "temp").mkdir()
    state = ("--state", str(stage.root / "state.db"))
    with stage.model(script(written(shell("rm -r temp", id="rm-1")))):
        done = work(stage, options=state)
    assert (done.status, done.records[-1]["reason"]) == (75, "awaiting_approval")
    decision = {"approval": {"operationId": "rm-1", "decision": "approved"}}
    with running(stage, "operations", "--workspace", str(stage.workspace), *state, stdin=subprocess.PIPE) as process:
        later = told(process, json.dumps(decision).encode())
    assert [answer["status"] for answer in later.records] == ["awaiting_approval", "completed"]
    assert not (stage.workspace / "temp").exists()


def test_what_is_too_long_for_a_prompt_of_the_cli_is_shortened(stage: Stage) -> None:
    (stage.workspace / "long").write_text("a line\n" * 300_000)
    read = {"type": "readFile", "id": None, "path": "long", "encoding": None}
    asked = json.loads(written(shell("cat long")))
    text = json.dumps(asked | {"operations": [read, *asked["operations"] * 3]})
    with stage.model(script(text, answer(written(DONE), delay=stage.release.pause))) as server:
        done = work(stage)
        file, *commands = json.loads(prompt(server.requests[1]))["events"]
    assert (done.status, file["success"], file["size"]) == (0, False, 2_100_000)
    assert all(0 < len(command["stdout"]) < 100_000 for command in commands)


@pytest.mark.parametrize("signals", [1, 2])
@pytest.mark.rule("E4")
def test_a_signal_while_the_model_thinks_ends_all_of_it(stage: Stage, signals: int) -> None:
    with (
        stage.model(script(answer("never", gate="never"))) as server,
        running(stage, "operations", *words(stage)) as process,
    ):
        assert server.wait_for_requests(1)
        stage.oracle.look()
        for _ in range(signals):
            process.send_signal(signal.SIGTERM)
        done = told(process)
    assert (done.status, done.records[-1]["reason"]) == (143, "stopped")


def test_when_we_are_killed_while_a_command_runs_nothing_of_it_is_left(stage: Stage) -> None:
    fifo = stage.fifo()
    with (
        stage.model(script(written(shell("echo > fifo; sleep 600"), shell("touch after")))),
        running(stage, "operations", *words(stage)) as process,
    ):
        fifo.read_text()
        stage.oracle.look()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(SOON)
        assert stage.oracle.wait_gone(SOON) == []
        told(process)
    assert not (stage.workspace / "after").exists()
