"""Test runs of the real pi with a scripted model: tools, trust, sessions, errors and ends.

The programs are those in `$PI_RELEASES/<version>/`, as npm installs them, each with a Node.js beside it. Without the
variable, the program is the one on PATH, else the newest tested release, from npm.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from codex_adapter import BackendError, Completion, Event, RunRequest, open_run
from codex_adapter.agents import agent_of
from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.events import TextPart, ToolCall
from codex_adapter.hints import Hint
from codex_adapter.records import encode_completion, encode_events
from codex_adapter.testing import Answer, ModelServer, Scenario, Shell, Usage, answer, script
from codex_adapter.testing.mcp_server import PIXEL
from tests.regenerate_goldens import golden
from tests.releases.install import install
from tests.releases.pi.catalogue import tool
from tests.releases.pi.subject import PI

from ..needs import missing
from ..waiting import SOON
from .agents import node_path, pi_programs, write_pi_files
from .oracle import Oracle

pytestmark = pytest.mark.real
NOWHERE: Final = "http://127.0.0.1:1/v1"
UNKNOWN: Final = "11111111-1111-4111-8111-111111111111"
STUBBORN: Final = "trap '' TERM INT HUP; sleep 1000 & setsid sleep 1000 & while :; do wait; done"


def programs() -> list[Any]:
    """The programs to test, or None for one that npm installs."""
    return [pytest.param(path, id=path.parents[2].name) for path in pi_programs()] or [pytest.param(None, id="npm")]


@pytest.fixture(scope="session")
def npm_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The newest release that the laboratory tests, with its Node.js, as npm installs them."""
    if shutil.which("npm") is None:
        missing("node")
    directory = tmp_path_factory.mktemp("pi")
    try:
        yield install(PI, PI.versions[-1], directory).binary
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        missing("npm")
    finally:
        shutil.rmtree(directory)  # 350 MB


class Place:
    """A workspace for runs of one program; every process of a run has the oracle's word."""

    def __init__(self, program: Path, root: Path) -> None:
        self.program = program
        self.root = root
        self.workspace = root / "workspace"
        self.oracle = Oracle()
        for name in ("workspace", "home", "agent", "tmp"):
            (root / name).mkdir()
        self.environment = {"HOME": str(root / "home"), **self.oracle.environment}
        self.environment["PATH"] = node_path(program)

    @property
    def old(self) -> bool:
        """Whether the release uses each project, and does not notice a stream without an end."""
        return self.program.parents[2].name == "0.74.2"

    def intercept(self, *names: str) -> Path:
        """Replace programs that the CLI starts, and return the directory with the arguments of each start."""
        programs, starts = self.root / "bin", self.root / "starts"
        for directory in (programs, starts):
            directory.mkdir()
        for name in names:
            program = programs / name
            program.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" > {starts}/$$\n')
            program.chmod(0o755)
        self.environment["PATH"] = f"{programs}:{self.environment['PATH']}"
        return starts

    def config(self) -> PiConfig:
        return PiConfig(binary=str(self.program), agent_dir=str(self.root / "agent"))

    def request(self, prompt: str, extensions: Mapping[str, Any], workspace: Path | None = None) -> RunRequest:
        chosen = {keys.PROVIDER: "scripted", keys.MODEL: "mock-model", **extensions}
        where = str(workspace or self.workspace)
        return RunRequest(prompt=prompt, working_dir=where, env=self.environment, extensions=chosen)

    def provide(self, address: str) -> None:
        """Connect the CLI to a service."""
        write_pi_files(self.root / "agent", address)

    @contextmanager
    def model(self, *items: Any) -> Iterator[ModelServer]:
        with ModelServer(items[0] if isinstance(items[0], Scenario) else script(*items)) as server:
            self.provide(server.base_url)
            yield server

    async def run(
        self, extensions: Mapping[str, Any], prompt: str = "Do it.", workspace: Path | None = None
    ) -> tuple[list[Event], Completion]:
        """A whole run, of which no process and no temporary file is left."""
        with trio.fail_after(SOON):
            request = self.request(prompt, extensions, workspace)
            async with open_run(request, agent="pi", config=self.config()) as run:
                events = [event async for event in run.events]
                completion = await run.wait_completed()
        self.oracle.check()
        assert list((self.root / "tmp").iterdir()) == []
        return events, completion


@pytest.fixture(params=programs())
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place for runs of one program; the temporary directory of the adapter is in it."""
    program = request.param or request.getfixturevalue("npm_program")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return Place(program, tmp_path)


def free(**more: Any) -> dict[str, Any]:
    return {keys.SANDBOX_MODE: "danger-full-access", **more}


def by_id(session: str | None) -> dict[str, Any]:
    return {"selector": "id", "id": session}


def results(events: list[Event]) -> list[tuple[str | None, str, int | None]]:
    found = [event.data.tool for event in events if event.kind == "tool_result" and isinstance(event.data, ToolCall)]
    return [(call.tool_name, call.status, call.exit_code) for call in found]


def refusal(status: int, code: str) -> Scenario:
    return Scenario(fallback=Answer(status=status, body={"error": {"code": code, "message": "scripted"}}))


@pytest.mark.smoke
@pytest.mark.rule("S1", "S11", "F2", "M3", "AG12", "R3")
async def test_a_run_with_commands_and_a_file(place: Place) -> None:
    if not place.old:
        (place.workspace / ".pi").mkdir()
        (place.workspace / ".pi" / "settings.json").write_text('{"sessionDir": "stolen"}')
    with place.model(Shell("exit 3"), tool("write", path="a", content="1\n"), "Done."):
        events, completion = await place.run(free())
    assert (completion.final_text, completion.ok, completion.turn) == ("Done.", True, "completed")
    assert results(events) == [("bash", "failed", 3), ("write", "completed", None)]
    assert (place.workspace / "a").read_text() == "1\n"
    assert [event for event in events if event.kind in {"unknown", "error"}] == []
    # The session is not where the project, which is not trusted, wants it.
    assert sorted(path.name for path in place.workspace.iterdir() if path.name != ".pi") == ["a"]
    assert len(list((place.root / "agent" / "sessions").glob("*/*.jsonl"))) == 1


@pytest.mark.rule("S3", "AG12")
@pytest.mark.parametrize("prompt", ["--version", "@/etc/hostname", "/foo", "/skill:foo", "!ls", "y\n"])
async def test_a_prompt_is_always_a_prompt(place: Place, prompt: str) -> None:
    with place.model("Done.") as server:
        assert (await place.run(free(), prompt))[1].final_text == "Done."
    assert server.requests[0]["input"][-1]["content"][-1]["text"] == prompt.strip()


@pytest.mark.rule("AG12")
async def test_read_only_tools_cannot_write(place: Place) -> None:
    """The model tries each tool, and words that `rg` and `fd` would take as options to start a program."""
    escape = "--exec=evil"
    searched = place.intercept("rg", "fd")
    (place.workspace / "file").write_text("content\n")
    calls = (
        Shell("touch in"),
        tool("bash", 1, command="touch in"),
        tool("write", path="in", content="x"),
        tool("edit", path="file", edits=[{"oldText": "content", "newText": "x"}]),
        tool("grep", pattern=escape, path="."),
        tool("grep", 1, pattern="content", path=escape),
        tool("grep", 2, pattern="content", path=".", glob=escape),
        tool("find", pattern=escape, path="."),
        tool("find", 1, pattern="*", path=escape),
        tool("ls", path="."),
        tool("read", path="file"),
    )
    with place.model(*calls, "Done.") as server:
        events, completion = await place.run({})
    assert {offer["name"] for offer in server.requests[0]["tools"]} == {"read", "grep", "find", "ls"}
    assert completion.final_text == "Done."
    assert [status for _, status, _ in results(events)[:4]] == ["failed"] * 4
    assert [status for _, status, _ in results(events)[-2:]] == ["completed"] * 2
    assert [path.name for path in place.workspace.iterdir()] == ["file"]
    assert (place.workspace / "file").read_text() == "content\n"
    started = [file.read_text().splitlines() for file in searched.iterdir()]
    arguments = [words for words in started if words != ["--version"]]
    assert len(arguments) > 2
    for words in arguments:
        options = words[: words.index("--")]
        assert escape not in options or options[options.index(escape) - 1] == "--glob"


@pytest.mark.rule("AG7", "AG12")
async def test_a_run_without_tools_offers_none(place: Place) -> None:
    with place.model(Shell("touch in"), "Done.") as server:
        request = agent_of("pi").restricted(place.request("Do it.", {}))
        events, completion = await place.run(request.extensions)
    assert not server.requests[0].get("tools")
    assert (completion.final_text, [status for _, status, _ in results(events)]) == ("Done.", ["failed"])
    assert list(place.workspace.iterdir()) == []


def plant(place: Place) -> None:
    """Put everything into the workspace that a project can have for the CLI."""
    project = place.workspace / ".pi"
    for folder in ("extensions", "prompts", "skills/evil"):
        (project / folder).mkdir(parents=True)
    shell = place.root / "shell"
    shell.write_text(f'#!/bin/sh\ntouch {place.root}/ran-shell\nexec /bin/bash "$@"\n')
    shell.chmod(0o755)
    settings = {"shellPath": str(shell), "shellCommandPrefix": f"touch {place.root}/ran-prefix"}
    settings |= {"npmCommand": ["sh", "-c", f"touch {place.root}/ran-npm"], "packages": ["npm:left-pad"]}  # type: ignore[dict-item]
    (project / "settings.json").write_text(json.dumps(settings))
    start = f'import fs from "node:fs"; export default () => {{ fs.writeFileSync("{place.root}/ran-extension", "") }}'
    (project / "extensions" / "e.ts").write_text(start)
    (project / "skills" / "evil" / "SKILL.md").write_text("---\nname: evil\ndescription: PLANTED\n---\nPLANTED\n")
    for file in (project / "SYSTEM.md", project / "prompts" / "foo.md", place.workspace / "AGENTS.md"):
        file.write_text("PLANTED\n")


@pytest.mark.rule("S8", "S11", "AG12")
async def test_a_project_that_is_not_trusted_changes_nothing(place: Place) -> None:
    plant(place)
    with place.model(Shell("true"), "Done.") as server:
        if place.old:
            with pytest.raises(BackendError) as caught:
                await place.run(free(), "/foo")
            assert caught.value.failure == "invalid_request"
            assert server.requests == []
        else:
            assert (await place.run(free(), "/foo"))[1].final_text == "Done."
            assert "PLANTED" not in json.dumps(server.requests)
    assert list(place.root.glob("ran-*")) == []


@pytest.mark.rule("S11", "AG12")
async def test_a_project_that_is_trusted_is_used(place: Place) -> None:
    plant(place)
    with place.model(Shell("true"), "Done.") as server:
        assert (await place.run(free(**{keys.TRUST_PROJECT: True}), "/foo"))[1].final_text == "Done."
    assert "PLANTED" in json.dumps(server.requests)
    assert {path.name for path in place.root.glob("ran-*")} == {"ran-shell", "ran-prefix", "ran-extension"}


@pytest.mark.rule("Q3", "AG12")
async def test_an_image_is_part_of_the_prompt(place: Place) -> None:
    image = base64.b64decode(PIXEL)
    (place.root / "a b.png").write_bytes(image)
    with place.model("Seen.") as server:
        assert (await place.run({keys.IMAGES: [str(place.root / "a b.png")]}))[1].final_text == "Seen."
    kinds = [part["type"] for part in server.requests[0]["input"][-1]["content"]]
    assert kinds == ["input_text", "input_image"]


@pytest.mark.rule("S9", "AG13")
async def test_sessions_are_resumed_and_forked(place: Place) -> None:
    for extensions in ({keys.RESUME: {"selector": "last"}}, {keys.RESUME: by_id(UNKNOWN)}, {keys.FORK: by_id(UNKNOWN)}):
        with place.model("no"), pytest.raises(BackendError) as caught:
            await place.run(extensions)
        assert (caught.value.failure, caught.value.hint) == ("session", "session_unknown")
    other, third = place.root / "other", place.root / "third"
    other.mkdir()
    third.mkdir()
    with place.model("one", "two", "three", "four", "five"):
        first = (await place.run({}))[1].session_id
        assert (await place.run({keys.RESUME: by_id(first)}))[1].session_id == first
        assert (await place.run({keys.RESUME: {"selector": "last"}}))[1].session_id == first
        for workspace, text in ((place.workspace, "four"), (other, "five")):
            forked = (await place.run({keys.FORK: by_id(first)}, workspace=workspace))[1]
            assert forked.final_text == text
            assert forked.session_id not in {first, None}
    # In another directory the CLI asks a question, which the prompt must not answer, and exits with 0.
    with place.model("no") as server, pytest.raises(BackendError) as caught:
        await place.run({keys.RESUME: by_id(first)}, "yes\n", third)
    assert (caught.value.failure, caught.value.hint) == ("session", "session_unknown")
    assert server.requests == []


@pytest.mark.rule("F9", "AG4", "AG13")
@pytest.mark.parametrize(
    ("status", "code", "hint"),
    [
        (401, "invalid_api_key", "not_logged_in"),
        (429, "rate_limit_exceeded", "rate_limited"),
        (503, "server_error", "overloaded"),
    ],
)
async def test_an_error_of_the_service_fails_a_run_that_exits_with_0(
    place: Place, status: int, code: str, hint: Hint
) -> None:
    with place.model(refusal(status, code)):
        _, completion = await place.run(free())
    assert (completion.status.code, completion.ok, completion.turn, completion.hint) == (0, False, "failed", hint)


@pytest.mark.rule("F9")
@pytest.mark.parametrize(("message", "hint"), [("model: m", "model_unknown"), ("Not Found", "endpoint_unknown")])
async def test_the_messages_api_does_not_know_the_model_or_the_address(place: Place, message: str, hint: Hint) -> None:
    body = {"type": "error", "error": {"type": "not_found_error", "message": message}}
    with ModelServer(Scenario(fallback=Answer(status=404, body=body))) as server:
        write_pi_files(place.root / "agent", f"http://127.0.0.1:{server.port}", api="anthropic-messages")
        _, completion = await place.run(free())
    assert (completion.turn, completion.hint) == ("failed", hint)


@pytest.mark.rule("F9", "AG4")
async def test_a_service_that_cannot_be_reached(place: Place) -> None:
    place.provide(NOWHERE)
    assert (await place.run(free()))[1].hint == "no_network"


@pytest.mark.rule("F9", "AG13")
async def test_an_answer_that_is_cut_is_not_a_result(place: Place) -> None:
    with place.model(Scenario(fallback=answer("Hel", end="none"))):
        _, completion = await place.run(free())
    assert (completion.ok, completion.hint) == (False, "stream_cut")


@pytest.mark.rule("F9")
async def test_a_start_that_fails_has_the_hint_of_standard_error(place: Place) -> None:
    place.provide(NOWHERE)
    for extensions, hint in (
        ({keys.PROVIDER: "nobody"}, "configuration_broken"),
        ({keys.PROVIDER: "openai", keys.MODEL: "gpt-5"}, "not_logged_in"),
    ):
        completion = (await place.run(extensions))[1]
        assert (completion.turn, completion.hint) == (None, hint)


@pytest.mark.rule("Y1", "M0")
async def test_a_run_and_its_replay_give_the_same_records(place: Place) -> None:
    recorded = place.root / "stdout"
    wrapper = place.root / "wrapper" / "dist" / "pi"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(f'#!/bin/bash\nset -o pipefail\n{place.program} "$@" | tee {recorded}\n')
    wrapper.chmod(0o755)
    (wrapper.parents[1] / "package.json").write_text(
        json.dumps({"name": "@earendil-works/pi-coding-agent", "version": "0.74.2" if place.old else "0.87.1"})
    )
    place.program = wrapper
    with place.model(answer("One two three.", Shell("echo a"), pieces=3), Shell("exit 1"), "Done."):
        events, completion = await place.run(free())
    assert encode_events(events) + encode_completion(len(events), completion) == golden(recorded.read_bytes(), 0, "pi")
    assert "complete" in {event.data.phase for event in events if isinstance(event.data, TextPart)}


@pytest.mark.rule("K3", "K4", "K5", "S10", "F15", "AG13")
@pytest.mark.parametrize("containment", ["cgroup", "pid_namespace", "guard", "process_group"])
@pytest.mark.parametrize("command", ["sleep 1000", STUBBORN], ids=["plain", "stubborn"])
async def test_a_run_that_is_cancelled_in_a_command_leaves_nothing(
    place: Place, containment: Any, command: str
) -> None:
    with place.model(Shell(command), "Done."), trio.fail_after(SOON):
        request = place.request("Do it.", free())
        config = PiConfig(
            binary=str(place.program), agent_dir=str(place.root / "agent"), containment_max=containment, stop_timeout=5
        )
        async with open_run(request, agent="pi", config=config) as run:
            async for event in run.events:
                if event.kind == "tool_call":
                    break
            place.oracle.look()
            run.cancel()
            with pytest.raises(BackendError) as cancelled:
                await run.wait_completed()
    assert (cancelled.value.run_usage or {})["output"] == Usage().output
    place.oracle.check()
    assert list((place.root / "tmp").iterdir()) == []


@pytest.mark.rule("K4", "AG13")
async def test_sigterm_alone_ends_the_cli_and_its_commands(place: Place) -> None:
    """The CLI itself ends its commands: its signal is SIGTERM, because it leaves them on SIGINT."""
    with place.model(Shell("sleep 1000"), "Done."), trio.fail_after(SOON):
        config = PiConfig(
            binary=str(place.program),
            agent_dir=str(place.root / "agent"),
            containment_max="process_group",
            stop_timeout=3600,
        )
        async with open_run(place.request("Do it.", free()), agent="pi", config=config) as run:
            async for event in run.events:
                if event.kind == "tool_call":
                    break
            run.cancel()
            with pytest.raises(BackendError):
                await run.wait_completed()
    place.oracle.check()
