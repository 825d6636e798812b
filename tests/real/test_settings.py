"""Test that a caller's settings take effect in the real CLI and override no setting of the adapter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.testing import Shell, answer, script

from .commands import perform
from .stage import Outcome, Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("Q7")]


async def run(stage: Stage, asked: dict[str, Any], **config: Any) -> Outcome:
    outcome = await stage.run(stage.request(extensions={"backend.codex.settings": asked}), **config)
    assert outcome.completion is not None
    return outcome


async def test_a_text_reaches_the_model_whatever_is_in_it(stage: Stage) -> None:
    text = "Say \"hello\",\n{ü} = [\\] \U0001f600 # and 'go'"
    with stage.model(script(answer("Done."))) as model:
        await run(stage, {"developer_instructions": text})
    assert json.dumps(text)[1:-1] in json.dumps(model.requests[0]["input"])


async def test_how_a_model_answers_is_set_and_a_request_wins(stage: Stage) -> None:
    with stage.model(script(answer("Done."))) as model:
        of_all = {"model_supports_reasoning_summaries": True, "model_reasoning_effort": "low"}
        await run(stage, {"model_reasoning_effort": "high"}, settings=of_all)
    assert model.requests[0]["reasoning"]["effort"] == "high"


async def test_a_model_provider_is_set_by_a_table(stage: Stage) -> None:
    with stage.model(script(answer("Done."))) as model:
        provider = {"name": "other", "base_url": model.base_url, "wire_api": "responses"}
        await run(stage, {"model_providers": {"an other": provider}, "model_provider": "an other"})
    assert len(model.requests) == 1


async def test_a_table_of_variables_stands_beside_what_keeps_git_out(stage: Stage) -> None:
    command = Shell("echo one=$ONE two=$TWO git=$GIT_DIR net=$CODEX_SANDBOX_NETWORK_DISABLED")
    settings = {
        "shell_environment_policy": {"inherit": "all", "include_only": ["ONE", "PATH"]},
        "sandbox_workspace_write": {"network_access": True},
    }
    with stage.model(script(command, answer("Done.", delay=stage.release.pause))) as model:
        request = stage.request(env={"ONE": "1", "TWO": "2"}, extensions={"backend.codex.settings": settings})
        await stage.run(request)
    said = json.dumps(model.requests[-1]["input"])
    assert "one=1 two= git= net=" in said
    assert "net=1" not in said


@pytest.mark.rule("C6")
def test_an_option_reaches_the_model(stage: Stage) -> None:
    with stage.model(script(answer("Done."))) as model:
        words = ("-c", "model_supports_reasoning_summaries=true", "-c", "model_reasoning_effort=low")
        done = perform(stage, "run", *words, "Do it.")
    assert done.completion["final_text"] == "Done."
    assert model.requests[0]["reasoning"]["effort"] == "low"


@pytest.mark.rule("E5")
@pytest.mark.parametrize(
    "setting",
    [
        *("sandbox_mode=danger-full-access", '"sandbox_mode"="danger-full-access"', "profile=open"),
        *("sandbox_workspace_write.writable_roots=['/']", "notify=['touch','ran']", "log_dir=."),
        *('projects={"/"={trust_level="trusted"}}', "default_permissions=:danger-full-access", "permissions.x={}"),
    ],
)
def test_what_the_adapter_decides_reaches_no_cli(stage: Stage, setting: str) -> None:
    with stage.model(script(answer("Done."))) as model:
        done = perform(stage, "run", "-c", setting, "Do it.")
    assert done.status == 2
    assert model.requests == []
    assert list(stage.workspace.iterdir()) == []
