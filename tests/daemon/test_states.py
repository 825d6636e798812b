"""Test the states of a conversation: before `initialize`, after it, after `shutdown`, and at `exit`."""

from __future__ import annotations

import contextlib

import pytest

from codex_adapter.testing import ReadPrompt, WriteFile

from .agents import BRIEF, HANGING, HELD
from .messages import CANCELLED, run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J2")

METHODS = ["run/start", "run/cancel", "run/detach", "run/credit", "run/list", "run/events", "shutdown", "no/such", ""]


@pytest.mark.rule("J5")
def test_before_initialize_every_other_request_is_refused(workshop: Workshop) -> None:
    daemon = workshop.daemon(initialize=False)
    for method in METHODS:
        assert daemon.refusal(method).code == -32002
        assert daemon.refusal(method, run("r")).code == -32002
    daemon.send(b'[{"jsonrpc":"2.0","id":"b","method":"run/list"}]', b"{", b"{}")
    daemon.receive_until(lambda: len(daemon.told) == 2 * len(METHODS) + 3)
    (batch,) = [told for told in daemon.told if isinstance(told, list)]
    assert batch[0]["error"]["code"] == -32002
    codes = [told["error"]["code"] for told in daemon.told if isinstance(told, dict) and told["id"] is None]
    assert sorted(codes) == [-32700, -32600]
    daemon.initialize()
    assert daemon.call("run/list") == {"runs": []}


def test_before_initialize_a_notification_does_nothing(workshop: Workshop) -> None:
    daemon = workshop.daemon(initialize=False)
    env = workshop.agent("marking", ReadPrompt(), WriteFile(f"{workshop.directory}/started"))
    daemon.notify("initialize", protocolVersion="1.0")
    daemon.notify("run/start", **run("r", env=env))
    daemon.notify("shutdown", mode="cancel")
    assert daemon.refusal("run/list").code == -32002
    daemon.initialize()
    assert daemon.call("run/list") == {"runs": []}
    assert not (workshop.directory / "started").exists()


@pytest.mark.rule("J3")
def test_an_initialize_that_is_refused_changes_nothing(workshop: Workshop) -> None:
    daemon = workshop.daemon(initialize=False)
    versions: list[object] = ["1", "1.0.0", "2.0", "", " 1.0", 1.0, 1, None, True, ["1.0"], {"1.0": "1.0"}]
    for params in [None, {}, *({"protocolVersion": version} for version in versions)]:
        refused = daemon.refusal("initialize", params)
        assert refused.code == -32602
        assert "protocolVersion" in refused.message
    for info in ("me", ["me"], 1, True):
        refused = daemon.refusal("initialize", protocolVersion="1.0", clientInfo=info)
        assert refused.code == -32602
        assert "clientInfo" in refused.message
    assert daemon.refusal("run/list").code == -32002
    daemon.initialize()


def test_a_second_initialize_is_refused_and_changes_nothing(daemon: Supervisor) -> None:
    assert daemon.refusal("initialize", protocolVersion="1.0").code == -32600
    assert daemon.refusal("initialize", protocolVersion="2.0").code in (-32600, -32602)
    assert daemon.call("run/list") == {"runs": []}


@pytest.mark.rule("J5")
def test_after_shutdown_no_run_starts_and_everything_else_goes_on(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    place = workshop.place("work")
    daemon.start("held", env=workshop.agent("held", *HELD), working_dir=str(place))
    daemon.start("hanging", env=workshop.agent("hanging", *HANGING))
    shutdown = daemon.request("shutdown", mode="drain")
    refused = daemon.refusal("run/start", run("new"))
    assert (refused.code, refused.data["kind"]) == (-32010, "shutting_down")
    assert sorted(live["runId"] for live in daemon.call("run/list")["runs"]) == ["hanging", "held"]
    assert daemon.call("run/cancel", runId="new") == {"known": False}
    assert daemon.refusal("initialize", protocolVersion="1.0").code == -32600
    assert daemon.refusal("no/such").code == -32601
    assert daemon.call("run/cancel", runId="hanging") == {}
    assert daemon.completion("hanging") == CANCELLED
    (place / "go").touch()
    assert daemon.completion("held")["turn"] == "completed"
    assert daemon.result(shutdown) == {}
    refused = daemon.refusal("run/start", run("newer"))
    assert (refused.code, refused.data["kind"]) == (-32010, "shutting_down")
    assert daemon.call("run/list") == {"runs": []}
    daemon.notify("exit")
    assert daemon.wait() == 0


def test_exit_ends_an_idle_daemon(daemon: Supervisor) -> None:
    daemon.notify("exit")
    assert daemon.wait() == 0


def test_exit_ends_a_daemon_that_was_never_initialized(workshop: Workshop) -> None:
    daemon = workshop.daemon(initialize=False)
    daemon.notify("exit")
    assert daemon.wait() == 0


def test_exit_after_shutdown_ends_the_daemon(daemon: Supervisor) -> None:
    assert daemon.call("shutdown", mode="drain") == {}
    daemon.notify("exit")
    assert daemon.wait() == 0


@pytest.mark.rule("J4")
def test_exit_without_a_shutdown_cancels_the_runs_and_still_tells_it(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting")
    daemon.event("live")
    daemon.notify("exit")
    assert daemon.wait() == 0
    assert daemon.completion("live") == daemon.completion("waiting") == CANCELLED


def test_exit_before_shutdown_is_answered_cancels_and_still_answers(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    shutdown = daemon.request("shutdown", mode="drain")
    daemon.notify("exit")
    assert daemon.wait() == 0
    assert daemon.result(shutdown) == {}
    assert daemon.completion("live") == CANCELLED


def test_what_came_before_exit_in_the_same_write_is_answered(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    workshop.agent("brief", *BRIEF)
    lines = [
        b'{"jsonrpc":"2.0","id":"l","method":"run/list"}',
        b'{"jsonrpc":"2.0","id":"s","method":"run/start","params":'
        b'{"runId":"r","agentKind":"codex","request":{"prompt":"Hi."}}}',
        b'{"jsonrpc":"2.0","method":"exit"}',
    ]
    daemon.send(*lines)
    assert daemon.wait() == 0
    assert "runs" in daemon.result("l")
    assert daemon.result("s") == {"runId": "r"}
    assert daemon.completion("r")["outcome"] in ("failed", "completed")


@pytest.mark.rule("J6")
def test_what_comes_after_exit_in_a_batch_is_answered(daemon: Supervisor) -> None:
    ask = {"jsonrpc": "2.0", "id": "list", "method": "run/list"}
    start = {"jsonrpc": "2.0", "id": "start", "method": "run/start", "params": run("r")}
    daemon.say([{"jsonrpc": "2.0", "method": "exit"}, ask, start])
    assert daemon.wait() == 0
    (answers,) = [told for told in daemon.told if isinstance(told, list)]
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id["list"]["result"] == {"runs": []}
    assert by_id["start"]["error"]["data"]["kind"] == "shutting_down"


def test_what_comes_after_exit_does_not_hinder_it(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.notify("exit")
    daemon.whole = False  # nobody has promised answers to what comes after it
    with contextlib.suppress(BrokenPipeError):
        daemon.send(*[b'{"jsonrpc":"2.0","id":1,"method":"run/list"}'] * 1000)
    assert daemon.wait() == 0


@pytest.mark.rule("J3")
def test_exit_with_an_id_is_answered_and_ends_nothing_or_everything(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    answer = daemon.answer(daemon.request("exit"))
    if "error" in answer:
        assert answer["error"]["code"] in (-32600, -32601)
        assert daemon.call("run/list") == {"runs": []}
    else:
        assert daemon.wait() == 0
