"""Test turns over `serve`: their events and their responses."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from codex_adapter.testing import PrintJson
from codex_adapter.testing.thread_lines import agent_message, turn_completed, turn_failed

from ...cli.command import ADAPTER
from ...spaces.spaces_stage import make_space, write_files
from .control_plane import BEGUN, ControlPlane
from .event_rules import check_events
from .service_agents import HELD, TOOL

pytestmark = pytest.mark.rule("U12")

MANY = 2000
LONG = (
    *BEGUN,
    *(PrintJson(agent_message(f"item_{number}", f"Message {number}.")) for number in range(MANY)),
    PrintJson(turn_completed()),
)


@pytest.mark.rule("U4", "U7")
def test_the_events_of_a_turn_come_in_order_and_before_its_answer(plane: ControlPlane) -> None:
    agent = plane.workshop.agent("tool", *TOOL)
    response, events = plane.end(plane.begin(env=agent))
    assert response["result"] == {"success": True, "finalOutput": "Done."}
    assert response["harness"] == "codex"
    assert response["harnessSessionId"] == events[-1]["harnessSessionId"]
    kinds = [event["type"] for event in events if event["type"] != "log"]
    assert kinds == ["state", "message", "tool_call", "tool_result", "message", "state", "complete"]


@pytest.mark.rule("C5")
def test_each_line_is_one_of_the_messages(plane: ControlPlane) -> None:
    schema = json.loads(subprocess.run([*ADAPTER, "schema"], check=True, capture_output=True).stdout)
    where = {"aspHome": str(plane.home), "spec": {"spaces": ["space:one"]}}
    plane.end(plane.begin(env=plane.workshop.agent("tool", *TOOL), attachments=[]))
    plane.end(plane.begin("run-2", spec={"target": {"targetName": "x", "targetDir": str(plane.cwd)}}))
    plane.daemon.call("turns/resolve", where)
    plane.daemon.call("turns/resolve", {**where, "spec": {}})
    plane.daemon.call("turns/describe", where)
    plane.daemon.refusal("turns/describe", {**where, "spec": {}})
    plane.daemon.call("turns/capabilities")
    for line in plane.daemon.log:
        name = "FromSupervisor" if line.sent else "ToSupervisor"
        validator = Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"})
        assert validator.is_valid(json.loads(line.data)), line.data


@pytest.mark.rule("U2")
def test_turns_of_several_conversations_run_at_once_and_others_are_answered_meanwhile(plane: ControlPlane) -> None:
    held = [plane.begin(f"held-{name}", name, env=plane.workshop.agent("held", *HELD)) for name in "abc"]
    for name in "abc":
        plane.daemon.receive_until(lambda name=name: len(plane.events(f"held-{name}")) > 2)  # type: ignore[misc]
    assert plane.end(plane.begin("quick", "d"))[0]["result"]["success"] is True
    assert plane.daemon.call("run/list") == {"runs": []}
    (plane.cwd / "go").touch()
    for id_ in held:
        assert plane.end(id_)[0]["result"] == {"success": True, "finalOutput": "Held."}


@pytest.mark.rule("U2")
def test_a_long_turn_comes_whole(plane: ControlPlane) -> None:
    _, events = plane.end(plane.begin(env=plane.workshop.agent("long", *LONG)))
    said = [event["content"] for event in events if event["type"] == "message"]
    assert said == ["Do it.", *(f"Message {number}." for number in range(MANY))]


@pytest.mark.rule("U4", "U6")
@pytest.mark.parametrize(
    ("changes", "code", "begins"),
    [
        ({"spec": {"spaces": ["space:nothing"]}}, "resolve_failed", False),
        ({"spec": {}}, "resolve_failed", False),
        ({"harness": "another"}, None, False),
        ({"model": "openai/huge"}, "model_not_supported", True),
        ({"harnessSessionId": "0199a213-81c0-7800-8aa1-bbab2a035a53"}, "harness_session_not_found", True),
        ({"attachments": ["relative"]}, None, True),
    ],
)
def test_a_turn_that_cannot_be_is_told_as_the_client_tells_it(
    plane: ControlPlane, changes: dict[str, Any], code: str | None, begins: bool
) -> None:
    response, events = plane.end(plane.begin(**changes))
    assert response["result"]["success"] is False
    assert response["result"]["error"].get("code") == code
    assert (events[0]["type"], events[0].get("state")) == ("state", "running" if begins else "error")


@pytest.mark.rule("U4")
def test_a_turn_that_fails_is_answered_with_a_result(plane: ControlPlane) -> None:
    failing = plane.workshop.agent("failing", *BEGUN, PrintJson(turn_failed("no luck")))
    response, _ = plane.end(plane.begin(env=failing))
    assert response["result"]["success"] is False
    assert "no luck" not in json.dumps(response)


@pytest.mark.rule("U5", "U6", "U11")
def test_what_can_be_known_before_a_turn_is_answered(plane: ControlPlane) -> None:
    where = {"aspHome": str(plane.home), "spec": {"spaces": ["space:one"]}}
    wrong = {**where, "spec": {"spaces": ["space:nothing"]}}
    assert plane.daemon.call("turns/capabilities") == {
        "harnesses": [{"id": "codex", "models": ["openai/large", "openai/small"]}]
    }
    assert plane.daemon.call("turns/resolve", where) == {"ok": True}
    assert plane.daemon.call("turns/resolve", wrong)["error"]["code"] == "resolve_failed"
    described = plane.daemon.call("turns/describe", where)
    assert described == {"hooks": [], "skills": ["greeting"], "tools": [], "unanswered": []}
    refused = plane.daemon.refusal("turns/describe", wrong)
    assert (refused.code, refused.data) == (-32010, {"kind": "turn", "code": "resolve_failed"})
    assert refused.message == plane.daemon.call("turns/resolve", wrong)["error"]["message"]


@pytest.mark.rule("J6")
def test_a_turn_in_a_batch_and_one_that_is_a_notification_are_carried_out(plane: ControlPlane) -> None:
    asked = {"jsonrpc": "2.0", "method": "turns/run"}
    silent = {**asked, "params": plane.turn("silent", "a")}
    plane.daemon.say([silent, {**asked, "id": "one", "params": plane.turn("one", "b")}])
    plane.until_event("silent", "complete")
    (batch,) = [told for told in plane.daemon.arriving_until(batches=1) if isinstance(told, list)]
    assert [answer["id"] for answer in batch] == ["one"]
    for session, run in (("a", "silent"), ("b", "one")):
        check_events(plane.events(run), session, run)


@pytest.mark.rule("Z11", "U12")
def test_a_space_that_changed_where_agents_may_write_is_refused_until_it_is_accepted(plane: ControlPlane) -> None:
    space = make_space(plane.cwd / "space", "near")
    asked: dict[str, Any] = {"spec": {"spaces": [f"space:path:{space}"]}}
    assert plane.end(plane.begin("a", **asked))[0]["result"]["success"] is True
    write_files(space, {"AGENTS.md": "Be bold."})
    assert plane.end(plane.begin("b", **asked))[0]["result"]["error"]["code"] == "resolve_failed"
    assert plane.end(plane.begin("c", **asked, acceptChangedSpaces=True))[0]["result"]["success"] is True
    assert plane.end(plane.begin("d", **asked))[0]["result"]["success"] is True
