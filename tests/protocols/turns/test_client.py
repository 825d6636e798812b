"""Test turns from request to response with a scripted harness."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from codex_adapter.protocols.turns.client import create_agent_spaces_client
from codex_adapter.protocols.turns.messages import (
    AgentEvent,
    DescribeRequest,
    ResolveRequest,
    SessionCallbacks,
    SpaceSpec,
    Target,
)
from codex_adapter.testing import Hang, PrintJson
from codex_adapter.testing.thread_lines import agent_message
from codex_adapter.turn_errors import TurnError

from .desk import Desk
from .listener import Listener
from .scripted_harness import FAILING, MODELS, ScriptedHarness, saying

ANOTHER = "0199a213-81c0-7800-8aa1-bbab2a035a54"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.rule("U1", "U2", "U4")
async def test_a_turn_that_goes_well(desk: Desk) -> None:
    told, listener = await desk.turn(env={"BOTH": "turn", "MINE": "x"})
    assert listener.shape[:2] == ["state running", "message"]
    assert listener.shape[-2:] == ["state complete", "complete"]
    assert listener.bare[1] == {"type": "message", "role": "user", "content": "Do it."}
    assert told["result"] == {"success": True, "finalOutput": "Done."}
    assert told["harness"] == "scripted"
    (turn,) = desk.harness.turns
    assert dict(turn.env) == {"FROM": "space", "BOTH": "turn", "MINE": "x"}
    assert (turn.session, turn.model) == (None, None)


@pytest.mark.rule("U3", "U4", "U6")
@pytest.mark.parametrize(
    "changes",
    [
        {"spec": SpaceSpec(spaces=("space:nothing",))},
        {"spec": SpaceSpec()},
        {"spec": SpaceSpec(spaces=())},
        {"spec": SpaceSpec(spaces=("space:one",), target=Target(target_name="x", target_dir="/"))},
        {"spec": SpaceSpec(spaces=("whatever",))},
        {"asp_home": "relative"},
    ],
    ids=["missing", "neither", "none", "both", "no reference", "relative home"],
)
async def test_a_spec_that_cannot_be_resolved(desk: Desk, changes: dict[str, Any]) -> None:
    told, listener = await desk.turn(**changes)
    assert listener.shape == ["state error", "complete"]
    assert told["result"]["error"]["code"] == "resolve_failed"
    assert desk.harness.turns == []


@pytest.mark.rule("U4", "U6")
async def test_a_harness_that_is_not_there(desk: Desk) -> None:
    told, listener = await desk.turn(harness="another")
    assert listener.shape == ["state error", "complete"]
    assert "code" not in told["result"]["error"]
    desk.harness.installed = False
    told, listener = await desk.turn()
    assert listener.shape == ["state error", "complete"]


@pytest.mark.rule("U4", "U5")
async def test_a_model_that_the_harness_does_not_have(desk: Desk) -> None:
    told, listener = await desk.turn(model="house/huge")
    assert listener.shape == ["state running", "message", "state error", "complete"]
    assert told["result"]["error"]["code"] == "model_not_supported"
    assert desk.harness.turns == []


@pytest.mark.rule("U5", "U8")
async def test_the_model_is_the_turns_or_the_spaces_or_the_last_turns(desk: Desk) -> None:
    told, _ = await desk.turn(model="house/small")
    key = told["harnessSessionId"]
    assert told["model"] == "house/small"
    told, _ = await desk.turn(harness_session_id=key)
    assert told["model"] == "house/small"
    desk.space("two", settings={"model": "house/large"})
    told, _ = await desk.turn(harness_session_id=key, spec=SpaceSpec(spaces=("space:one", "space:two")))
    assert told["model"] == "house/large"
    assert [turn.model for turn in desk.harness.turns] == ["house/small", "house/small", "house/large"]


@pytest.mark.rule("U4", "U8")
@pytest.mark.parametrize("key", ["", "x", ANOTHER, "../../etc/passwd", "\ud800"])
async def test_a_session_that_is_not_there(desk: Desk, key: str) -> None:
    listener = Listener()
    response = await desk.client.run_turn(desk.request(harness_session_id=key), listener.callbacks)
    assert listener.shape == ["state running", "message", "state error", "complete"]
    assert response.result.error is not None
    assert response.result.error.code == "harness_session_not_found"
    assert desk.harness.turns == []


@pytest.mark.rule("U8")
async def test_a_conversation_goes_on_after_everything_was_started_anew(desk: Desk) -> None:
    told, _ = await desk.turn()
    key = told["harnessSessionId"]
    desk.client = create_agent_spaces_client([desk.harness])
    told, listener = await desk.turn(harness_session_id=key)
    assert told["harnessSessionId"] == key
    assert {event["harnessSessionId"] for event in listener.told} == {key}
    first, second = desk.harness.turns
    assert (first.session, second.session) == (None, key)
    assert first.directory == second.directory


@pytest.mark.rule("U8")
async def test_a_conversation_of_another_harness_is_refused(desk: Desk) -> None:
    told, _ = await desk.turn()
    other = ScriptedHarness(desk.root, id="other")
    desk.client = create_agent_spaces_client([desk.harness, other])
    told, listener = await desk.turn(harness="other", harness_session_id=told["harnessSessionId"])
    assert listener.shape == ["state running", "message", "state error", "complete"]
    assert told["result"]["error"]["code"] == "harness_session_not_found"
    assert other.turns == []


@pytest.mark.rule("U4", "U6")
async def test_a_run_that_fails(tmp_path: Path) -> None:
    desk = Desk(tmp_path, FAILING)
    told, listener = await desk.turn()
    assert listener.shape[0] == "state running"
    assert listener.shape[-2:] == ["state error", "complete"]
    assert told["result"] == {"success": False, "error": {"message": "the script did not go well"}}
    assert told["harnessSessionId"]


@pytest.mark.rule("U2")
@pytest.mark.fault(
    "turns",
    "A callback of a turn raises an exception",
    "The run ends, no further event arrives and the exception propagates",
)
async def test_what_a_callback_raises_ends_the_turn_and_comes_out(desk: Desk) -> None:
    seen: list[str] = []

    def raises(event: AgentEvent) -> None:
        seen.append(type(event).__name__)
        if len(seen) == 3:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        await desk.client.run_turn(desk.request(), SessionCallbacks(raises))
    assert len(seen) == 3


@pytest.mark.rule("U2")
@pytest.mark.fault("turns", "Python code cancels a turn", "No process survives and no further event arrives")
async def test_a_cancelled_turn_leaves_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, saying(PrintJson(agent_message("item_0", "Working.")), Hang()))
    listener = Listener()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.client.run_turn, desk.request(), listener.callbacks)
            await listener.answered.wait()
            nursery.cancel_scope.cancel()
    assert "complete" not in listener.shape


@pytest.mark.rule("U2", "Z9")
@pytest.mark.fault(
    "turns", "Another process holds the lock on the state of the spaces", "A turn that waits for it can be cancelled"
)
async def test_a_turn_that_waits_for_another_writer_can_be_cancelled(desk: Desk) -> None:
    await desk.turn()
    with (desk.home / "state" / "lock").open() as lock, trio.fail_after(60):
        fcntl.flock(lock, fcntl.LOCK_EX)
        desk.space("two")
        listener = Listener()
        with trio.move_on_after(0.2) as scope:
            request = desk.request(spec=SpaceSpec(spaces=("space:two",)))
            await desk.client.run_turn(request, listener.callbacks)
    assert scope.cancelled_caught
    assert listener.told == []


@pytest.mark.rule("U1")
async def test_conversations_run_beside_each_other(tmp_path: Path) -> None:
    threads = [f"0199a213-81c0-7800-8aa1-bbab2a0350{number:02}" for number in range(8)]
    desk = Desk(tmp_path, *(saying(PrintJson(agent_message("item_0", id_)), thread=id_) for id_ in threads))
    keys: list[str] = []

    async def converse(number: int) -> None:
        told, _ = await desk.turn(external_session_id=f"c{number}")
        keys.append(told["harnessSessionId"])
        assert told["result"]["finalOutput"] == told["harnessSessionId"]

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(converse, number)
    assert sorted(keys) == threads


@pytest.mark.rule("U6")
async def test_resolving_writes_nothing_and_raises_nothing(desk: Desk) -> None:
    before = sorted(desk.home.rglob("*"))
    good = await desk.client.resolve(ResolveRequest(asp_home=str(desk.home), spec=SpaceSpec(spaces=("space:one",))))
    bad = await desk.client.resolve(ResolveRequest(asp_home=str(desk.home), spec=SpaceSpec(spaces=("space:no",))))
    assert (good.ok, good.error, bad.ok) == (True, None, False)
    assert bad.error is not None
    assert bad.error.code == "resolve_failed"
    assert sorted(desk.home.rglob("*")) == before


@pytest.mark.rule("U11")
async def test_describing_names_what_there_is(desk: Desk) -> None:
    directory = desk.home / "registry" / "one" / "dev"
    (directory / "skills" / "review").mkdir(parents=True)
    (directory / "skills" / "review" / "SKILL.md").write_text("---\ndescription: Reviews.\n---\nDo.\n")
    (directory / "hooks").mkdir()
    hook = '[[hook]]\nname = "stamp"\nevent = "stop"\ncommand = "true"\n'
    (directory / "hooks" / "hooks.toml").write_text(f"schema = 1\n{hook}")
    (directory / "mcp").mkdir()
    (directory / "mcp" / "mcp.json").write_text('{"mcpServers": {"gone": {"command": "/nothing/there"}}}')
    request = DescribeRequest(asp_home=str(desk.home), spec=SpaceSpec(spaces=("space:one",)))
    told = msgspec.json.decode(msgspec.json.encode(await desk.client.describe(request)))
    assert told == {"hooks": ["stamp"], "skills": ["review"], "tools": [], "unanswered": ["gone"]}
    (directory / "space.toml").write_text("schema = 2\n")
    with pytest.raises(TurnError, match="one") as failure:
        await desk.client.describe(request)
    assert failure.value.error.code == "resolve_failed"


@pytest.mark.rule("U5")
async def test_capabilities_are_what_is_installed(desk: Desk) -> None:
    told = msgspec.json.decode(msgspec.json.encode(await desk.client.get_harness_capabilities()))
    assert told == {"harnesses": [{"id": "scripted", "models": list(MODELS)}]}
    desk.harness.installed = False
    assert (await desk.client.get_harness_capabilities()).harnesses == ()
