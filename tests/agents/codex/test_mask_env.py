"""Test that variables of processes that a run starts are masked like the run's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codex_adapter import CodexConfig, InvalidRequestError, RunRequest, open_run
from codex_adapter.testing import PrintJson, ReadPrompt, Step, write_agent
from codex_adapter.testing.thread_lines import agent_message

REQUEST = RunRequest(prompt="Go.", working_dir="/")


@pytest.mark.rule("X5")
async def test_a_variable_that_the_run_does_not_have_is_masked(tmp_path: Path) -> None:
    steps: list[Step] = [ReadPrompt(), PrintJson(agent_message("item_0", "cod-liver-oil, verbose-mode"))]
    config = CodexConfig(binary=write_agent(tmp_path, steps))
    mask_env = {"OUR_KEY": "cod-liver-oil", "MODE": "verbose-mode"}
    async with open_run(REQUEST, config=config, mask_env=mask_env) as run:
        texts = [event.text async for event in run.events if event.text]
        await run.wait_completed()
    assert texts == ["***, verbose-mode"]


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    ("mask_env", "what"),
    [
        ([1], ""),
        (None, ""),
        ({"A=b": "x"}, ": every name"),
        ({"A": 1}, ": every value"),
        ({"A": "\0"}, ": every value"),
    ],
)
async def test_variables_that_cannot_be_are_refused_before_the_start(mask_env: Any, what: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"^mask_env{what} must be "):
        async with open_run(REQUEST, mask_env=mask_env):
            pass
