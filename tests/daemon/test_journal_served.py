"""Test the journal through the command: every sent record is kept and can be read again."""

from __future__ import annotations

import json
import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..waiting import SOON, until
from .agents import BRIEF, HANGING, HELD, flood, messages
from .kept import read_all, read_file
from .messages import CANCELLED, Refused, run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J12", "J13", "J14")

IO = {
    "outcome": "failed",
    "ok": False,
    "error": {
        "kind": "backend",
        "message": "codex backend error: io (details redacted when unsafe)",
        "failure": "io",
        "advice": "The journal cannot be written. Check the disk and the limit of open files.",
    },
    "advice": "The journal cannot be written. Check the disk and the limit of open files.",
}


@pytest.fixture
def journal(workshop: Workshop) -> Path:
    """The directory of the journal."""
    return workshop.directory / "journal"


@pytest.fixture
def keeping(workshop: Workshop, journal: Path) -> Supervisor:
    """A daemon that keeps a journal there."""
    return workshop.daemon("--journal", str(journal))


def start(daemon: Supervisor, workshop: Workshop, run_id: str, steps: Any, **more: Any) -> Path:
    """Start a run in a directory of its own, which is given."""
    place = workshop.place(f"at-{run_id}")
    daemon.start(run_id, env=workshop.agent(f"agent-{run_id}", *steps), working_dir=str(place), **more)
    return place


def sent(daemon: Supervisor, run_id: str) -> list[bytes]:
    """The records of a run as the daemon has sent them, byte for byte."""
    found = []
    for line in daemon.log:
        told = {} if line.sent else json.loads(line.data)
        for method, name in (("run/event", b"event"), ("run/completed", b"completion")):
            if told.get("method") == method and told["params"]["runId"] == run_id:
                found.append(line.data.partition(b',"%b":' % name)[2][:-2])
    return found


def test_the_journal_holds_what_is_sent_with_the_time_before_it(
    keeping: Supervisor, workshop: Workshop, journal: Path
) -> None:
    start(keeping, workshop, "r", BRIEF)
    keeping.completion("r")
    lines = (journal / "r.jsonl").read_bytes().split(b"\n")[1:-1]  # the first one says what was asked (J19)
    times = [re.match(rb'\{("time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",)', line) for line in lines]
    assert all(times)
    assert [line.replace(time[1], b"", 1) for line, time in zip(lines, times, strict=True) if time] == sent(
        keeping, "r"
    )
    assert len(lines) > 4
    assert (journal / "r.jsonl").stat().st_mode & 0o777 == 0o600
    assert journal.stat().st_mode & 0o777 == 0o700


def test_a_live_run_is_told_as_far_as_it_has_come_and_then_to_its_end(
    keeping: Supervisor, workshop: Workshop, journal: Path
) -> None:
    place = start(keeping, workshop, "r", HELD)
    keeping.event("r")
    page = keeping.call("run/events", runId="r")
    assert page == {"runId": "r", "events": read_file(journal / "r.jsonl"), "nextSeq": 1, "more": False, "live": True}
    (place / "go").touch()
    keeping.completion("r")
    page = keeping.call("run/events", runId="r", fromSeq=page["nextSeq"])
    assert page["completion"] == read_file(journal / "r.jsonl")[-1]
    assert (page["events"], page["more"], page["live"]) == (read_file(journal / "r.jsonl")[1:-1], False, False)
    again = keeping.call("run/events", runId="r", fromSeq=page["nextSeq"])
    assert again == {"runId": "r", "events": [], "nextSeq": page["nextSeq"], "more": False, "live": False}


def test_a_daemon_tells_the_runs_of_an_earlier_one_and_of_another_one(workshop: Workshop, journal: Path) -> None:
    first = workshop.daemon("--journal", str(journal))
    start(first, workshop, "over", BRIEF)
    first.completion("over")
    first.close_stdin()
    assert first.wait() == 0
    second, third = (workshop.daemon("--journal", str(journal)) for _ in range(2))
    assert read_all(second, "over") == read_file(journal / "over.jsonl")
    place = start(third, workshop, "live", HELD)
    third.event("live")
    page = second.call("run/events", runId="live")
    assert (len(page["events"]), page["live"], "completion" in page) == (1, True, False)
    for run_id in ("over", "live"):
        refused = second.refusal("run/start", run(run_id))
        assert (refused.code, refused.data) == (-32602, {})
    (place / "go").touch()
    third.completion("live")
    assert read_all(second, "live") == read_all(third, "live") == read_file(journal / "live.jsonl")


@pytest.mark.fault(
    "daemon",
    "A signal kills the daemon while it writes a line of a journal",
    "The next daemon removes the partial line",
)
def test_a_run_of_a_killed_daemon_has_no_completion_and_no_torn_line(workshop: Workshop, journal: Path) -> None:
    killed = workshop.daemon("--journal", str(journal))
    start(killed, workshop, "r", HANGING)
    killed.event("r")
    whole = (journal / "r.jsonl").read_bytes()
    with (journal / "r.jsonl").open("ab") as file:
        file.write(b'{"time":"2026-01-01T00:00:00.000Z","type":"ev')
    other = workshop.daemon("--journal", str(journal))
    page = other.call("run/events", runId="r")
    assert (len(page["events"]), page["live"]) == (1, True)
    assert (journal / "r.jsonl").read_bytes() > whole
    killed.kill()
    killed.wait()
    page = other.call("run/events", runId="r")
    assert page == {"runId": "r", "events": read_file(journal / "r.jsonl"), "nextSeq": 1, "more": False, "live": False}
    assert (journal / "r.jsonl").read_bytes() == whole
    assert other.refusal("run/start", run("r")).code == -32602


def test_a_long_run_is_told_page_by_page_from_every_place(
    keeping: Supervisor, workshop: Workshop, journal: Path
) -> None:
    start(keeping, workshop, "r", (*HANGING[:-1], flood(150_000, count=30)))
    keeping.completion("r")
    records = read_all(keeping, "r")
    assert records == read_file(journal / "r.jsonl")
    assert len(records) > 30
    for seq in range(len(records)):
        id_ = keeping.request("run/events", runId="r", fromSeq=seq)
        page = keeping.result(id_)
        assert page["events"] == records[seq : seq + len(page["events"])] or "completion" in page
        assert page["more"] == ("completion" not in page)
        assert len(json.dumps(page)) < 1_500_000
    assert keeping.call("run/events", runId="r", fromSeq=2**53 - 1)["events"] == []


def test_a_detached_run_goes_on_in_the_journal(keeping: Supervisor, workshop: Workshop, journal: Path) -> None:
    place = start(keeping, workshop, "r", (*HELD[:-1], *messages(50)[2:], HELD[-1]))
    keeping.event("r")
    assert keeping.call("run/detach", runId="r") == {}
    (place / "go").touch()
    completion = keeping.completion("r")
    records = read_file(journal / "r.jsonl")
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert len(records) > 50
    assert len(keeping.events("r")) == 1
    assert {name: value for name, value in records[-1].items() if name in completion} == completion
    assert json.loads(sent(keeping, "r")[-1])["seq"] == records[-1]["seq"]
    assert read_all(keeping, "r") == records


def test_a_run_that_waits_for_credit_is_not_kept_further_than_it_is_read(
    keeping: Supervisor, workshop: Workshop, journal: Path
) -> None:
    agent = workshop.agent("agent", *messages(40))
    keeping.start("r", env=agent, credit=0)
    keeping.until_waiting("r", "credit")
    kept = keeping.call("run/events", runId="r")
    assert kept["live"]
    assert keeping.events("r") == []
    keeping.call("run/credit", runId="r", events=1_000)
    keeping.completion("r")
    assert [json.loads(line) for line in sent(keeping, "r")] == [
        {name: value for name, value in record.items() if name != "time"} for record in read_file(journal / "r.jsonl")
    ]


@pytest.mark.rule("J10")
def test_with_drain_the_journal_goes_on_when_the_supervisor_is_gone(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--on-eof", "drain")
    place = start(daemon, workshop, "r", (*HELD[:-1], *messages(50)[2:], HELD[-1]))
    daemon.event("r")
    daemon.close_stdin()
    daemon.close_stdout()
    (place / "go").touch()
    assert daemon.process.wait(SOON) == 0
    records = read_file(journal / "r.jsonl")
    assert (records[-1]["type"], records[-1]["outcome"]) == ("completion", "completed")
    assert len(records) > 50


@pytest.mark.rule("J8")
def test_a_waiting_run_has_a_journal_and_a_cancelled_one_its_completion_in_it(
    workshop: Workshop, journal: Path
) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--max-runs", "1")
    start(daemon, workshop, "first", HANGING)
    start(daemon, workshop, "second", HANGING)
    empty = {"runId": "second", "events": [], "nextSeq": 0, "more": False, "live": True}
    assert daemon.call("run/events", runId="second") == empty
    daemon.call("run/cancel", runId="second")
    assert daemon.completion("second") == CANCELLED
    (kept,) = read_all(daemon, "second")
    assert (kept["seq"], kept["outcome"]) == (0, "failed")


def _limit_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))


@pytest.mark.rule("J8")
@pytest.mark.fault(
    "daemon",
    "More runs are queued than the process can open files",
    "Each run has a journal that contains its completion",
)
def test_runs_that_wait_hold_no_open_file(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--max-runs", "1", preexec_fn=_limit_descriptors)
    start(daemon, workshop, "first", HANGING)
    run_ids = [f"r{number}" for number in range(600)]
    for id_ in [daemon.request("run/start", run(run_id)) for run_id in run_ids]:
        assert daemon.result(id_)
    assert daemon.call("run/events", runId="r500")["live"]
    daemon.request("shutdown", mode="cancel")
    # Nothing is read meanwhile: more end at once than what is said of them fits into a pipe.
    until(lambda: all((journal / f"{run_id}.jsonl").stat().st_size for run_id in run_ids))
    for run_id in run_ids:
        assert daemon.completion(run_id) == CANCELLED
        assert [record["type"] for record in read_file(journal / f"{run_id}.jsonl")] == ["completion"]


def test_a_run_id_is_used_once(keeping: Supervisor, workshop: Workshop) -> None:
    start(keeping, workshop, "r", BRIEF)
    keeping.completion("r")
    refused = keeping.refusal("run/start", run("r"))
    assert refused.code == -32602
    assert "journal" in refused.message
    assert read_all(keeping, "r")[-1]["outcome"] == "completed"


def test_refused_runs_leave_no_journal_and_their_ids_free(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--max-runs", "1", "--no-queue")
    for wrong in ({"working_dir": str(workshop.directory / "nowhere")}, {"prompt": 5}, {"nobody": 1}):
        assert daemon.refusal("run/start", run("r", **wrong)).code == -32010
    assert daemon.refusal("run/start", runId="r", agentKind="nobody", request={"prompt": "Hi."}).code == -32010
    assert daemon.refusal("run/start", runId="r", agentKind=5, request={"prompt": "Hi."}).code == -32602
    assert list(journal.iterdir()) == []
    start(daemon, workshop, "r", HANGING)
    assert daemon.refusal("run/start", run("s")).data["kind"] == "too_many_runs"
    daemon.request("shutdown", mode="cancel")
    assert daemon.refusal("run/start", run("s")).data["kind"] == "shutting_down"
    assert [path.name for path in journal.iterdir()] == ["r.jsonl"]


@pytest.mark.rule("J3", "J5")
def test_without_a_journal_there_is_no_such_method(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon(initialize=False)
    assert not daemon.initialize()["journal"]
    refused = daemon.refusal("run/events", runId="r")
    assert refused.code == -32601
    assert "--journal" in refused.message
    keeping = workshop.daemon("--journal", str(journal), initialize=False)
    assert keeping.initialize()["journal"]
    assert keeping.refusal("run/events", runId="r").code == -32602


@pytest.mark.fault("daemon", "A run id contains a path", "The daemon refuses it before it accesses a file")
def test_a_run_id_that_is_none_never_reaches_the_file_system(
    keeping: Supervisor, workshop: Workshop, journal: Path
) -> None:
    (workshop.directory / "secret.jsonl").write_text('{"type":"event","seq":0}\ntorn')
    before = sorted(workshop.directory.iterdir())
    for run_id in (
        "..",
        ".",
        "../secret",
        "a/b",
        "/etc/passwd",
        "",
        ".a",
        "a\n",
        "a\0",
        "é",
        "x" * 129,
        "../journal/r",
    ):
        for refused in (keeping.refusal("run/events", runId=run_id), keeping.refusal("run/start", run(run_id))):
            assert refused.code == -32602
            assert "runId" in refused.message
    assert sorted(workshop.directory.iterdir()) == before
    assert list(journal.iterdir()) == []
    assert (workshop.directory / "secret.jsonl").read_text().endswith("torn")


def test_the_longest_run_id_has_a_journal(keeping: Supervisor, workshop: Workshop) -> None:
    run_id = "x" * 128
    keeping.start(run_id, env=workshop.agent("agent", *BRIEF))
    keeping.completion(run_id)
    assert read_all(keeping, run_id)[-1]["outcome"] == "completed"


def test_a_link_in_place_of_a_journal_is_not_followed(keeping: Supervisor, workshop: Workshop, journal: Path) -> None:
    target = workshop.directory / "elsewhere"
    target.write_text('{"type":"event","seq":0}\ntorn')
    (journal / "r.jsonl").symlink_to(target)
    assert keeping.refusal("run/events", runId="r").code == -32602
    assert keeping.refusal("run/start", run("r")).code == -32602
    assert target.read_text().endswith("torn")


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))


@pytest.mark.fault(
    "daemon", "The disk has no room for the journal of a run", "The daemon ends the run with an `io` completion"
)
def test_a_run_whose_journal_is_full_is_ended(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal), preexec_fn=_limit_files)
    start(daemon, workshop, "r", (*HANGING[:-1], flood(1_000)))
    assert daemon.completion("r") == IO
    start(daemon, workshop, "s", BRIEF)
    assert daemon.completion("s")["outcome"] == "completed"
    records = read_file(journal / "r.jsonl")
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert records[-1]["error"] == IO["error"]
    assert [json.loads(line)["seq"] for line in sent(daemon, "r")] == list(range(len(records)))


def _remove(journal: Path) -> None:
    shutil.rmtree(journal)


def _empty(journal: Path) -> None:
    (journal / "r.jsonl").unlink()


@pytest.mark.fault(
    "daemon", "The journal directory is removed", "Active runs end with `io`, and the daemon refuses further runs"
)
@pytest.mark.parametrize("remove", [_remove, _empty])
def test_a_run_whose_journal_is_removed_is_ended(
    keeping: Supervisor, workshop: Workshop, journal: Path, remove: Callable[[Path], None]
) -> None:
    place = start(keeping, workshop, "r", (*HELD[:-1], flood(100)))
    keeping.event("r")
    remove(journal)
    (place / "go").touch()
    assert keeping.completion("r") == IO
    assert [json.loads(line)["seq"] for line in sent(keeping, "r")] == [0, 1]
    assert keeping.refusal("run/events", runId="r").code == -32602
    if not journal.exists():
        with pytest.raises(Refused) as refused:
            keeping.start("s", env=workshop.agent("agent", *BRIEF))
        assert (refused.value.code, refused.value.data["kind"]) == (-32010, "backend")
        journal.mkdir()
    start(keeping, workshop, "t", BRIEF)
    assert keeping.completion("t")["outcome"] == "completed"
