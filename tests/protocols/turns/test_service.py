"""Turns over `serve`: their events, their answers, what is refused, and how they end with the daemon."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from codex_adapter.testing import Hang, IgnoreSignals, PrintJson, Repeat, StartDescendant, WaitFor
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    turn_completed,
    turn_failed,
)

from ...cli.command import ADAPTER
from ..supervisor.messages import Refused
from ..supervisor.workshop import Workshop
from .control_plane import BEGUN, GOOD, ControlPlane
from .event_rules import check_events

pytestmark = pytest.mark.rule("U12")

TOOL = (
    PrintJson(command_started("item_0", "make")),
    PrintJson(command_completed("item_0", "make", "no rule\n", exit_code=2)),
)
SAYING = (*BEGUN, PrintJson(agent_message("item_0", "Begun.")))
HELD = (*SAYING, WaitFor("go"), PrintJson(agent_message("item_1", "Held.")), PrintJson(turn_completed()))
HANGING = (*SAYING, Hang())
STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")
PARENT = (StartDescendant("child", session=True, daemon=True, ignore=STOPPING), *HANGING)
STUBBORN = (IgnoreSignals(STOPPING), *HANGING)
FLOOD = (*BEGUN, Repeat(json.dumps(agent_message("item_0", "x" * 1000))))
MANY = 2000
LONG = (
    *BEGUN,
    *(PrintJson(agent_message(f"item_{number}", f"Message {number}.")) for number in range(MANY)),
    PrintJson(turn_completed()),
)


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    shop = Workshop(tmp_path)
    yield shop
    shop.finish()


@pytest.fixture
def plane(workshop: Workshop) -> ControlPlane:
    return ControlPlane(workshop)


@pytest.mark.rule("U4", "U7")
def test_the_events_of_a_turn_come_in_order_and_before_its_answer(plane: ControlPlane) -> None:
    agent = plane.workshop.agent("tool", *BEGUN, *TOOL, *GOOD[3:])
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
    plane.end(plane.begin(env=plane.workshop.agent("tool", *BEGUN, *TOOL, *GOOD[3:]), attachments=[]))
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


@pytest.mark.rule("J8")
def test_no_more_turns_have_an_agent_than_may_live_at_once(workshop: Workshop) -> None:
    plane = ControlPlane(workshop, "--max-runs", "1")
    first = plane.begin("first", "a", env=workshop.agent("held", *HELD))
    plane.daemon.receive_until(lambda: len(plane.events("first")) > 2)
    second = plane.begin("second", "b")
    plane.daemon.call("turns/capabilities")
    assert plane.events("second") == []
    (plane.cwd / "go").touch()
    plane.end(first)
    plane.end(second)


@pytest.mark.rule("J8")
def test_without_a_queue_a_turn_too_many_is_refused(workshop: Workshop) -> None:
    plane = ControlPlane(workshop, "--max-runs", "1", "--no-queue")
    first = plane.begin("first", "a", env=workshop.agent("held", *HELD))
    refused = plane.daemon.refusal("turns/run", plane.turn("second", "b"))
    assert (refused.code, refused.data) == (-32010, {"kind": "too_many_runs"})
    (plane.cwd / "go").touch()
    plane.end(first)
    plane.end(plane.begin("third", "b"))


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


@pytest.mark.rule("J5")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        *(({name: None}, name) for name in ("externalSessionId", "externalRunId", "aspHome", "spec", "prompt")),
        ({"prompt": 1}, "prompt"),
        ({"spec": "space:one"}, "spec"),
        ({"spec": {"spaces": "space:one"}}, "spec"),
        ({"spec": {"spaces": ["space:one"], "more": 1}}, "spec"),
        ({"spec": {"target": {"targetName": "x"}}}, "spec"),
        ({"env": {"A": 1}}, "env"),
        ({"env": []}, "env"),
        ({"attachments": "x"}, "attachments"),
        ({"model": 1}, "model"),
        ({"harnessSessionId": []}, "harnessSessionId"),
        ({"more": "secret"}, "externalSessionId"),
    ],
)
def test_params_of_another_form_are_refused_by_name(plane: ControlPlane, changes: dict[str, Any], named: str) -> None:
    refused = plane.daemon.refusal("turns/run", plane.turn(**changes))
    assert refused.code == -32602
    assert named in refused.message
    assert "secret" not in refused.message


@pytest.mark.rule("J5")
def test_params_of_the_other_methods_are_refused_by_name(plane: ControlPlane) -> None:
    for method in ("turns/resolve", "turns/describe"):
        wrong: list[tuple[dict[str, Any], str]] = [
            ({}, "aspHome"),
            ({"aspHome": "/x"}, "spec"),
            ({"aspHome": 1, "spec": {}}, "aspHome"),
        ]
        for given, named in wrong:
            refused = plane.daemon.refusal(method, given)
            assert refused.code == -32602
            assert named in refused.message
    assert plane.daemon.refusal("turns/capabilities", more=1).code == -32602
    assert "turns/run" in plane.daemon.refusal("turns/other").message


@pytest.mark.rule("J2")
def test_before_initialize_they_are_refused(workshop: Workshop) -> None:
    plane = ControlPlane(workshop, initialize=False)
    for method in ("turns/run", "turns/resolve", "turns/describe", "turns/capabilities"):
        assert plane.daemon.refusal(method, plane.turn()).code == -32002


def test_without_the_packages_for_turns_all_else_goes_on(workshop: Workshop) -> None:
    code = "import sys; sys.modules['httpx2'] = None; from codex_adapter.cli import main; sys.exit(main())"
    workshop.command[: len(ADAPTER)] = [sys.executable, "-c", code]
    plane = ControlPlane(workshop)
    refused = plane.daemon.refusal("turns/run", plane.turn())
    assert refused.code == -32601
    assert "codex-adapter[turns]" in refused.message
    plane.daemon.start("r")
    assert plane.daemon.completion("r")["outcome"] == "completed"


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


def _leave(plane: ControlPlane) -> None:
    plane.daemon.close_stdin()


def _exit(plane: ControlPlane) -> None:
    plane.daemon.notify("exit")


def _terminate(plane: ControlPlane) -> None:
    plane.daemon.kill(signal.SIGTERM)


def _shut_down(plane: ControlPlane) -> None:
    plane.daemon.request("shutdown", mode="cancel")
    plane.daemon.close_stdin()


@pytest.mark.rule("U2", "J2", "J10", "J11")
@pytest.mark.parametrize("steps", [HANGING, PARENT, STUBBORN, FLOOD], ids=["hanging", "parent", "stubborn", "flood"])
@pytest.mark.parametrize("end", [_leave, _exit, _terminate, _shut_down])
def test_a_turn_is_cancelled_with_the_daemon_and_leaves_nothing(
    workshop: Workshop, end: Callable[[ControlPlane], None], steps: tuple[Any, ...]
) -> None:
    plane = ControlPlane(workshop, "--max-runs", "1")
    under_way = plane.begin("under way", "a", env=workshop.agent("steps", *steps))
    waiting = plane.begin("waiting", "b")
    plane.daemon.receive_until(lambda: len(plane.events("under way")) > 2)
    end(plane)
    assert plane.daemon.wait() == 0
    for id_ in (under_way, waiting):
        with pytest.raises(Refused) as refused:
            plane.daemon.result(id_)
        assert (refused.value.code, refused.value.data) == (-32010, {"kind": "cancelled"})
    events = plane.events("under way")
    assert [event["seq"] for event in events] == [*range(1, len(events) + 1)]
    assert events[-1]["type"] != "complete"
    assert plane.events("waiting") == []


@pytest.mark.rule("J10")
@pytest.mark.parametrize("steps", [HANGING, FLOOD], ids=["hanging", "flood"])
def test_a_turn_whose_reader_leaves_is_cancelled(plane: ControlPlane, steps: tuple[Any, ...]) -> None:
    plane.begin(env=plane.workshop.agent("steps", *steps))
    plane.daemon.receive_until(lambda: len(plane.events("run-1")) > 2)
    plane.daemon.close_stdout()
    assert plane.daemon.process.wait(20) == 0


@pytest.mark.rule("J2", "J3")
def test_shutdown_waits_for_the_turns_under_way_and_refuses_others(plane: ControlPlane) -> None:
    held = plane.begin(env=plane.workshop.agent("held", *HELD))
    shutdown = plane.daemon.request("shutdown", mode="drain")
    for method in ("turns/run", "turns/describe"):
        where: dict[str, Any] = plane.turn("another") if method == "turns/run" else {"aspHome": "/x", "spec": {}}
        refused = plane.daemon.refusal(method, where)
        assert (refused.code, refused.data) == (-32010, {"kind": "shutting_down"})
    assert plane.daemon.silence() == []
    (plane.cwd / "go").touch()
    assert plane.end(held)[0]["result"]["success"] is True
    assert plane.daemon.result(shutdown) == {}


@pytest.mark.rule("J10")
def test_a_daemon_that_drains_finishes_the_turns_of_who_left(workshop: Workshop) -> None:
    plane = ControlPlane(workshop, "--on-eof", "drain")
    held = plane.begin(env=workshop.agent("held", *HELD))
    plane.daemon.receive_until(lambda: len(plane.events("run-1")) > 2)
    plane.daemon.close_stdin()
    (plane.cwd / "go").touch()
    assert plane.daemon.wait() == 0
    assert plane.end(held)[0]["result"]["success"] is True
