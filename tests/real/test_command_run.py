"""Test `codex-adapter run` with the real CLI: records, exit statuses and options."""

from __future__ import annotations

import base64
import json
import subprocess

import pytest

from codex_adapter.errors import BackendError
from codex_adapter.hints import ADVICE, Hint
from codex_adapter.testing import Answer, Shell, answer, script
from codex_adapter.testing.mcp_server import PIXEL

from .commands import perform, running, told
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("C1")]

REFUSAL = Answer(status=400, body={"error": {"message": "no", "type": "invalid_request_error"}})
NOBODYS = "01234567-89ab-7def-8123-456789abcdef"
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.mark.smoke
@pytest.mark.rule("W1", "W2", "W3", "E1")
@pytest.mark.usefixtures("agent_sandbox")
def test_a_run_gives_its_events_and_its_completion_as_records(stage: Stage) -> None:
    command = Shell("echo x > done; exit 3")
    with stage.model(script(command, answer("Done.", delay=stage.release.pause))):
        done = perform(stage, "run", "Do it.")
    assert (done.status, done.stderr) == (0, b"")
    kinds = [event["kind"] for event in done.events if event["kind"] != "error"]
    assert kinds == ["status", "status", "tool_call", "tool_result", "text_output", "status"]
    assert (stage.workspace / "done").exists()
    completion = done.completion
    session = done.events[0]["data"]["session"]["id"]
    assert completion["usage"]["input_tokens"] == 200
    del completion["usage"]
    expected = {"outcome": "completed", "ok": True, "status": {"code": 0, "signal": None}, "final_text": "Done."}
    expected |= {"session_id": session, "turn": "completed"}
    assert completion == {"type": "completion", "seq": len(done.events), **expected}


@pytest.mark.rule("E1", "F3")
def test_the_status_of_a_failed_agent_is_passed_on(stage: Stage) -> None:
    with stage.model(script(fallback=REFUSAL)):
        done = perform(stage, "run", "Do it.")
    assert done.status == 1
    assert done.stderr.decode() == f"codex-adapter: {done.completion['advice']}\n"
    assert done.events[-1]["message"] == "codex exited non-zero: exit status: 1 (stderr redacted)"
    assert done.completion["status"] == {"code": 1, "signal": None}
    assert done.completion["turn"] == "failed"
    assert "final_text" not in done.completion


@pytest.mark.rule("E1", "K1", "K2")
@pytest.mark.parametrize(
    ("option", "text", "hint"),
    [
        ("--timeout", str(BackendError("timeout")), "time_limit"),
        ("--idle-timeout", "codex stream idle timeout: 2s", "idle_limit"),
    ],
)
def test_a_time_limit_gives_124(option: str, text: str, hint: Hint, stage: Stage) -> None:
    with stage.model(script(answer("never", gate="never"))):
        done = perform(stage, "run", option, "2", "Do it.")
    assert done.status == 124
    assert done.events[-1]["message"] == text
    assert done.completion["error"] == {
        "kind": "backend",
        "message": text,
        "failure": "timeout",
        "hint": hint,
        "advice": ADVICE[hint],
    }


@pytest.mark.rule("E1", "K2")
def test_a_tool_that_takes_too_long_gives_124(stage: Stage) -> None:
    with stage.model(script(Shell("sleep 600"), "never")):
        done = perform(stage, "run", "--tool-timeout", "1", "Do it.")
    assert done.status == 124
    error = {"kind": "backend", "message": str(BackendError("timeout")), "failure": "timeout", "hint": "tool_limit"}
    assert done.completion["error"] == {**error, "advice": ADVICE["tool_limit"]}


@pytest.mark.rule("E1", "S9")
@pytest.mark.parametrize(("session", "text"), [(NOBODYS, "session not found"), ("no-id", "session not found")])
def test_an_unknown_session_gives_125(session: str, text: str, stage: Stage) -> None:
    with stage.model(script(fallback=answer("never"))):
        done = perform(stage, "run", "--resume", session, "Do it.")
    assert done.status == 125
    error = {"kind": "backend", "message": text, "failure": "session", "hint": "session_unknown"}
    assert done.completion["error"] == {**error, "advice": ADVICE["session_unknown"]}
    assert [event["message"] for event in done.events] == [text]


@pytest.mark.rule("S9")
def test_a_session_goes_on_where_an_earlier_run_ended(stage: Stage) -> None:
    stage.release.needs(0, 63, what="resume --last with a prompt")
    with stage.model(script("one", "two", "three")) as server:
        session = perform(stage, "run", "First.").completion["session_id"]
        assert perform(stage, "run", "--resume", session, "Second.").completion["session_id"] == session
        assert perform(stage, "run", "--resume", "last", "Third.").completion["session_id"] == session
        texts = json.dumps(server.requests[-1]["input"])
    assert [f'"{text}"' in texts for text in ("First.", "one", "Second.", "two", "Third.")] == [True] * 5


@pytest.mark.rule("E1", "S6")
def test_a_binary_that_is_none_gives_126_and_one_that_is_not_there_127(stage: Stage) -> None:
    plain = stage.root / "plain"
    plain.write_text("no program")
    for binary, status, hint in (
        (plain, 126, "cli_not_executable"),
        (stage.root / "missing", 127, "cli_not_found"),
    ):
        with stage.model(script()), running(stage, "run", "--codex", str(binary), "Do it.") as process:
            done = told(process)
        assert done.status == status
        advice = done.stderr.decode().removeprefix("codex-adapter: ").strip()
        error = {"kind": "backend", "message": str(BackendError("spawn")), "failure": "spawn"}
        assert done.completion["error"] == {**error, "hint": hint, "advice": advice}


@pytest.mark.rule("E1", "W3")
def test_a_refused_request_gives_2_and_just_its_completion(stage: Stage) -> None:
    with stage.model(script()) as server:
        done = perform(stage, "run", "--sandbox", "everything", "Do it.")
        assert server.requests == []
    assert (done.status, done.events) == (2, [])
    assert done.completion["error"]["kind"] == "invalid_request"


@pytest.mark.rule("C6")
def test_every_option_arrives(stage: Stage) -> None:
    stage.release.needs(0, 59, what="--add-dir")
    image, schema = stage.workspace / "px.png", stage.root / "schema.json"
    image.write_bytes(base64.b64decode(PIXEL))
    schema.write_text(json.dumps(SCHEMA))
    options = ["--working-dir", str(stage.workspace), "--model", "another-model", "--sandbox", "read-only"]
    options += ["--interactive", "--ask-for-approval", "on-request", "--add-dir", "../extra", "--image", "px.png"]
    options += ["--output-schema", str(schema), "--env", "NAME=value", "--env", "ORACLE_WORD"]
    with stage.model(script(answer("{}", gate="go on"))) as server:
        with running(stage, "run", "--codex", str(stage.release.binary), *options, "The prompt.") as process:
            assert server.wait_for_requests(1)
            agent = stage.oracle.agent()
            server.open_gate("go on")
            done = told(process)
        [request] = server.requests
    assert done.status == 0
    assert agent.argv[1:4] == ("--ask-for-approval", "on-request", "exec")
    assert [agent.argv[agent.argv.index(flag) + 1] for flag in ("--image", "--sandbox", "--model", "--add-dir")] == [
        *(str(image), "read-only", "another-model", str(stage.root / "extra"))
    ]
    assert b"NAME=value" in agent.environment.split(b"\0")
    assert request["text"]["format"]["schema"] == SCHEMA
    assert '"The prompt."' in json.dumps(request["input"])


def test_the_prompt_comes_from_standard_input(stage: Stage) -> None:
    prompt = "  höher & <weiter>\r\n" * 1000
    for arguments in ([], ["-"]):
        with stage.model(script("Done.")) as server:
            with running(
                stage, "run", "--codex", str(stage.release.binary), *arguments, stdin=subprocess.PIPE
            ) as process:
                assert told(process, prompt.encode()).status == 0
            assert server.requests[0]["input"][-1]["content"][-1]["text"] == prompt


@pytest.mark.rule("C6")
def test_a_whole_request_comes_from_a_file(stage: Stage) -> None:
    request = {"prompt": "Of the file.", "timeout": 20, "extensions": {"agent_api.config.model.v1": "its-model"}}
    (stage.root / "request.json").write_text(json.dumps(request))
    with stage.model(script("Done.")) as server:
        assert perform(stage, "run", "--request", str(stage.root / "request.json")).status == 0
        assert server.requests[0]["model"] == "its-model"
        assert '"Of the file."' in json.dumps(server.requests[0]["input"])
