"""Test the refusals of the turn methods: wrong parameters, too many turns, wrong time."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ...cli.command import ADAPTER
from ...daemon.workshop import Workshop
from ...rows import rows
from .control_plane import ControlPlane
from .service_agents import HELD

pytestmark = pytest.mark.rule("U12")


@pytest.mark.rule("J5")
@rows(
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
def test_params_of_another_form_are_refused_by_name(
    shared_plane: ControlPlane, changes: dict[str, Any], named: str
) -> None:
    refused = shared_plane.daemon.refusal("turns/run", shared_plane.turn(**changes))
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
    assert "pip install 'httpx2>=" in refused.message
    plane.daemon.start("r")
    assert plane.daemon.completion("r")["outcome"] == "completed"


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
