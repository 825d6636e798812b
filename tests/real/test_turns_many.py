"""Test many parallel conversations with the real CLI: turns stay in order and are not mixed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import trio

from codex_adapter.protocols.turns.client import AgentSpacesClient, create_agent_spaces_client
from codex_adapter.protocols.turns.messages import RunTurnRequest, SpaceSpec
from codex_adapter.testing import Route, Scenario, Shell, answer

from ..protocols.turns.event_rules import check_events, check_response
from ..protocols.turns.listener import Listener
from .house import write_house
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("U1", "U2", "U4", "U7", "U8")]

SIZES = [(3, 3), pytest.param((10, 10), marks=pytest.mark.nightly)]
"""Conversations, and turns of each."""


def names(count: int) -> list[str]:
    """Of the conversations."""
    return [f"talk-{number:02}" for number in range(count)]


def scenario(stage: Stage, conversations: int, turns: int) -> Scenario:
    """Of each conversation its own answers: in every turn a command, and then words."""

    def route(name: str) -> Route:
        answers = [
            step
            for turn in range(turns)
            for step in (
                answer(Shell(f"echo {name}.{turn}"), delay=stage.release.pause),
                answer(f"{name} said {turn}", delay=stage.release.pause),
            )
        ]
        return Route(match=f"I am {name}\\b", answers=tuple(answers))

    return Scenario(routes=tuple(map(route, names(conversations))))


class Talk:
    """One conversation."""

    def __init__(self, stage: Stage, name: str, spec: SpaceSpec) -> None:
        self.stage = stage
        self.name = name
        self.spec = spec
        # Sandboxes of the CLI that begin in one directory at once are in each other's way.
        self.cwd = stage.workspace / name
        self.cwd.mkdir()
        self.key: str | None = None

    async def hold(self, client: AgentSpacesClient, turns: int) -> None:
        """All of its turns, one after another."""
        for turn in range(turns):
            told = await self.turn(client, turn)
            assert told["result"] == {"success": True, "finalOutput": f"{self.name} said {turn}"}, told
            assert self.key in (None, told["harnessSessionId"])
            self.key = told["harnessSessionId"]

    async def turn(self, client: AgentSpacesClient, number: int) -> dict[str, Any]:
        listener = Listener()
        request = RunTurnRequest(
            external_session_id=self.name,
            external_run_id=f"{self.name}/{number}",
            asp_home=str(self.stage.root / "asp"),
            spec=self.spec,
            harness=self.stage.harness_id,
            harness_session_id=self.key,
            cwd=str(self.cwd),
            env=self.stage.env,
            prompt=f"I am {self.name}, and this is {number}.",
        )
        response = await client.run_turn(request, listener.callbacks)
        told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(response))
        ids = (request.external_session_id, request.external_run_id)
        check_events(listener.told, *ids, prompt=request.prompt, key=self.key)
        check_response(told, listener.told)
        outputs = [event["output"] for event in listener.told if event["type"] == "tool_result"]
        assert [output["output"].strip() for output in outputs] == [f"{self.name}.{number}"]
        return told


@pytest.mark.parametrize("size", SIZES)
async def test_many_conversations_at_once(any_stage: Stage, size: tuple[int, int]) -> None:
    stage, (conversations, turns) = any_stage, size
    stage.release.needs(0, 77, what="skills")
    spec = write_house(stage)
    talks = [Talk(stage, name, spec) for name in names(conversations)]
    client = create_agent_spaces_client([stage.harness()])
    with stage.model(scenario(stage, conversations, turns)) as server, trio.fail_after(1200):
        async with trio.open_nursery() as nursery:
            for talk in talks:
                nursery.start_soon(talk.hold, client, turns)
        requests = [stage.sent(request) for request in server.requests]
    stage.oracle.check()
    assert len({talk.key for talk in talks}) == conversations
    for request in requests:
        (name,) = (name for name in names(conversations) if f"I am {name}," in request)
        last = max(turn for turn in range(turns) if f"I am {name}, and this is {turn}." in request)
        assert all(f"{name} said {turn}" in request for turn in range(last))
        assert "Be brief, says the house." in request
