"""Test parallel runs: credit blocks one run only, and a flood or a slow reader loses no event."""

from __future__ import annotations

import resource
import signal

import pytest

from codex_adapter.testing import PrintJson, ReadPrompt, StartDescendant, WaitFor
from codex_adapter.testing.thread_lines import command_completed, command_started, thread_started, turn_completed

from ..cli.command import until_full
from ..waiting import until
from .agents import BRIEF, HANGING, flood, messages
from .jsonrpc_rules import Line
from .measures import MIB, nothing_for, peak
from .messages import CANCELLED, encode
from .workshop import Workshop

pytestmark = pytest.mark.rule("J9")
MOST_OPENED = 60


@pytest.mark.rule("J3")
def test_with_credit_at_most_so_many_events_are_sent(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", credit=0, env=workshop.agent("ten", *messages(9)))
    granted = 0
    for grant in (1, 2, 3):
        granted += grant
        assert daemon.call("run/credit", runId="r", events=grant) == {}
        daemon.event("r", granted - 1)
        assert daemon.until_waiting("r", "credit")["events"] == granted
        assert len(daemon.events("r")) == granted
    daemon.call("run/credit", runId="r", events=2)
    daemon.call("run/credit", runId="r", events=2)
    assert daemon.completion("r")["final_text"] == "Message 8."
    assert len(daemon.events("r")) == 10


def test_credit_for_all_events_is_enough_for_the_completion(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", credit=10, env=workshop.agent("ten", *messages(9)))
    assert daemon.completion("r")["outcome"] == "completed"
    assert len(daemon.events("r")) == 10


def test_a_run_without_credit_holds_up_no_other_one(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("held", credit=1, env=workshop.agent("many", *messages(0), flood(8000, 2000)))
    daemon.until_waiting("held", "credit")
    for number in range(3):
        daemon.start(f"r{number}", env=workshop.agent("brief", *BRIEF))
        assert daemon.completion(f"r{number}")["turn"] == "completed"
    assert daemon.live("held")["events"] == len(daemon.events("held")) == 1
    daemon.call("run/cancel", runId="held")
    assert daemon.completion("held") == CANCELLED
    assert len(daemon.events("held")) == 1


@pytest.mark.rule("J3", "D3")
def test_a_run_without_credit_may_be_detached(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", credit=0, env=workshop.agent("many", *messages(3), flood(500, 2000)))
    daemon.until_waiting("r", "credit")
    daemon.call("run/detach", runId="r")
    assert daemon.completion("r")["outcome"] == "completed"
    assert daemon.events("r") == []


@pytest.mark.rule("J3")
def test_a_run_that_had_no_credit_has_no_limit_and_keeps_none(workshop: Workshop) -> None:
    daemon, place = workshop.daemon(), workshop.place("work")
    steps = (ReadPrompt(), WaitFor("go"), *messages(9)[1:])
    daemon.start("r", env=workshop.agent("ten", *steps), working_dir=str(place))
    assert daemon.call("run/credit", runId="r", events=1) == {}
    (place / "go").touch()
    assert daemon.completion("r")["outcome"] == "completed"
    assert len(daemon.events("r")) == 10


@pytest.mark.rule("J3", "J8")
def test_credit_may_be_granted_while_a_run_waits(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting", credit=1, env=workshop.agent("ten", *messages(9)))
    assert daemon.call("run/credit", runId="waiting", events=9) == {}
    daemon.call("run/cancel", runId="live")
    assert daemon.completion("waiting")["outcome"] == "completed"


@pytest.mark.rule("D4", "K1", "K2")
def test_no_time_limit_passes_while_a_run_has_no_credit(workshop: Workshop) -> None:
    workshop.slow_clock(skip=True)
    daemon = workshop.daemon("--idle-timeout", "2")
    # One read of the output does not have them all, and the second one waits for the events of the first.
    daemon.start("r", credit=0, timeout=2.5, env=workshop.agent("many", *messages(2_999)))
    daemon.until_waiting("r", "credit")
    until((workshop.directory / "skipped").exists)
    daemon.call("run/credit", runId="r", events=10_000)
    assert daemon.completion("r")["outcome"] == "completed"
    assert len(daemon.events("r")) == 3_000


@pytest.mark.rule("J2", "J3")
def test_shutdown_ends_a_run_without_credit(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", credit=0, env=workshop.agent("ten", *messages(9)))
    daemon.until_waiting("r", "credit")
    drain = daemon.request("shutdown", mode="drain")
    daemon.call("run/list")
    assert daemon.call("shutdown", mode="cancel") == {}
    assert daemon.result(drain) == {}


@pytest.mark.rule("J10")
def test_a_supervisor_that_is_gone_need_not_grant_credit(workshop: Workshop) -> None:
    daemon = workshop.daemon("--on-eof", "drain")
    daemon.start("r", credit=0, env=workshop.agent("ten", *messages(9)))
    daemon.until_waiting("r", "credit")
    daemon.close_stdin()
    assert daemon.wait() == 0
    assert daemon.completion("r")["outcome"] == "completed"


@pytest.mark.fault(
    "daemon", "One run floods while others print little", "The daemon sends events of every run during the flood"
)
def test_a_run_that_floods_starves_nobody(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    noisy = workshop.agent("noisy", *messages(0), flood(8000))
    for number in range(2):
        daemon.start(f"noisy{number}", env=noisy)
        daemon.event(f"noisy{number}", 10)
    quiet = workshop.agent("quiet", *messages(20), PrintJson(turn_completed()))
    for number in range(5):
        before = len(daemon.output)
        run_id = daemon.start(f"quiet{number}", env=quiet)
        assert daemon.completion(run_id)["final_text"] == "Message 19."
        assert len(daemon.events(run_id)) == 22
        assert daemon.call("run/list")["runs"]
        # What the flood may say in between: a piece at each of its turns, and what its pipe holds.
        assert len(daemon.output) - before < 32 * MIB
    for number in range(2):
        daemon.call("run/cancel", runId=f"noisy{number}")
        assert daemon.completion(f"noisy{number}") == CANCELLED


@pytest.mark.parametrize("floods", [1, pytest.param(8, marks=pytest.mark.nightly)])
def test_a_flood_delays_an_answer_by_no_more_than_a_piece_of_each_run(workshop: Workshop, floods: int) -> None:
    daemon = workshop.daemon()
    noisy = workshop.agent("noisy", *messages(0), flood(8000))
    for number in range(floods):
        daemon.start(f"noisy{number}", env=noisy)
        daemon.event(f"noisy{number}", 10)
    delays = []
    for _ in range(8):
        before = len(daemon.output)
        daemon.call("run/list")
        delays.append(len(daemon.output) - before)
    for number in range(floods):
        daemon.call("run/cancel", runId=f"noisy{number}")
    # What is on its way already, in the pipe (256 KiB) and in what we read of it at once (as much), and while we looked
    # at that as much again; and one read of each agent's output with what our records add to it.
    assert max(delays) < 1024 * 1024 + floods * 80 * 1024


@pytest.mark.rule("J10", "D4", "K1", "K2")
@pytest.mark.fault(
    "daemon",
    "The supervisor stops reading while 20 runs flood",
    "No event is lost, no limit expires and memory is bounded",
)
def test_a_supervisor_that_does_not_read_loses_nothing(workshop: Workshop) -> None:
    workshop.slow_clock()
    daemon, place = workshop.daemon("--idle-timeout", "1.0"), workshop.place("work")
    count = 400
    # The idle clock stands while a tool call is open, and no agent waits for the others.
    begin = (*messages(0), PrintJson(command_started("item_0", "make")), WaitFor("go"))
    end = (PrintJson(command_completed("item_0", "make")), flood(2000, count), PrintJson(turn_completed()))
    env = workshop.agent("noisy", *begin, *end)
    names = [daemon.start(f"r{number}", env=env, working_dir=str(place)) for number in range(20)]
    before = peak(daemon.pid)
    (place / "go").touch()
    until_full(daemon.stdout)
    nothing_for(daemon, 1)
    daemon.kill(signal.SIGUSR2)  # a day passes
    nothing_for(daemon, 1)
    assert peak(daemon.pid) - before < 32 * MIB
    for name in names:
        assert daemon.completion(name)["turn"] == "completed"
        assert len(daemon.events(name)) == count + 4
    assert peak(daemon.pid) - before < 40 * MIB


@pytest.mark.rule("J10")
@pytest.mark.fault(
    "daemon",
    "Requests arrive while runs flood and the supervisor does not read",
    "The daemon answers each one when the supervisor reads again",
)
def test_what_is_asked_while_nobody_reads_is_answered_later(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    env = workshop.agent("noisy", *messages(0), flood(8000))
    daemon.start("r", env=env)
    nothing_for(daemon, 0.5)
    asked = [daemon.request("run/list") for _ in range(20)]
    cancel = daemon.request("run/cancel", runId="r")
    assert all("runs" in daemon.result(id_) for id_ in asked)
    assert daemon.result(cancel) == {}
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("J3")
def test_the_list_tells_that_a_run_waits_for_its_reader(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("noisy", *messages(0), flood(8000)))
    until_full(daemon.stdout)
    nothing_for(daemon, 0.5)
    line = encode({"jsonrpc": "2.0", "id": "asked", "method": "run/list"})
    daemon.log.append(Line(True, line))
    daemon.write(line + b"\n", listen=False)
    nothing_for(daemon, 0.2)
    (live,) = daemon.result("asked")["runs"]
    assert live["waitsFor"] == "supervisor"
    daemon.call("run/cancel", runId="r")


@pytest.mark.rule("J4")
def test_a_detached_flood_does_not_grow_the_daemon(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("noisy", *messages(0), flood(8000, 5000), PrintJson(turn_completed())))
    daemon.event("r", 100)
    before = peak(daemon.pid)
    daemon.call("run/detach", runId="r")
    assert daemon.completion("r")["turn"] == "completed"
    assert peak(daemon.pid) - before < 16 * MIB


@pytest.mark.rule("J4")
def test_hundreds_of_runs_one_after_the_other_do_not_grow_the_daemon(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "4")
    env = workshop.agent("brief", *BRIEF)
    # As many as four runs need; one that stays open for each run would soon be too many.
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (MOST_OPENED, MOST_OPENED))
    rounds = []
    for _ in range(3):
        for run_id in [daemon.start(env=env) for _ in range(10)]:
            assert daemon.completion(run_id)["turn"] == "completed"
        rounds.append(peak(daemon.pid))
    assert rounds[2] - rounds[0] < 4 * MIB


@pytest.mark.rule("J4", "F7")
def test_a_descendant_that_holds_the_output_delays_only_its_run(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    steps = (ReadPrompt(), PrintJson(thread_started()), StartDescendant("child", session=True, hold_stdout=True))
    daemon.start("held", env=workshop.agent("holding", *steps), working_dir=str(workshop.place("work")))
    daemon.start("other", env=workshop.agent("brief", *BRIEF))
    assert daemon.completion("other")["turn"] == "completed"
    assert daemon.completion("held")["outcome"] == "completed"
