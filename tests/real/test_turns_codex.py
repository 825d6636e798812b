"""Test the Codex harness with the real CLI: changing environments in lasting conversations."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from codex_adapter import AdapterError, Completion
from codex_adapter.agents.codex.harness import CodexHarness
from codex_adapter.harness import HarnessTurn
from codex_adapter.spaces import Environment, Hook, Server, Skill
from codex_adapter.testing import MCP_SERVER, Answer, McpCall, RawItem, Shell, answer, script
from codex_adapter.turn_errors import TurnError

from .releases import Release
from .stage import SOON, Outcome, Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("U9")]

NOBODYS = "01234567-89ab-7def-8123-456789abcdef"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db0"
    "0000000049454e44ae426082"
)
PROGRAM = """
import os, sys
from pathlib import Path
import trio
from codex_adapter import CodexConfig
from codex_adapter.harness import HarnessTurn
from codex_adapter.agents.codex.harness import CodexHarness
from codex_adapter.spaces import Environment

binary, home, directory, cwd, session = sys.argv[1:]
empty = Environment(
    spaces=(), instructions="", skills=(), hooks=(), servers=(), env={}, model=None, permissions=None
)
turn = HarnessTurn(
    environment=empty, directory=Path(directory), cwd=cwd, prompt="Two.", env=dict(os.environ), session=session
)

async def main():
    async with CodexHarness(CodexConfig(binary=binary, codex_home=home)).open(turn):
        pass

trio.run(main)
"""
"""A turn in a process of its own."""
EMPTY = Environment(spaces=(), instructions="", skills=(), hooks=(), servers=(), env={}, model=None, permissions=None)


class Conversation:
    """Turns in one directory, each by a harness that knows nothing of the one before."""

    def __init__(self, stage: Stage, directory: Path | None = None) -> None:
        self.stage = stage
        self.directory = directory or stage.root / "conversation"
        self.directory.mkdir(exist_ok=True)
        self.session: str | None = None

    async def turn(self, environment: Environment = EMPTY, prompt: str = "Do it.", **fields: Any) -> Outcome:
        """One turn, to its end; the next one goes on from it."""
        stage = self.stage
        fields = {"session": self.session, "cwd": str(stage.workspace), **fields}
        env = {**(stage.request().env), **fields.pop("env", {})}
        turn = HarnessTurn(environment=environment, directory=self.directory, prompt=prompt, env=env, **fields)
        async with CodexHarness(stage.config()).open(turn) as run:
            outcome = await stage.outcome(run)
            self.session = run.session_id or self.session
        stage.oracle.check()
        return outcome

    @property
    def home(self) -> Path:
        """The CODEX_HOME of its turns."""
        return self.directory / "codex"


@pytest.fixture
def conversation(stage: Stage) -> Conversation:
    return Conversation(stage)


def told(request: Mapping[str, Any]) -> str:
    """All that the model was sent besides its tools."""
    return json.dumps(request["input"])


def offered(request: Mapping[str, Any]) -> str:
    """The tools."""
    return json.dumps(request.get("tools", []))


def well(outcome: Outcome) -> Completion:
    """The completion of a turn that went well."""
    assert outcome.completion is not None
    assert CodexHarness().failure(outcome.completion) is None
    return outcome.completion


def skill(stage: Stage) -> Skill:
    directory = stage.root / "store" / "skills" / "greeting"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: greeting\ndescription: How one greets.\n---\nSay ahoy.\n")
    return Skill(name="greeting", description="How one greets.", space="one", directory=str(directory))


def hook(stage: Stage, event: Any = "before_tool", matcher: str | None = None) -> Hook:
    command = f"cat >/dev/null; echo {event} >> {stage.root}/hooked"
    return Hook(name="note", event=event, command=command, matcher=matcher, timeout=10, space="one")


def hooked(stage: Stage) -> list[str]:
    path = stage.root / "hooked"
    return path.read_text().split() if path.exists() else []


def server(stage: Stage) -> Server:
    arguments = ("-I", "-S", MCP_SERVER, "ok", stage.oracle.word)
    return Server(name="scripted", command=sys.executable, args=arguments, env={}, cwd=None, url=None, space="one")


def environment(**fields: Any) -> Environment:
    return Environment(**{**{name: getattr(EMPTY, name) for name in EMPTY.__struct_fields__}, **fields})


def everything(stage: Stage) -> Environment:
    return environment(
        instructions="# Space one\n\nBe brief, says the space.",
        skills=(skill(stage),),
        hooks=(hook(stage),),
        servers=(server(stage),),
    )


def digests(directory: Path) -> dict[str, str]:
    """All of a directory, byte for byte."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(directory.rglob("*"))
    }


def replaces_instructions(release: Release) -> None:
    release.needs(0, 147, what="other instructions within a conversation")


def has_everything(release: Release) -> None:
    release.needs(0, 125, what="hooks, and MCP tools without approval")


@pytest.mark.smoke
@pytest.mark.rule("U10")
@pytest.mark.usefixtures("agent_sandbox")
async def test_an_environment_is_used_and_gone_from_the_next_turn(stage: Stage, conversation: Conversation) -> None:
    replaces_instructions(stage.release)
    read = Shell("cat $CODEX_HOME/skills/greeting/SKILL.md")
    call = McpCall("scripted", "destructive")
    with stage.model(script(read, call, "used", Shell("echo again"), "gone")) as model:
        first = await conversation.turn(everything(stage))
        first_requests = list(model.requests)
        hooked_first = hooked(stage)
        session = conversation.session
        second = await conversation.turn(prompt="And now?")
        last = model.requests[-1]
    assert well(first).final_text == "used"
    assert "greeting: How one greets." in told(first_requests[0])
    assert "Be brief, says the space." in told(first_requests[0])
    assert "mcp__scripted" in offered(first_requests[0])
    outputs = [i["output"] for i in first_requests[-1]["input"] if i["type"] == "function_call_output"]
    assert "Say ahoy." in json.dumps(outputs[0])
    assert "destroyed" in json.dumps(outputs[1])
    assert hooked_first == ["before_tool", "before_tool"]

    assert well(second).final_text == "gone"
    assert conversation.session == session
    assert hooked(stage) == hooked_first
    assert "mcp__scripted" not in offered(last)
    assert "The previously provided AGENTS.md instructions no longer apply." in told(last)
    assert "No host skills are currently available." in told(last)
    assert not {"skills", "hooks.json", "AGENTS.md"} & {path.name for path in conversation.home.iterdir()}


@pytest.mark.rule("U10")
@pytest.mark.parametrize("event", ["session_start", "prompt", "before_tool", "after_tool", "stop"])
async def test_a_hook_of_each_event_runs(stage: Stage, conversation: Conversation, event: str) -> None:
    has_everything(stage.release)
    matcher = "Bash|apply_patch" if "tool" in event else None
    with stage.model(script(answer(Shell("echo hi")), answer("done", delay=stage.release.pause))):
        well(await conversation.turn(environment(hooks=(hook(stage, "stop"), hook(stage, event, matcher)))))
    assert sorted(hooked(stage)) == sorted(["stop", event])


async def test_what_a_release_cannot_do_is_refused(stage: Stage, conversation: Conversation) -> None:
    if not stage.release.before(0, 125):
        pytest.skip("this release can do all of it")
    for asked in (environment(hooks=(hook(stage),)), environment(servers=(server(stage),))):
        with stage.model(script("never")) as model:
            with pytest.raises(TurnError, match=r"release  0\.125\.0 or newer"):
                await conversation.turn(asked)
            assert model.requests == []


async def test_a_release_that_keeps_its_first_instructions_refuses_others(
    stage: Stage, conversation: Conversation
) -> None:
    if not stage.release.before(0, 147):
        pytest.skip("this release replaces them")
    with stage.model(script(fallback=answer("done"))) as model:
        well(await conversation.turn(environment(instructions="Be brief.")))
        well(await conversation.turn(environment(instructions="Be brief.")))
        with pytest.raises(TurnError, match=r"release  0\.147\.0 or newer"):
            await conversation.turn()
        assert len(model.requests) == 2


@pytest.mark.rule("U8")
async def test_a_conversation_goes_on_in_a_home_that_was_moved(stage: Stage, conversation: Conversation) -> None:
    with stage.model(script("first", "second", "third")) as model:
        well(await conversation.turn(prompt="One."))
        conversation.directory = conversation.directory.rename(stage.root / "moved")
        well(await conversation.turn(prompt="Two."))
        assert well(await conversation.turn(prompt="Three.")).session_id == conversation.session
        assert [
            word for word in ("One.", "first", "Two.", "second", "Three.") if f'"{word}"' in told(model.requests[2])
        ]
    assert len(list((conversation.home / "sessions").rglob("*.jsonl"))) == 1


@pytest.mark.rule("U8")
async def test_a_conversation_goes_on_after_the_agent_was_killed(stage: Stage, conversation: Conversation) -> None:
    with stage.model(script("first", answer("held", gate="never"), "third")) as model:
        well(await conversation.turn(prompt="One."))
        env = stage.request().env
        turn = HarnessTurn(
            environment=EMPTY,
            directory=conversation.directory,
            prompt="Two.",
            env=env,
            cwd=str(stage.workspace),
            session=conversation.session,
        )
        async with CodexHarness(stage.config()).open(turn) as run:
            await stage.asked(model, 2)
            stage.signal("KILL")
            killed = await stage.outcome(run)
        stage.oracle.check()
        assert killed.completion is not None
        failure = CodexHarness().failure(killed.completion)
        assert failure is not None
        assert (failure.message, failure.details) == ("The Codex CLI exited during its turn.", {"signal": "SIGKILL"})
        third = well(await conversation.turn(prompt="Three."))
        assert (third.final_text, third.session_id) == ("third", conversation.session)
        assert all(f'"{word}"' in told(model.requests[2]) for word in ("One.", "first", "Two.", "Three."))


@pytest.mark.rule("U8")
@pytest.mark.fault(
    "turns", "A user copies a conversation together with its aspHome", "Both conversations continue independently"
)
async def test_a_copy_of_a_conversation_leaves_the_first_one_alone(stage: Stage, conversation: Conversation) -> None:
    with stage.model(script("first", "second", "third")) as model:
        well(await conversation.turn(prompt="One."))
        copy = Conversation(stage, Path(shutil.copytree(conversation.directory, stage.root / "copy", symlinks=True)))
        copy.session = conversation.session
        before = digests(conversation.home)
        well(await copy.turn(prompt="Two."))
        assert digests(conversation.home) == before
        well(await conversation.turn(prompt="Three."))
        assert "Two." not in told(model.requests[2])


@pytest.mark.rule("U8")
async def test_a_conversation_goes_on_after_everything_was_killed(stage: Stage, conversation: Conversation) -> None:
    with stage.model(script("first", answer("held", gate="never"), "third")) as model:
        well(await conversation.turn(prompt="One."))
        words = [str(stage.release.binary), str(stage.home), str(conversation.directory), str(stage.workspace)]
        program = [sys.executable, "-c", PROGRAM, *words, str(conversation.session)]
        env = {**os.environ, **stage.request().env}
        with subprocess.Popen(program, env=env) as process:  # noqa: ASYNC220 - quick, and it is to be killed
            await stage.asked(model, 2)
            process.kill()
        assert stage.oracle.wait_gone(SOON) == []
        assert well(await conversation.turn(prompt="Three.")).session_id == conversation.session
        assert all(f'"{word}"' in told(model.requests[2]) for word in ("One.", "first", "Two.", "Three."))


@pytest.mark.rule("U10")
async def test_a_model_that_runs_scripts_is_told_of_servers(stage: Stage, conversation: Conversation) -> None:
    stage.release.needs(0, 147, what="models that run scripts")
    call = 'text(JSON.stringify(await tools.mcp__scripted__echo({text: "ahoy"})))'
    item = {"type": "custom_tool_call", "id": "c", "call_id": "c", "status": "completed", "name": "exec", "input": call}
    with stage.model(script(RawItem(item), "done")) as model:
        asked = environment(servers=(server(stage),))
        well(await conversation.turn(asked, model="scripted/gpt-5.6-sol"))
        if not stage.release.before(0, 155):
            assert "mcp__scripted" not in offered(model.requests[0])
        assert "There are tools of these MCP servers: `scripted`." in told(model.requests[0])
        assert "echo: ahoy" in told(model.requests[1])


@pytest.mark.rule("U5")
async def test_a_conversation_goes_on_with_another_model(stage: Stage, conversation: Conversation) -> None:
    with stage.model(script("first", "second")) as model:
        well(await conversation.turn(model="scripted/mock-model"))
        session = conversation.session
        assert well(await conversation.turn(model="scripted/other/model")).session_id == session
        assert [request["model"] for request in model.requests] == ["mock-model", "other/model"]


@pytest.mark.rule("U8")
@pytest.mark.parametrize("key", [NOBODYS, NOBODYS.upper(), "a name", "../..", "*", ""])
async def test_a_session_that_is_not_there_is_refused_before_any_start(
    stage: Stage, conversation: Conversation, key: str
) -> None:
    with stage.model(script("never")) as model:
        with pytest.raises(TurnError, match="no such session") as refused:
            await conversation.turn(session=key)
        assert model.requests == []
    assert refused.value.error.code == "harness_session_not_found"
    assert [path.name for path in conversation.directory.iterdir()] == ["codex.lock"]


async def test_the_users_own_home_is_neither_seen_nor_changed(stage: Stage, conversation: Conversation) -> None:
    user = stage.root / "home"
    for skills in (stage.home / "skills", user / ".agents" / "skills"):
        (skills / "own").mkdir(parents=True)
        (skills / "own" / "SKILL.md").write_text("---\nname: own\ndescription: MY-OWN-SKILL\n---\n")
    (stage.home / "AGENTS.md").write_text("MY-OWN-INSTRUCTIONS")
    event = [{"hooks": [{"type": "command", "command": f"touch {stage.root}/hooked"}]}]
    (stage.home / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": event}}))
    (stage.home / "auth.json").write_text('{"OPENAI_API_KEY":"sk-own"}')
    own_server = f'mcp_servers.own = {{ command = "touch", args = ["{stage.root}/hooked"] }}\nnotify = ["touch", "x"]\n'
    with stage.model(script("first", "second"), config=own_server) as model:
        before = digests(stage.home), digests(user)
        well(await conversation.turn())
        well(await conversation.turn())
        assert (digests(stage.home), digests(user)) == before
        assert "MY-OWN-INSTRUCTIONS" not in told(model.requests[-1])
        if not stage.release.before(0, 116):
            assert "MY-OWN-SKILL" not in told(model.requests[-1])
    assert hooked(stage) == []
    # This provider asks for no login, and is not sent one.
    assert not (conversation.home / "auth.json").exists()


SKILLS = {
    "unnamed": "---\ndescription: {told}\n---\n",
    "marked": "\ufeff---\nname: marked\ndescription: {told}\n---\n",
    "returns": "---\r\nname: returns\r\ndescription: {told}\r\n---\r\n",
    "folded": "---\nname: folded\ndescription: >-\n  {told}\n---\n",
    "true": "---\nname: true\ndescription: {told}\n---\n",
    "more": "---\nname: more\ndescription: {told}\nmetadata:\n  short-description: " + "x" * 2000 + "\n---\n",
}
"""As Z2 has them, and as some release or other leaves them out in silence."""


async def test_every_skill_is_told_of_however_it_is_written(stage: Stage, conversation: Conversation) -> None:
    stage.release.needs(0, 77, what="skills")
    skills = []
    for name, content in SKILLS.items():
        directory = stage.root / "store" / name
        directory.mkdir(parents=True)
        (directory / "SKILL.md").write_bytes(content.format(told=f"Tells of {name}.").encode())
        skills.append(Skill(name=name, description=f"Tells of {name}.", space="one", directory=str(directory)))
    with stage.model(script("done")) as model:
        well(await conversation.turn(environment(skills=tuple(skills))))
        missing = [name for name in SKILLS if f"{name}: Tells of {name}." not in told(model.requests[0])]
    assert missing == []


@pytest.mark.parametrize("permissions", ["read-only", "workspace-write", "full"])
@pytest.mark.parametrize("inside", ["", "below"])
@pytest.mark.fault(
    "turns", "The CLI trusts the project in `cwd` by default", "The project's servers and hooks do not run"
)
async def test_settings_and_hooks_of_the_project_do_not_count(
    stage: Stage, conversation: Conversation, permissions: Any, inside: str
) -> None:
    subprocess.run(["git", "init", "-q", stage.workspace], check=True)  # noqa: ASYNC221 - quick
    cwd = stage.workspace / inside
    event = [{"hooks": [{"type": "command", "command": f"echo own >> {stage.root}/hooked"}]}]
    for directory in {stage.workspace, cwd}:
        (directory / ".codex").mkdir(parents=True)
        started = f'command = "sh", args = ["-c", "echo own >> {stage.root}/hooked"]'
        (directory / ".codex" / "config.toml").write_text(f'model = "own"\nmcp_servers.own = {{ {started} }}\n')
        (directory / ".codex" / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": event}}))
    with stage.model(script(fallback=answer("done"))) as model:
        for _ in range(2):
            well(await conversation.turn(environment(permissions=permissions), cwd=str(cwd)))
        assert {request["model"] for request in model.requests} == {"mock-model"}
    assert hooked(stage) == []


@pytest.mark.rule("U10")
async def test_attachments_are_shown_or_named(stage: Stage, conversation: Conversation) -> None:
    stage.release.needs(0, 53, what="images")
    image, text = stage.root / "a,b.bin", stage.root / "notes.txt"
    image.write_bytes(PIXEL)
    text.write_text("hello")
    with stage.model(script("first", "second")) as model:
        for _ in range(2):
            well(await conversation.turn(attachments=(str(image), str(text))))
        contents = model.requests[-1]["input"][-1]["content"]
    assert [part["type"] for part in contents if part["type"] == "input_image"] == ["input_image"]
    assert contents[-1]["text"] == f"Do it.\n\nAttached files:\n- {text}\n"


@pytest.mark.rule("U10")
async def test_variables_reach_the_agent_and_those_of_the_request_win(stage: Stage, conversation: Conversation) -> None:
    given = environment(env={"OF_SPACE": "1", "OF_BOTH": "space"})
    with stage.model(script(Shell("echo $OF_SPACE $OF_BOTH $OF_TURN"), answer("done", delay=1.0))) as model:
        well(await conversation.turn(given, env={"OF_BOTH": "turn", "OF_TURN": "2", "CODEX_HOME": "/nowhere"}))
        assert "1 turn 2" in told(model.requests[-1])


@pytest.mark.rule("U10")
@pytest.mark.parametrize(("permissions", "name"), [("read-only", "read-only"), (None, "workspace-write")])
async def test_permissions_are_those_of_the_environment(
    stage: Stage, conversation: Conversation, permissions: Any, name: str
) -> None:
    with stage.model(script(Shell("echo x > own"), answer("done", delay=stage.release.pause))):
        well(await conversation.turn(environment(permissions=permissions)))
    assert (stage.workspace / "own").exists() == (name == "workspace-write")


@pytest.mark.rule("U6")
@pytest.mark.fault(
    "turns",
    "An MCP server of a space does not start",
    "The turn fails and names the reason, instead of running without the server",
)
async def test_a_server_that_does_not_start_is_told(stage: Stage, conversation: Conversation) -> None:
    has_everything(stage.release)
    with stage.model(script("never")) as model:
        broken = Server(name="broken", command="/nowhere", args=(), env={}, cwd=None, url=None, space="one")
        outcome = await conversation.turn(environment(servers=(broken,)))
        assert model.requests == []
    assert failed(outcome).details == {"hint": "mcp_server_failed", "exitStatus": 1}


@pytest.mark.rule("U5", "U6")
async def test_a_model_that_the_service_does_not_know_is_told(stage: Stage, conversation: Conversation) -> None:
    error = {"message": "SAID-BY-THE-SERVICE", "type": "invalid_request_error", "param": "model"}
    with stage.model(script(Answer(status=400, body={"error": {**error, "code": "model_not_found"}}))):
        told_of = failed(await conversation.turn(model="scripted/nonsense"))
    if str(stage.release) == "0.169.0":
        pytest.skip("the release loses the code")
    assert told_of.code == "model_not_supported"
    assert "SAID-BY-THE-SERVICE" not in repr(told_of)


@pytest.mark.rule("U5")
async def test_the_models_are_those_of_the_release_behind_the_users_own(stage: Stage) -> None:
    with stage.model(script("never")):
        models = await CodexHarness(stage.config()).models()
        assert models is not None
        assert models[0] == "scripted/mock-model"
        assert all(model.startswith("scripted/") for model in models)
        assert (len(models) > 3) == (not stage.release.before(0, 125))


def failed(outcome: Outcome) -> Any:
    """What a turn's failure comes to."""
    result: Completion | AdapterError | None = outcome.completion or outcome.error
    assert result is not None
    failure = CodexHarness().failure(result)
    assert failure is not None
    return failure
