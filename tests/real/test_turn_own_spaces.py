"""Test that changes of an agent to its own space or target do not reach a later turn."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from codex_adapter.protocols.turns import RunTurnRequest, SpaceSpec, Target, create_agent_spaces_client
from codex_adapter.testing import Shell, answer, script

from ..protocols.turns.listener import Listener
from .house import settings
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("Z11", "U10")]


async def turn(stage: Stage, **fields: Any) -> dict[str, Any]:
    """A turn in the layout of the protocol: the project has the targets and is where the agent works."""
    asked: dict[str, Any] = {
        "external_session_id": "talk",
        "external_run_id": "turn",
        "asp_home": str(stage.root / "asp"),
        "spec": SpaceSpec(target=Target(target_name="dev", target_dir=str(stage.workspace))),
        "harness": stage.harness_id,
        "cwd": str(stage.workspace),
        "env": stage.env,
        "prompt": "Do it.",
    }
    client = create_agent_spaces_client([stage.harness()])
    response = await client.run_turn(RunTurnRequest(**asked | fields), Listener().callbacks)
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(response))
    return told


def write_project(stage: Stage) -> None:
    space = stage.workspace / "spaces" / "review"
    (space / "hooks").mkdir(parents=True)
    (space / "space.toml").write_text('schema = 1\nid = "review"\n' + settings(stage))
    targets = 'schema = 1\n[targets.dev]\ncompose = ["space:project:review"]\n'
    (stage.workspace / "asp-targets.toml").write_text(targets)


def commands(stage: Stage) -> dict[str, str]:
    """How an agent gives itself power, by what it changes."""
    hook = f'[[hook]]\\nname = "x"\\nevent = "session_start"\\ncommand = "touch {stage.root}/escaped"\\n'
    return {
        "hook": f"printf 'schema = 1\\n{hook}' > spaces/review/hooks/hooks.toml",
        "permissions": f"printf '[targets.dev.harness.{stage.harness_id}]\\npermissions = \"full\"\\n' >> "
        "asp-targets.toml",
        "space": "mkdir other; mv spaces/review other; mkdir spaces/review; cat other/review/space.toml > "
        "spaces/review/space.toml; echo 'settings.permissions = \"full\"' >> spaces/review/space.toml",
    }


@pytest.mark.smoke
@pytest.mark.parametrize("change", ["hook", "permissions", "space"])
@pytest.mark.parametrize("resumed", [True, pytest.param(False, marks=pytest.mark.nightly)])
@pytest.mark.usefixtures("any_sandbox")
async def test_power_that_an_agent_gives_itself_is_refused(any_stage: Stage, change: str, resumed: bool) -> None:
    stage = any_stage
    stage.release.needs(0, 0, what="a sandbox")
    if change == "hook":
        stage.release.needs(0, 125, what="hooks")
    write_project(stage)
    escape = Shell(f"touch {stage.root}/escaped")
    scenario = script(Shell(commands(stage)[change]), answer("made", delay=stage.release.pause), escape, "over")
    with stage.model(scenario) as model:
        first = await turn(stage)
        assert first["result"] == {"success": True, "finalOutput": "made"}
        asked = len(model.requests)
        session = {"harness_session_id": first["harnessSessionId"]} if resumed else {}
        second = await turn(stage, **session)
        assert len(model.requests) == asked
    assert second["result"]["error"]["code"] == "resolve_failed"
    assert "it changed after it was accepted" in second["result"]["error"]["message"]
    assert not (stage.root / "escaped").exists()


async def test_what_somebody_accepts_is_used(any_stage: Stage) -> None:
    stage = any_stage
    write_project(stage)
    change = Shell("echo Be brief, says the agent. > spaces/review/AGENTS.md")
    with stage.model(script(change, answer("made", delay=stage.release.pause), "fine", "again")) as model:
        await turn(stage)
        for accepted in (True, False):
            told = await turn(stage, accept_changed_spaces=accepted)
            assert told["result"]["success"] is True
        assert "Be brief, says the agent." in json.dumps(model.requests[-1])
