"""Test what only the Codex harness does, with the real CLI."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from codex_adapter.agents.codex.harness import CodexHarness
from codex_adapter.testing import McpCall, RawItem, Shell, answer, script
from codex_adapter.turn_errors import TurnError

from ..needs import has_no_such_case
from .conversation import Conversation, digests, environment, everything, hook, hooked, server, well
from .releases import Release
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("U9")]


@pytest.fixture
def conversation(stage: Stage) -> Conversation:
    return Conversation(stage)


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
    assert "greeting: How one greets." in stage.sent(first_requests[0])
    assert "Be brief, says the space." in stage.sent(first_requests[0])
    assert "mcp__scripted" in json.dumps(first_requests[0]["tools"])
    outputs = [i["output"] for i in first_requests[-1]["input"] if i["type"] == "function_call_output"]
    assert "Say ahoy." in json.dumps(outputs[0])
    assert "destroyed" in json.dumps(outputs[1])
    assert hooked_first == ["before_tool", "before_tool"]

    assert well(second).final_text == "gone"
    assert conversation.session == session
    assert hooked(stage) == hooked_first
    assert "mcp__scripted" not in json.dumps(last["tools"])
    assert "The previously provided AGENTS.md instructions no longer apply." in stage.sent(last)
    assert "No host skills are currently available." in stage.sent(last)
    assert not {"skills", "hooks.json", "AGENTS.md"} & {path.name for path in conversation.home.iterdir()}


async def test_what_a_release_cannot_do_is_refused(stage: Stage, conversation: Conversation) -> None:
    if not stage.release.before(0, 125):
        has_no_such_case("this release can do all of it")
    for asked in (environment(hooks=(hook(stage),)), environment(servers=(server(stage),))):
        with stage.model(script("never")) as model:
            with pytest.raises(TurnError, match=r"release  0\.125\.0 or newer"):
                await conversation.turn(asked)
            assert model.requests == []


async def test_a_release_that_keeps_its_first_instructions_refuses_others(
    stage: Stage, conversation: Conversation
) -> None:
    if not stage.release.before(0, 147):
        has_no_such_case("this release replaces them")
    with stage.model(script(fallback=answer("done"))) as model:
        well(await conversation.turn(environment(instructions="Be brief.")))
        well(await conversation.turn(environment(instructions="Be brief.")))
        with pytest.raises(TurnError, match=r"release  0\.147\.0 or newer"):
            await conversation.turn()
        assert len(model.requests) == 2


@pytest.mark.rule("U10")
async def test_a_model_that_runs_scripts_is_told_of_servers(stage: Stage, conversation: Conversation) -> None:
    stage.release.needs(0, 147, what="models that run scripts")
    call = 'text(JSON.stringify(await tools.mcp__scripted__echo({text: "ahoy"})))'
    item = {"type": "custom_tool_call", "id": "c", "call_id": "c", "status": "completed", "name": "exec", "input": call}
    with stage.model(script(RawItem(item), "done")) as model:
        asked = environment(servers=(server(stage),))
        well(await conversation.turn(asked, model="scripted/gpt-5.6-sol"))
        if not stage.release.before(0, 155):
            assert "mcp__scripted" not in json.dumps(model.requests[0].get("tools", []))
        assert "There are tools of these MCP servers: `scripted`." in stage.sent(model.requests[0])
        assert "echo: ahoy" in stage.sent(model.requests[1])


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
        assert "MY-OWN-INSTRUCTIONS" not in stage.sent(model.requests[-1])
        if not stage.release.before(0, 116):
            assert "MY-OWN-SKILL" not in stage.sent(model.requests[-1])
    assert hooked(stage) == []
    # This provider asks for no login, and is not sent one.
    assert not (conversation.home / "auth.json").exists()


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


@pytest.mark.rule("U5")
async def test_the_models_are_those_of_the_release_behind_the_users_own(stage: Stage) -> None:
    with stage.model(script("never")):
        models = await CodexHarness(stage.config()).models()
        assert models is not None
        assert models[0] == "scripted/mock-model"
        assert all(model.startswith("scripted/") for model in models)
        assert (len(models) > 3) == (not stage.release.before(0, 125))
