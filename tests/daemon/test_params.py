"""Test that unknown parameters and unknown methods are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from ..rows import rows
from .messages import run
from .supervisor import Supervisor

pytestmark = pytest.mark.rule("J3")

BAD_RUN_IDS = ["", "x" * 129, ".a", "-a", "_a", "a b", "a/b", "ä", "a\n", "a\0", "٣", 1, True, [], {}]


@pytest.mark.rule("J5")
@rows("run_id", BAD_RUN_IDS, ids=ascii)
@rows("method", ["run/start", "run/cancel", "run/detach", "run/credit"])
def test_an_id_of_another_form_is_refused(shared: Supervisor, method: str, run_id: Any) -> None:
    params = {"run/start": run(), "run/credit": {"events": 1}}.get(method, {})
    id_ = shared.request(method, {**params, "runId": run_id})
    if method != "run/start" and isinstance(run_id, str) and "result" in shared.answer(id_):
        # No run can have it, which is an answer as well.
        assert shared.result(id_) == {"known": False}
        return
    error = shared.answer(id_)["error"]
    assert error["code"] == -32602
    assert "runId" in error["message"]


@pytest.mark.rule("J5", "J1")
@rows(
    ("method", "params", "named"),
    [
        ("run/start", {}, "agentKind"),
        ("run/start", {"agentKind": "codex"}, "request"),
        ("run/start", {"agentKind": 1, "request": {"prompt": "x"}}, "agentKind"),
        ("run/start", {"agentKind": "codex", "request": "x"}, "request"),
        ("run/start", {"agentKind": "codex", "request": []}, "request"),
        ("run/start", {**run(), "credit": -1}, "credit"),
        ("run/start", {**run(), "credit": "1"}, "credit"),
        ("run/start", {**run(), "credit": 1.5}, "credit"),
        ("run/start", {**run(), "credit": True}, "credit"),
        ("run/start", {**run(), "more": 1}, "more"),
        ("run/cancel", {}, "runId"),
        ("run/cancel", {"runId": "r", "more": 1}, "more"),
        ("run/cancel", {"runId": "r", "kill": 1}, "kill"),
        ("run/cancel", {"runId": "r", "kill": "true"}, "kill"),
        ("run/cancel", {"runId": "r", "kill": None}, "kill"),
        ("run/detach", {"runId": "r", "kill": True}, "more"),
        ("run/detach", {}, "runId"),
        ("run/detach", {"runId": "r", "more": 1}, "more"),
        ("run/credit", {"events": 1}, "runId"),
        ("run/credit", {"runId": "r"}, "events"),
        ("run/credit", {"runId": "r", "events": 0}, "events"),
        ("run/credit", {"runId": "r", "events": -1}, "events"),
        ("run/credit", {"runId": "r", "events": 1.5}, "events"),
        ("run/credit", {"runId": "r", "events": "1"}, "events"),
        ("run/credit", {"runId": "r", "events": True}, "events"),
        ("run/credit", {"runId": "r", "events": None}, "events"),
        ("run/list", {"more": 1}, "more"),
    ],
)
def test_params_that_a_method_does_not_take_are_refused_by_name(
    shared: Supervisor, method: str, params: dict[str, Any], named: str
) -> None:
    refused = shared.refusal(method, params)
    assert refused.code == -32602
    # What nobody knows may be anything, and is not repeated.
    assert named in refused.message or named == "more"
    assert shared.call("run/list") == {"runs": []}


@pytest.mark.rule("J5", "J1")
def test_a_shutdown_that_is_refused_changes_nothing(daemon: Supervisor) -> None:
    bad: list[dict[str, Any]] = [{"mode": "now"}, {"mode": 1}, {"mode": None}, {"mode": "drain", "more": 1}]
    for params in bad:
        refused = daemon.refusal("shutdown", params)
        assert refused.code == -32602
        assert "mode" in refused.message or "more" in params
    daemon.start("r")
    assert daemon.completion("r")["outcome"] == "completed"


@pytest.mark.rule("J5", "J1")
@rows("method", ["run/start", "run/cancel", "run/detach", "run/credit", "run/list", "shutdown"])
def test_params_by_position_are_refused(shared: Supervisor, method: str) -> None:
    shared.say({"jsonrpc": "2.0", "id": f"by position {method}", "method": method, "params": ["drain"]})
    assert shared.answer(f"by position {method}")["error"]["code"] == -32602


@pytest.mark.rule("J5")
@rows("method", ["", "run", "run/", "RUN/LIST", "rpc.discover", "run/list ", "run/events", "ü\0"])
def test_a_method_that_there_is_not_is_refused(shared: Supervisor, method: str) -> None:
    assert shared.refusal(method).code == -32601
    assert shared.refusal(method, {"runId": "r"}).code == -32601
