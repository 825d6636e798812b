"""Test cancelling of one run or all runs, in the queue, during the start and during the run."""

from __future__ import annotations

import pytest

from codex_adapter.testing import ReadPrompt, WriteFile
from codex_adapter.testing.thread_lines import THREAD_ID
from tests.widths import thinned

from .agents import HANGING, HELD, STUBBORN
from .kept import read_file
from .messages import CANCELLED, run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J8")


SLOW = "#!/bin/sh\ntouch {}/asked\nexec sleep 1000\n"
ADD_DIRS = {"agent_api.exec.add_dirs.v1": {"dirs": ["/"]}}


def ends(daemon: Supervisor) -> list[str]:
    """The runs that have ended, in that order."""
    told = (told for told in daemon.told if isinstance(told, dict))
    return [message["params"]["runId"] for message in told if message.get("method") == "run/completed"]


@pytest.mark.rule("J2", "J3")
@pytest.mark.parametrize("mode", ["drain", "cancel"])
def test_shutdown_ends_those_that_wait_too(workshop: Workshop, mode: str) -> None:
    daemon, place = workshop.daemon("--max-runs", "1"), workshop.place("work")
    env = workshop.agent("held", *HELD)
    names = [daemon.start(f"r{number}", env=env, working_dir=str(place)) for number in range(3)]
    id_ = daemon.request("shutdown", mode=mode)
    if mode == "drain":
        assert len(daemon.call("run/list")["runs"]) == 3
        (place / "go").touch()
    assert daemon.result(id_) == {}
    # No run is left when it is answered: each has had its completion.
    assert sorted(ends(daemon)) == names
    outcomes = [daemon.completion(name)["outcome"] for name in names]
    assert outcomes == ["completed" if mode == "drain" else "failed"] * 3


@pytest.mark.rule("J3")
def test_a_second_shutdown_may_turn_drain_into_cancel_and_both_are_answered(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("hanging", *HANGING))
    first = daemon.request("shutdown", mode="drain")
    again = daemon.request("shutdown", mode="drain")
    assert daemon.live("r")["runId"] == "r"
    last = daemon.request("shutdown", mode="cancel")
    assert [daemon.result(id_) for id_ in (first, again, last)] == [{}, {}, {}]
    assert daemon.completion("r") == CANCELLED
    assert daemon.call("shutdown", mode="drain") == {}


@pytest.mark.rule("J3")
def test_a_second_shutdown_does_not_turn_cancel_into_drain(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("stubborn", *STUBBORN))
    daemon.event("r")
    ids = [daemon.request("shutdown", mode=mode) for mode in ("cancel", "drain")]
    assert [daemon.result(id_) for id_ in ids] == [{}, {}]
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J3", "K3")
def test_a_run_that_is_cancelled_in_the_queue_starts_no_agent(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting", env=workshop.agent("marking", ReadPrompt(), WriteFile(f"{workshop.directory}/started")))
    daemon.start("last")
    assert daemon.call("run/cancel", runId="waiting") == {}
    assert daemon.completion("waiting") == CANCELLED
    assert daemon.events("waiting") == []
    assert [live["runId"] for live in daemon.call("run/list")["runs"]] == ["live", "last"]
    daemon.call("run/cancel", runId="live")
    assert daemon.completion("last")["outcome"] == "completed"
    assert not (workshop.directory / "started").exists()


@pytest.mark.rule("J4", "J12", "W2")
def test_the_record_of_a_cancelled_run_has_the_session_that_can_be_resumed(workshop: Workshop) -> None:
    journal = workshop.directory / "journal"
    daemon = workshop.daemon("--journal", str(journal))
    daemon.start("r", env=workshop.agent("hanging", *HANGING))
    daemon.event("r")
    daemon.notify("run/cancel", runId="r")
    told = daemon.until(lambda told: told.get("method") == "run/completed")
    assert told["params"]["completion"]["session_id"] == THREAD_ID
    assert read_file(journal / "r.jsonl")[-1]["session_id"] == THREAD_ID


@pytest.mark.rule("J3", "K3")
def test_a_run_may_be_cancelled_again_and_again(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("stubborn", *STUBBORN))
    daemon.event("r")
    assert [daemon.call("run/cancel", runId="r") for _ in range(3)] == [{}, {}, {}]
    assert daemon.live("r")["runId"] == "r"
    assert daemon.completion("r") == CANCELLED
    assert daemon.call("run/cancel", runId="r") == {"known": False}


@pytest.mark.rule("J3", "K4")
@pytest.mark.fault(
    "daemon", "A client cancels a run with kill, and the agent ignores signals", "The daemon kills the agent at once"
)
@pytest.mark.parametrize("before", [[], [{"kill": False}, {}]], ids=len)
def test_a_kill_asks_no_agent_first(workshop: Workshop, before: list[dict[str, bool]]) -> None:
    # On this clock the steps of ending take minutes when nothing hurries them.
    workshop.slow_clock()
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("stubborn", *STUBBORN))
    daemon.event("r")
    for params in before:
        assert daemon.call("run/cancel", {"runId": "r", **params}) == {}
    assert daemon.call("run/cancel", runId="r", kill=True) == {}
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J3")
def test_a_run_that_waits_may_be_killed_too(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting")
    assert daemon.call("run/cancel", runId="waiting", kill=True) == {}
    assert daemon.completion("waiting") == CANCELLED


@pytest.mark.rule("J3", "K3", "K4")
@pytest.mark.fault(
    "daemon", "A client cancels a run while its agent starts", "The daemon accepts the run and cancels it"
)
@pytest.mark.parametrize("how", thinned(["run/cancel", "shutdown", "exit", "the end of stdin", "a signal"], 2))
def test_a_run_may_be_cancelled_while_its_agent_is_being_started(workshop: Workshop, how: str) -> None:
    workshop.program("codex", SLOW.format(workshop.directory))
    # On this clock the agent has a quarter of an hour to tell its release.
    workshop.slow_clock()
    daemon = workshop.daemon()
    id_ = daemon.request("run/start", run("r", extensions=ADD_DIRS))
    daemon.until_waiting("r", "start")
    match how:
        case "run/cancel":
            assert daemon.call("run/cancel", runId="r") == {}
        case "shutdown":
            assert daemon.call("shutdown", mode="cancel") == {}
        case "exit":
            daemon.notify("exit")
        case "the end of stdin":
            daemon.close_stdin()
        case _:
            daemon.kill(15)
    assert daemon.result(id_) == {"runId": "r"}
    assert daemon.completion("r") == CANCELLED
