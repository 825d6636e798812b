"""Test each harness with its real CLI: conversations that last, and environments that change."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.harness import HarnessTurn
from codex_adapter.spaces import Server, Skill
from codex_adapter.testing import Shell, answer, script
from codex_adapter.turn_errors import TurnError

from ..needs import has_no_such_case
from ..waiting import SOON
from .conversation import EMPTY, Conversation, digests, environment, failed, hook, hooked, well
from .stage import Stage

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
import json
from codex_adapter.agents import agent_of
from codex_adapter.harness import HarnessTurn
from codex_adapter.spaces import Environment

kind, config, directory, cwd, session = sys.argv[1:]
agent = agent_of(kind)
empty = Environment(
    spaces=(), instructions="", skills=(), hooks=(), servers=(), env={}, model=None, permissions=None
)
turn = HarnessTurn(
    environment=empty, directory=Path(directory), cwd=cwd, prompt="Two.", env=dict(os.environ), session=session
)

async def main():
    async with agent.harness(agent.config_type(**json.loads(config))).open(turn):
        pass

trio.run(main)
"""
"""A turn in a process of its own."""


@pytest.fixture
def conversation(any_stage: Stage) -> Conversation:
    return Conversation(any_stage)


SKILLS = {
    "unnamed": "---\ndescription: {told}\n---\n",
    "marked": "\ufeff---\nname: marked\ndescription: {told}\n---\n",
    "returns": "---\r\nname: returns\r\ndescription: {told}\r\n---\r\n",
    "folded": "---\nname: folded\ndescription: >-\n  {told}\n---\n",
    "true": "---\nname: true\ndescription: {told}\n---\n",
    "more": "---\nname: more\ndescription: {told}\nmetadata:\n  short-description: " + "x" * 2000 + "\n---\n",
}
"""As Z2 has them, and as some release or other leaves them out in silence."""


@pytest.mark.rule("U10")
@pytest.mark.parametrize("event", ["session_start", "prompt", "before_tool", "after_tool", "stop"])
async def test_a_hook_of_each_event_runs(any_stage: Stage, conversation: Conversation, event: str) -> None:
    stage = any_stage
    stage.release.needs(0, 125, what="hooks, and MCP tools without approval")
    matcher = "Bash|apply_patch" if "tool" in event else None
    with stage.model(script(answer(Shell("echo hi")), answer("done", delay=stage.release.pause))):
        well(await conversation.turn(environment(hooks=(hook(stage, "stop"), hook(stage, event, matcher)))))
    # Claude Code runs two equal commands of one event once.
    assert set(hooked(stage)) == {"stop", event}


@pytest.mark.rule("U8")
async def test_a_conversation_goes_on_in_a_home_that_was_moved(any_stage: Stage, conversation: Conversation) -> None:
    stage = any_stage
    with stage.model(script("first", "second", "third")) as model:
        well(await conversation.turn(prompt="One."))
        conversation.directory = conversation.directory.rename(stage.root / "moved")
        well(await conversation.turn(prompt="Two."))
        assert well(await conversation.turn(prompt="Three.")).session_id == conversation.session
        sent = stage.sent(model.requests[2])
        assert all(f'"{word}"' in sent for word in ("One.", "first", "Two.", "second"))
        assert "Three." in sent
    assert len(list((conversation.home / stage.session_files).rglob("*.jsonl"))) == 1


@pytest.mark.rule("U8")
async def test_a_conversation_goes_on_after_the_agent_was_killed(any_stage: Stage, conversation: Conversation) -> None:
    stage = any_stage
    with stage.model(script("first", answer("held", gate="never"), "third")) as model:
        well(await conversation.turn(prompt="One."))
        env = stage.env
        turn = HarnessTurn(
            environment=EMPTY,
            directory=conversation.directory,
            prompt="Two.",
            env=env,
            cwd=str(stage.workspace),
            session=conversation.session,
        )
        async with stage.harness().open(turn) as run:
            await stage.asked(model, 2)
            stage.signal("KILL")
            killed = await stage.outcome(run)
        stage.oracle.check()
        assert killed.completion is not None
        found = stage.harness().failure(killed.completion)
        assert found is not None
        assert (found.message, found.details) == (
            f"{stage.agent_name} exited during its turn.",
            {"signal": "SIGKILL"},
        )
        third = well(await conversation.turn(prompt="Three."))
        assert (third.final_text, third.session_id) == ("third", conversation.session)
        sent = stage.sent(model.requests[2])
        assert [word for word in ("One.", "first", "Two.", "Three.") if word not in sent] == []


@pytest.mark.rule("U8")
@pytest.mark.fault(
    "turns", "A user copies a conversation together with its aspHome", "Both conversations continue independently"
)
async def test_a_copy_of_a_conversation_leaves_the_first_one_alone(
    any_stage: Stage, conversation: Conversation
) -> None:
    stage = any_stage
    with stage.model(script("first", "second", "third")) as model:
        well(await conversation.turn(prompt="One."))
        copy = Conversation(stage, Path(shutil.copytree(conversation.directory, stage.root / "copy", symlinks=True)))
        copy.session = conversation.session
        before = digests(conversation.home)
        well(await copy.turn(prompt="Two."))
        assert digests(conversation.home) == before
        well(await conversation.turn(prompt="Three."))
        assert "Two." not in stage.sent(model.requests[2])


@pytest.mark.rule("U8")
async def test_a_conversation_goes_on_after_everything_was_killed(any_stage: Stage, conversation: Conversation) -> None:
    stage = any_stage
    with stage.model(script("first", answer("held", gate="never"), "third")) as model:
        well(await conversation.turn(prompt="One."))
        config = json.dumps(stage.config_fields)
        words = [stage.agent, config, str(conversation.directory), str(stage.workspace), str(conversation.session)]
        program = [sys.executable, "-c", PROGRAM, *words]
        env = {**os.environ, **stage.env}
        with subprocess.Popen(program, env=env) as process:  # noqa: ASYNC220 - quick, and it is to be killed
            await stage.asked(model, 2)
            process.kill()
        assert stage.oracle.wait_gone(SOON) == []
        assert well(await conversation.turn(prompt="Three.")).session_id == conversation.session
        sent = stage.sent(model.requests[2])
        assert [word for word in ("One.", "first", "Two.", "Three.") if word not in sent] == []


@pytest.mark.rule("U5")
async def test_a_conversation_goes_on_with_another_model(any_stage: Stage, conversation: Conversation) -> None:
    stage = any_stage
    with stage.model(script("first", "second")) as model:
        one, other = stage.model_names
        well(await conversation.turn(model=one))
        session = conversation.session
        assert well(await conversation.turn(model=other)).session_id == session
        first, second = (request["model"] for request in model.requests)
    assert one.partition("/")[2] in first
    assert other.partition("/")[2] in second


@pytest.mark.rule("U8")
@pytest.mark.parametrize("key", [NOBODYS, NOBODYS.upper(), "a name", "../..", "*", ""])
async def test_a_session_that_is_not_there_is_refused_before_any_start(
    any_stage: Stage, conversation: Conversation, key: str
) -> None:
    stage = any_stage
    with stage.model(script("never")) as model:
        with pytest.raises(TurnError, match="The session does not exist") as refused:
            await conversation.turn(session=key)
        assert model.requests == []
    assert refused.value.error.code == "harness_session_not_found"
    assert [path.name for path in conversation.directory.iterdir()] == [f"{conversation.home.name}.lock"]


async def test_every_skill_is_told_of_however_it_is_written(any_stage: Stage, conversation: Conversation) -> None:
    stage = any_stage
    stage.release.needs(0, 77, what="skills")
    skills = []
    for name, content in SKILLS.items():
        directory = stage.root / "store" / name
        directory.mkdir(parents=True)
        (directory / "SKILL.md").write_bytes(content.format(told=f"Tells of {name}.").encode())
        skills.append(Skill(name=name, description=f"Tells of {name}.", space="one", directory=str(directory)))
    with stage.model(script("done")) as model:
        well(await conversation.turn(environment(skills=tuple(skills))))
        sent = stage.sent(model.requests[0])
    offers = {name: stage.skill_line.format(name=name, description=f"Tells of {name}.") for name in SKILLS}
    missing = [name for name, offer in offers.items() if json.dumps(offer)[1:-1] not in sent]
    assert missing == []


@pytest.mark.rule("U10")
async def test_attachments_are_shown_or_named(any_stage: Stage, conversation: Conversation) -> None:
    stage = any_stage
    stage.release.needs(0, 53, what="images")
    image, text = stage.root / "a,b.bin", stage.root / "notes.txt"
    image.write_bytes(PIXEL)
    text.write_text("hello")
    with stage.model(script("first", "second")) as model:
        for _ in range(2):
            well(await conversation.turn(attachments=(str(image), str(text))))
        before, now = (stage.sent(request) for request in model.requests)
    assert (before.count('image"'), now.count('image"')) == (1, 2)
    assert json.dumps(f"Do it.\n\nAttached files:\n- {text}")[1:-1] in now


@pytest.mark.rule("U10")
async def test_variables_reach_the_agent_and_those_of_the_request_win(
    any_stage: Stage, conversation: Conversation
) -> None:
    stage = any_stage
    given = environment(env={"OF_SPACE": "1", "OF_BOTH": "space"})
    with stage.model(script(Shell("echo $OF_SPACE $OF_BOTH $OF_TURN"), answer("done", delay=1.0))) as model:
        well(
            await conversation.turn(
                given,
                env={
                    "OF_BOTH": "turn",
                    "OF_TURN": "2",
                    "CODEX_HOME": "/nowhere",
                    "CLAUDE_CONFIG_DIR": "/nowhere",
                    "PI_CODING_AGENT_DIR": "/nowhere",
                },
            )
        )
        assert "1 turn 2" in stage.sent(model.requests[-1])


@pytest.mark.rule("U10")
@pytest.mark.parametrize(("permissions", "name"), [("read-only", "read-only"), (None, "workspace-write")])
async def test_permissions_are_those_of_the_environment(
    any_stage: Stage, conversation: Conversation, permissions: Any, name: str
) -> None:
    stage = any_stage
    with stage.model(script(Shell("echo x > own"), answer("done", delay=stage.release.pause))):
        well(await conversation.turn(environment(permissions=permissions)))
    assert (stage.workspace / "own").exists() == (name == "workspace-write")


@pytest.mark.rule("U6")
@pytest.mark.fault(
    "turns",
    "An MCP server of a space does not start",
    "The turn fails and names the reason, instead of running without the server",
)
async def test_a_server_that_does_not_start_is_told(any_stage: Stage, conversation: Conversation) -> None:
    stage = any_stage
    stage.release.needs(0, 125, what="hooks, and MCP tools without approval")
    with stage.model(script("never")) as model:
        broken = Server(name="broken", command="/nowhere", args=(), env={}, cwd=None, url=None, space="one")
        outcome = await conversation.turn(environment(servers=(broken,)))
        assert len(model.requests) <= 1
    assert failed(outcome).details == stage.missing_server


@pytest.mark.rule("U5", "U6")
async def test_a_model_that_the_service_does_not_know_is_told(any_stage: Stage, conversation: Conversation) -> None:
    stage = any_stage
    with stage.model(script(fallback=stage.model_refusal("SAID-BY-THE-SERVICE"))):
        told_of = failed(await conversation.turn(model=f"{stage.model_names[0].partition('/')[0]}/nonsense"))
    if str(stage.release) == "0.169.0":
        has_no_such_case("the release loses the code")
    assert told_of.code == "model_not_supported"
    assert "SAID-BY-THE-SERVICE" not in repr(told_of)
