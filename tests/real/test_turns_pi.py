"""Test what only the harness of pi does, with the real CLI."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.harness import HarnessTurn
from codex_adapter.testing import RawItem, Shell, answer, script
from codex_adapter.turn_errors import TurnError

from ..needs import without
from .conversation import EMPTY, Conversation, digests, environment, failed, hook, server, skill, well
from .pi_stage import PiStage, pi_for_turns

pytestmark = [pytest.mark.real, pytest.mark.rule("U17")]

NONE = pytest.param(None, marks=without("pi"))


@pytest.fixture(params=list[object](pi_for_turns()) or [NONE], ids=str)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> PiStage:
    return PiStage(request.param, tmp_path)


@pytest.fixture
def conversation(stage: PiStage) -> Conversation:
    return Conversation(stage)


async def test_an_environment_is_used_and_gone_from_the_next_turn(stage: PiStage, conversation: Conversation) -> None:
    given = environment(instructions="# Space one\n\nBe brief, says the space.", skills=(skill(stage),))
    other = environment(instructions="Be loud, says another space.")
    with stage.model(script(Shell(f"cat {stage.skill_file}"), "used", "gone", "other")) as model:
        first = await conversation.turn(given)
        begun, used = model.requests[0], model.requests[-1]
        session = conversation.session
        second = await conversation.turn(prompt="And now?")
        bare = model.requests[-1]
        assert not {"skills", "APPEND_SYSTEM.md"} & {path.name for path in conversation.home.iterdir()}
        third = await conversation.turn(other, prompt="And with another?")
        last = model.requests[-1]
    offer = json.dumps(stage.skill_line.format(name="greeting", description="How one greets."))[1:-1]
    assert [well(outcome).final_text for outcome in (first, second, third)] == ["used", "gone", "other"]
    assert conversation.session == session
    assert offer in stage.sent(begun)
    assert "Be brief, says the space." in stage.sent(begun)
    assert "Say ahoy." in stage.sent(used)
    assert offer not in stage.sent(bare)
    assert "Be brief, says the space." not in stage.sent(bare)
    assert "Be brief, says the space." not in stage.sent(last)
    assert "Be loud, says another space." in stage.sent(last)


async def test_a_prompt_can_load_a_skill_of_the_environment_only(stage: PiStage, conversation: Conversation) -> None:
    with stage.model(script("one", "two")) as model:
        well(await conversation.turn(environment(skills=(skill(stage),)), prompt="/skill:greeting now"))
        assert "Say ahoy." in stage.sent(model.requests[0])
        conversation.session = None
        well(await conversation.turn(prompt="/skill:greeting now"))
        assert "Say ahoy." not in stage.sent(model.requests[1])
        assert "/skill:greeting now" in stage.sent(model.requests[1])


@pytest.mark.rule("X5")
async def test_the_login_that_an_agent_prints_is_masked(stage: PiStage, conversation: Conversation) -> None:
    with stage.model(script(Shell("cat $PI_CODING_AGENT_DIR/models.json"), "done")) as model:
        outcome = await conversation.turn()
        assert "sk-scripted" in stage.sent(model.requests[-1])
    assert "baseUrl" in repr(outcome.events)
    assert "sk-scripted" not in repr(outcome)


@pytest.mark.rule("U8")
async def test_a_conversation_continues_in_another_directory(stage: PiStage, conversation: Conversation) -> None:
    other = stage.root / "other"
    other.mkdir()
    (stage.root / "link").symlink_to(stage.workspace)
    with stage.model(script("first", Shell("pwd -P"), "second", Shell("pwd -P"), "third")) as model:
        well(await conversation.turn(prompt="One."))
        well(await conversation.turn(prompt="Two.", cwd=str(other)))
        assert json.dumps(f"{other}\n")[1:-1] in stage.sent(model.requests[2])
        assert f"Current working directory: {stage.workspace}" not in stage.sent(model.requests[1])
        well(await conversation.turn(prompt="Three.", cwd=str(stage.root / "link")))
        assert json.dumps(f"{stage.workspace}\n")[1:-1] in stage.sent(model.requests[4])
        assert all(word in stage.sent(model.requests[4]) for word in ("One.", "first", "Two.", "second", "Three."))


@pytest.mark.rule("U8")
async def test_a_prompt_whose_turn_was_killed_before_any_answer_is_not_lost(
    stage: PiStage, conversation: Conversation
) -> None:
    with stage.model(script(answer("held", gate="never"), "second")) as model:
        turn = HarnessTurn(
            environment=EMPTY,
            directory=conversation.directory,
            prompt="One.",
            env=stage.env,
            cwd=str(stage.workspace),
        )
        async with stage.harness().open(turn) as run:
            await stage.asked(model, 1)
            stage.signal("KILL")
            await stage.outcome(run)
            conversation.session = run.session_id
        assert conversation.session is not None
        well(await conversation.turn(prompt="Two."))
        assert all(word in stage.sent(model.requests[-1]) for word in ("One.", "Two."))


@pytest.mark.parametrize("permissions", ["read-only", "full"])
async def test_settings_and_extensions_of_the_project_do_not_count(
    stage: PiStage, conversation: Conversation, permissions: Any
) -> None:
    subprocess.run(["git", "init", "-q", stage.workspace], check=True)  # noqa: ASYNC221 - quick
    project = stage.workspace / ".pi"
    for folder in ("extensions", "skills/own"):
        (project / folder).mkdir(parents=True)
    start = f'import fs from "node:fs"; export default () => {{ fs.writeFileSync("{stage.root}/ran", "") }}'
    (project / "extensions" / "e.ts").write_text(start)
    (project / "settings.json").write_text(json.dumps({"defaultModel": "other/model", "shellPath": "/nowhere"}))
    (project / "skills" / "own" / "SKILL.md").write_text("---\nname: own\ndescription: OF-PROJECT\n---\n")
    for file in (project / "SYSTEM.md", project / "APPEND_SYSTEM.md", stage.workspace / "AGENTS.md"):
        file.write_text("OF-PROJECT")
    given = environment(permissions=permissions, instructions="Of the space.", skills=(skill(stage),))
    with stage.model(script("one", "two")) as model:
        for _ in range(2):
            well(await conversation.turn(given))
        assert all(request["model"] == "mock-model" for request in model.requests)
        assert not any("OF-PROJECT" in stage.sent(request) for request in model.requests)
        assert all("Of the space." in stage.sent(request) for request in model.requests)
    assert not (stage.root / "ran").exists()


async def test_the_users_own_directory_is_neither_seen_nor_changed(stage: PiStage, conversation: Conversation) -> None:
    with stage.model(script(Shell("echo hi"), "done")) as model:
        (stage.home / "extensions").mkdir()
        start = f'import fs from "node:fs"; export default () => {{ fs.writeFileSync("{stage.root}/ran", "") }}'
        (stage.home / "extensions" / "e.ts").write_text(start)
        (stage.home / "skills" / "own").mkdir(parents=True)
        (stage.home / "skills" / "own" / "SKILL.md").write_text("---\nname: own\ndescription: OF-USER\n---\n")
        for name in ("AGENTS.md", "SYSTEM.md", "APPEND_SYSTEM.md"):
            (stage.home / name).write_text("OF-USER")
        settings = json.loads((stage.home / "settings.json").read_text())
        settings |= {"shellCommandPrefix": f"touch {stage.root}/ran", "sessionDir": str(stage.home / "own")}
        (stage.home / "settings.json").write_text(json.dumps(settings))
        before = digests(stage.home)
        assert await stage.harness().models() == tuple(
            f"scripted/{name}" for name in ("mock-model", "other/model", "third-model")
        )
        well(await conversation.turn())
        assert not any("OF-USER" in stage.sent(request) for request in model.requests)
    assert digests(stage.home) == before
    assert not (stage.root / "ran").exists()


@pytest.mark.rule("U18")
async def test_an_agent_without_permissions_only_reads(stage: PiStage, conversation: Conversation) -> None:
    stage.permissions = None
    write = RawItem(
        {
            **{"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed", "name": "write"},
            "arguments": json.dumps({"path": "own", "content": "x"}),
        }
    )
    with stage.model(script(Shell("touch own"), write, "done")) as model:
        well(await conversation.turn(environment(skills=(skill(stage),))))
        tools = {tool["name"] for tool in model.requests[0]["tools"]}
    assert tools == {"read", "grep", "find", "ls"}
    assert list(stage.workspace.iterdir()) == []


@pytest.mark.rule("U18")
async def test_what_the_cli_does_not_have_is_refused_by_name(stage: PiStage, conversation: Conversation) -> None:
    given = {
        r"pi has no hooks\. .* these: note\.": environment(hooks=(hook(stage),)),
        r"pi has no MCP servers\. .* these: scripted\.": environment(servers=(server(stage),)),
        "pi has no sandbox": environment(permissions="workspace-write"),
    }
    with stage.model(script("never")) as model:
        for error, refused in given.items():
            with pytest.raises(TurnError, match=error):
                await conversation.turn(refused)
        assert model.requests == []


@pytest.mark.rule("U6")
async def test_a_missing_login_is_the_error_of_the_turn(stage: PiStage, conversation: Conversation) -> None:
    assert failed(await conversation.turn()).details["hint"] == "not_logged_in"
    assert await stage.harness().models() == ()
