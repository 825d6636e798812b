"""Test runs of the real Claude Code with a scripted model: sandbox modes, sessions, errors and ends.

The programs are those in `$CLAUDE_RELEASES/<version>/`, as npm installs them, or the one in the wheel.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from codex_adapter import BackendError, Completion, Event, RunRequest, open_run
from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.events import TokenUsage, ToolCall
from codex_adapter.hints import Hint
from codex_adapter.testing import Answer, Message, ModelServer, RawItem, Scenario, Shell, Usage, answer, script
from codex_adapter.testing.mcp_server import PIXEL

from ..attack.scene import launcher, needs_surrounding
from ..needs import without
from ..waiting import SOON
from .agents import claude_programs
from .oracle import Oracle

pytestmark = pytest.mark.real
NOWHERE: Final = "http://127.0.0.1:1"
UNKNOWN: Final = "11111111-1111-4111-8111-111111111111"


def programs() -> list[Any]:
    """The programs to test, or one skipped parameter."""
    found = claude_programs()
    if not found:
        return [pytest.param(None, marks=without("claude"))]
    return [pytest.param(path, id=_release_of(path)) for path in found]


def _release_of(path: Path) -> str:
    return path.parents[3].name if "node_modules" in path.parts else "installed"


class Place:
    """A workspace for runs of one program; every process of a run has the oracle's word."""

    def __init__(self, program: Path, root: Path) -> None:
        self.program = program
        self.root = root
        self.workspace = root / "workspace"
        self.oracle = Oracle()
        for name in ("workspace", "home", "config"):
            (root / name).mkdir()

    def request(
        self, address: str, env: Mapping[str, str], extensions: Mapping[str, Any], prompt: str = "Do it."
    ) -> RunRequest:
        variables = {
            **{"HOME": str(self.root / "home"), "SHELL": "/bin/bash"},
            **{"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "sk-ant-scripted", "CLAUDE_CODE_MAX_RETRIES": "1"},
            **self.oracle.environment,
        }
        return RunRequest(
            prompt=prompt, working_dir=str(self.workspace), env={**variables, **env}, extensions=extensions
        )

    def config(self) -> ClaudeConfig:
        return ClaudeConfig(binary=str(self.program), config_dir=str(self.root / "config"))

    @contextmanager
    def model(self, *items: Any) -> Iterator[str]:
        with ModelServer(items[0] if isinstance(items[0], Scenario) else script(*items)) as server:
            yield f"http://127.0.0.1:{server.port}"

    async def run(
        self, address: str, extensions: Mapping[str, Any], env: Mapping[str, str] | None = None, **more: str
    ) -> tuple[list[Event], Completion]:
        """A whole run, of which nothing is left."""
        with trio.fail_after(SOON):
            request = self.request(address, env or {}, extensions, **more)
            async with open_run(request, agent="claude_code", config=self.config()) as run:
                events = [event async for event in run.events]
                completion = await run.wait_completed()
        self.oracle.check()
        return events, completion


@pytest.fixture(params=programs())
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place for runs of one program after the other.

    The adapter's temporary directory has a path that is too long for the sockets of the CLI's sandbox.
    """
    ours = tmp_path / ("o" * 100)
    ours.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(ours))
    monkeypatch.setenv("TMPDIR", str(ours))
    yield Place(request.param, tmp_path)
    assert list(ours.iterdir()) == []
    assert list(Path("/tmp").glob(f"codex-adapter-{os.getpid()}-*")) == []


@pytest.fixture
def clock() -> MockClock:
    """The clock of a test, which runs as any other and which the test can move forward."""
    return MockClock(rate=1.0)


def free(**more: Any) -> dict[str, Any]:
    return {keys.SANDBOX_MODE: "danger-full-access", **more}


def write(file: Path) -> RawItem:
    return RawItem({"type": "tool_use", "name": "Write", "input": {"file_path": str(file), "content": "1\n"}})


def codes(events: list[Event]) -> list[int | None]:
    results = [event.data for event in events if event.kind == "tool_result"]
    return [data.tool.exit_code for data in results if isinstance(data, ToolCall)]


def refusal(status: int, type_: str) -> Scenario:
    body = {"type": "error", "error": {"type": type_, "message": "scripted"}}
    return Scenario(answers=(), fallback=Answer(status=status, body=body))


@pytest.mark.rule("Q1", "S3", "AG9")
@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("/login page is broken, fix it", marks=pytest.mark.smoke),
        *("/compact the code", "/clear", "/exit codes are wrong", "/foo", "!ls", "#note", "--version", "y\n"),
    ],
)
async def test_a_prompt_is_always_a_prompt(place: Place, prompt: str) -> None:
    with ModelServer(script("Done.")) as server:
        _, completion = await place.run(f"http://127.0.0.1:{server.port}", free(), prompt=prompt)
    assert (completion.final_text, completion.ok) == ("Done.", True)
    sent = [request["messages"] for request in server.requests if "messages" in request]
    assert json.dumps(prompt.strip())[1:-1] in json.dumps(sent)


@pytest.mark.smoke
@pytest.mark.rule("S1", "F2", "M3", "R3")
async def test_a_run_with_commands_and_a_file(place: Place) -> None:
    with place.model(Shell("exit 3"), write(place.workspace / "a"), "Done.") as address:
        events, completion = await place.run(address, free())
    assert (completion.final_text, completion.ok, completion.turn) == ("Done.", True, "completed")
    assert codes(events) == [3, None]
    assert (place.workspace / "a").read_text() == "1\n"
    assert [event for event in events if event.kind in {"unknown", "error"}] == []


@pytest.mark.rule("S1", "K8")
@pytest.mark.parametrize(
    ("mode", "inside", "outside"),
    [("read-only", False, False), ("workspace-write", True, False), ("danger-full-access", True, True)],
)
async def test_what_commands_can_write_in_a_sandbox_mode(place: Place, mode: str, inside: bool, outside: bool) -> None:
    other = place.root / "other"
    calls = (Shell("echo a > in"), Shell(f"echo b > {other}"), write(Path(f"{other}-2")))
    with place.model(*calls, "Done.") as address:
        _, completion = await place.run(address, {keys.SANDBOX_MODE: mode})
    assert completion.final_text == "Done."
    assert (place.workspace / "in").exists() == inside
    assert other.exists() == outside
    assert Path(f"{other}-2").exists() == outside
    assert [path.name for path in place.workspace.iterdir()] == (["in"] if inside else [])


@pytest.mark.rule("F9")
async def test_a_run_whose_sandbox_cannot_start_fails(place: Place) -> None:
    with place.model("Done.") as address:
        _, completion = await place.run(address, {}, {"PATH": "/nowhere"})
    assert (completion.ok, completion.hint) == (False, "sandbox_unavailable")


@pytest.mark.rule("C4", "F11", "F12")
def test_a_sandbox_without_namespaces_is_reported_in_mid_run_and_at_the_end(place: Place) -> None:
    needs_surrounding("no_namespaces")
    adapter = (*launcher("no_namespaces", place.root), sys.executable, "-m", "codex_adapter")
    options = ("--agent", "claude_code", "--claude", str(place.program))
    with place.model(Shell("echo hello"), "Done.") as address:
        variables = {
            **os.environ,
            **place.request(address, {}, {}).env,
            "CLAUDE_CONFIG_DIR": str(place.root / "config"),
        }
        command = (*adapter, "run", *options, "--format", "jsonl", "--working-dir", str(place.workspace), "Do it.")
        done = subprocess.run(command, check=False, capture_output=True, env=variables, timeout=SOON)
    *events, completion = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, completion["ok"], completion["hint"]) == (1, False, "sandbox_unavailable")
    failed = "claude_code sandbox cannot start: commands fail"
    assert [event.get("message") for event in events].count(failed) == (completion["turn"] == "completed")


@pytest.mark.rule("Q3", "AG9")
async def test_an_image_is_part_of_the_prompt(place: Place) -> None:
    image = place.root / "a b.png"
    image.write_bytes(base64.b64decode(PIXEL))
    with ModelServer(script("Seen.")) as server:
        _, completion = await place.run(f"http://127.0.0.1:{server.port}", free(**{keys.IMAGES: [str(image)]}))
    assert completion.final_text == "Seen."
    sources = [
        part["source"]["data"]
        for message in server.requests[-1]["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image"
    ]
    assert sources == [PIXEL]


@pytest.mark.rule("S9")
async def test_sessions_are_resumed_and_forked(place: Place) -> None:
    unknown = {"selector": "id", "id": UNKNOWN}
    for selector in ({"selector": "last"}, unknown):
        for key in (keys.RESUME, keys.FORK):
            with place.model("no") as address, pytest.raises(BackendError) as caught:
                await place.run(address, free(**{key: selector}))
            assert caught.value.failure == "session"
    with place.model("one", "two", "three", "four") as address:
        first = (await place.run(address, free()))[1].session_id
        named = {"selector": "id", "id": first}
        assert (await place.run(address, free(**{keys.RESUME: named})))[1].session_id == first
        assert (await place.run(address, free(**{keys.RESUME: {"selector": "last"}})))[1].session_id == first
        forked = (await place.run(address, free(**{keys.FORK: named})))[1]
    assert forked.final_text == "four"
    assert forked.session_id not in {first, None}


@pytest.mark.rule("F9", "AG4")
@pytest.mark.parametrize(
    ("status", "type_", "hint"),
    [
        (401, "authentication_error", "not_logged_in"),
        (429, "rate_limit_error", "rate_limited"),
        (529, "overloaded_error", "overloaded"),
    ],
)
async def test_an_error_of_the_service_has_a_hint(place: Place, status: int, type_: str, hint: Hint) -> None:
    with place.model(refusal(status, type_)) as address:
        _, completion = await place.run(address, free())
    assert (completion.ok, completion.turn, completion.hint) == (False, "failed", hint)


@pytest.mark.rule("F14", "AG8")
@pytest.mark.parametrize(("obeys", "hint"), [(True, None), (False, "schema_ignored")])
async def test_an_answer_that_ignores_its_output_schema_is_not_ok(place: Place, obeys: bool, hint: Hint | None) -> None:
    obedient = answer(RawItem({"type": "tool_use", "name": "StructuredOutput", "input": {"a": 1}}))
    # The CLI asks the model for the tool again, each release a different number of times.
    scenario = Scenario((obedient,) if obeys else (), fallback=answer("Plain text."))
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    with place.model(scenario) as address:
        _, completion = await place.run(address, free(**{keys.OUTPUT_SCHEMA: schema}))
    assert (completion.turn, completion.hint, completion.ok) == ("completed", hint, hint is None)
    assert completion.final_text == ('{"a":1}' if obeys else "Plain text.")


@pytest.mark.rule("F14", "AG8")
async def test_a_schema_that_the_model_never_fulfils_ends_the_run(place: Place) -> None:
    wrong = answer(RawItem({"type": "tool_use", "name": "StructuredOutput", "input": {"a": "x"}}))
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    with place.model(Scenario((), fallback=wrong)) as address:
        events, completion = await place.run(address, free(**{keys.OUTPUT_SCHEMA: schema}))
    assert (completion.turn, completion.hint, completion.ok) == ("failed", "schema_ignored", False)
    errors = [event.message or "" for event in events if event.kind == "error"]
    assert errors[0].startswith("Failed to provide valid structured output after 5 attempts")


@pytest.mark.rule("F9", "AG8")
@pytest.mark.parametrize(
    ("option", "value", "hint"), [(keys.MAX_BUDGET, 0.000001, "budget_limit"), (keys.MAX_TURNS, 1, "turn_limit")]
)
async def test_a_limit_of_the_run_has_its_own_hint(place: Place, option: str, value: float, hint: Hint) -> None:
    with place.model(Shell("true"), Shell("true"), "Done.") as address:
        _, completion = await place.run(address, free(**{option: value}))
    assert (completion.turn, completion.hint, completion.ok) == ("failed", hint, False)


@pytest.mark.rule("F9", "T4")
async def test_a_refusal_by_policy_has_its_hint_and_no_unknown_line(place: Place) -> None:
    refused = Answer(items=(Message("no"),), end="incomplete", detail={"stop_reason": "refusal"})
    with place.model(Scenario((), fallback=refused)) as address:
        events, completion = await place.run(address, free())
    assert (completion.turn, completion.hint, completion.ok) == ("failed", "policy_refused", False)
    assert [event for event in events if event.kind == "unknown"] == []


@pytest.mark.rule("F9")
async def test_a_service_that_cannot_be_reached(place: Place) -> None:
    assert (await place.run(NOWHERE, free()))[1].hint == "no_network"


@pytest.mark.rule("K3", "K4", "K5", "F15")
async def test_a_run_that_is_cancelled_in_a_command_leaves_nothing(place: Place) -> None:
    up = place.workspace / "up"
    os.mkfifo(up)
    # The CLI refuses a command that begins with a long sleep.
    command = Shell(f"tail -f /dev/null & setsid tail -f /dev/null & echo up > {up}; wait")
    session = None
    with place.model(command, "Resumed.", "Resumed.") as address, trio.fail_after(SOON):
        request = place.request(address, {}, free())
        async with open_run(request, agent="claude_code", config=place.config()) as run:
            async for event in run.events:
                if event.kind == "tool_call":
                    break
            await trio.to_thread.run_sync(up.read_text)
            assert len(place.oracle.look()) > 3
            run.cancel()
            with pytest.raises(BackendError) as cancelled:
                await run.wait_completed()
            assert (cancelled.value.run_usage or {})["input_tokens"] == Usage().input
            session = run.session_id
        place.oracle.check()
        resumed = {keys.RESUME: {"selector": "id", "id": session}}
        _, completion = await place.run(address, free(**resumed))
    assert (completion.session_id, completion.final_text) == (session, "Resumed.")


@pytest.mark.rule("AG9")
async def test_what_a_mode_does_not_allow_is_denied_with_an_event(place: Place) -> None:
    other = place.root / "other"
    question = RawItem({"type": "tool_use", "name": "AskUserQuestion", "input": {"questions": []}})
    with place.model(write(other), question, "Done.") as address:
        events, completion = await place.run(address, {keys.SANDBOX_MODE: "workspace-write"})
    assert completion.final_text == "Done."
    assert [event.message for event in events if event.message] == ["permission denied: Write"]
    results = [event.data.tool.status for event in events if isinstance(event.data, ToolCall)]
    assert results == ["running", "failed", "running", "failed"]
    assert not other.exists()


@pytest.mark.rule("K6", "AG10", "M9")
async def test_a_run_waits_for_its_command_in_the_background(place: Place, clock: MockClock) -> None:
    go = place.workspace / "go"
    os.mkfifo(go)
    command = Shell(f"cat {go}", {"run_in_background": True})
    texts: list[str] = []
    with place.model(command, "Waiting.", "It ended.") as address, trio.fail_after(100 * SOON):
        request = place.request(address, {}, free())
        async with open_run(request, agent="claude_code", config=place.config()) as run:
            async for event in run.events:
                texts += [event.text] if event.text else []
                if isinstance(event.data, TokenUsage) and texts == ["Waiting."]:
                    clock.jump(10 * SOON)  # far more than the grace for its exit
                    await trio.to_thread.run_sync(go.write_text, "gone", abandon_on_cancel=True)
            completion = await run.wait_completed()
    place.oracle.check()
    assert texts == ["Waiting.", "It ended."]
    assert (completion.final_text, completion.ok, completion.status.code) == ("It ended.", True, 0)
