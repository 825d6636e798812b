"""Test the command `mailbox`: sessions, rounds, refusals, signals, and a reader that leaves."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.widths import thinned

from ..runtime.survivors import Survivors
from ..waiting import until
from .command import Cli
from .mailbox_desk import Desk, done_with, file_of, kinds, message, running, until_record

pytestmark = pytest.mark.rule("C12")
BUILD = "grep -q 'return 4' src/app.py || { echo 'app.py:2: wrong answer' >&2; exit 1; }"


@pytest.fixture
def desk(cli: Cli) -> Desk:
    """A workspace and a mailbox."""
    return Desk(cli)


def in_the_middle(desk: Desk) -> subprocess.Popen[bytes]:
    """The command while a command of an answer never ends, with another one behind that."""
    desk.begun()
    desk.answer(running(": > begun; sleep 1000"), file_of("behind"))
    process = desk.start("resume")
    until((desk.root / "begun").exists)
    return process


@pytest.mark.rule("I6", "I7", "I11")
def test_a_script_carries_a_session_through_round_by_round(desk: Desk) -> None:
    id_ = desk.begun()
    assert "Task: Make it work." in desk.outbox(1)
    desk.answer(
        file_of("src/app.py", "def answer():", "    return 5"), file_of("build.sh", BUILD), running("sh build.sh")
    )
    done = desk.run("once")
    assert (done.status, done.stderr) == (0, "")
    assert kinds(done) == ["outbox", "answer", "result", "result", "result", "outbox", "waiting"]
    assert done.records[-1]["inbox"] == str(desk.mailbox / "inbox")
    failed = next(
        record["result"] for record in done.records if record["type"] == "result" and not record["result"]["success"]
    )
    assert (failed["command"], failed["output"]) == ("RUN_COMMAND", "[stderr]\napp.py:2: wrong answer")
    assert "[FAILED] RUN_COMMAND: " in desk.outbox(2)
    edit = '[EDIT_FILE path="src/app.py" start_line="2" end_line="2"]\n    return 4\n[/EDIT_FILE]\n'
    desk.answer(edit, running("sh build.sh"), '[READ_FILE path="src/app.py"]\n')
    assert desk.run("once").status == 0
    assert "--- src/app.py ---\ndef answer():\n    return 4\n--- end src/app.py ---" in desk.outbox(3)
    desk.answer(message("Almost."), done_with("Fixed the answer."))
    done = desk.run("once")
    assert done.status == 0
    assert kinds(done) == ["outbox", "answer", "result", "message", "result", "done"]
    assert done.records[-1] == {"type": "done", "session": id_, "sequence": 3, "summary": "Fixed the answer."}
    assert desk.state["isComplete"] is True
    assert (desk.root / "src/app.py").read_text() == "def answer():\n    return 4\n"
    assert desk.run("once").status == 2


@pytest.mark.rule("I16")
def test_one_process_waits_for_each_answer_until_the_task_is_complete(desk: Desk) -> None:
    with desk.start("start", "Make it work.") as process:
        until_record(process, "waiting")
        desk.answer(running("echo one"))
        assert until_record(process, "result")["result"]["output"] == "one"
        until_record(process, "waiting")
        desk.answer(done_with("Two."))
        assert until_record(process, "done")["summary"] == "Two."
        assert desk.cli.finish(process).status == 0


def test_once_without_an_answer_says_so_by_its_status(desk: Desk) -> None:
    desk.begun()
    done = desk.run("once")
    assert (done.status, done.stderr) == (75, "")
    assert kinds(done) == ["outbox", "waiting"]
    assert desk.state["sequenceNumber"] == 1


def test_status_tells_of_every_session_and_of_what_waits(desk: Desk) -> None:
    id_ = desk.begun()
    desk.answer(done_with("Fine."))
    [now] = desk.run("status").records
    assert now == {**desk.state, "waiting": ["answer 1.txt"]}
    desk.run("once")
    other = desk.cli.run(*desk.words("start", "--no-wait", "Another \x1b[2J task."))
    assert other.status == 0
    first, second = desk.run("status").records
    assert (first["sessionId"], first["isComplete"], first["waiting"]) == (id_, True, [])
    assert (second["isComplete"], second["sequenceNumber"], second["waiting"]) == (False, 1, [])
    text = desk.run("status", "--format", "pretty").stdout.decode()
    assert f"+ session {id_}: complete, outbox 1" in text
    assert "Another ␛[2J task." in text
    assert f"codex-adapter mailbox resume --mailbox {desk.mailbox}" in text


@pytest.mark.rule("I15")
def test_end_completes_a_session_without_the_model(desk: Desk) -> None:
    id_ = desk.begun()
    [ended] = desk.run("end").records
    assert (ended["sessionId"], ended["isComplete"], ended["waiting"]) == (id_, True, [])
    done = desk.run("resume", id_)
    assert (done.status, done.stderr) == (0, "")
    assert [record["text"] for record in done.records] == ["The session is already complete."]
    assert desk.run("end", id_).status == 0
    assert desk.run("resume").status == 2


def test_the_task_comes_from_standard_input(desk: Desk) -> None:
    assert desk.run("start", "--no-wait", "-", stdin="Ünd\nso on.\n".encode()).status == 0
    assert desk.state["task"] == "Ünd\nso on."
    desk.run("end")


@pytest.mark.parametrize("stdin", thinned([b"", b" \n", b"a\xff", b"a\0b"], 2))
def test_a_task_that_is_none_is_refused(desk: Desk, stdin: bytes) -> None:
    done = desk.run("start", "--no-wait", stdin=stdin)
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith("The task must be")
    assert not desk.mailbox.exists()


@pytest.mark.rule("I15")
@pytest.mark.fault(
    "mailbox",
    "A user starts a session while another session is incomplete",
    "The command refuses it and names the id of the other session",
)
def test_a_second_session_is_refused_by_the_id_of_the_first(desk: Desk) -> None:
    id_ = desk.begun()
    done = desk.run("start", "Something else.")
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith(f"--mailbox: session {id_} is not complete. ")
    assert len(list(desk.mailbox.glob("sessions/*"))) == 1


@pytest.mark.rule("I15")
@pytest.mark.fault(
    "mailbox",
    "A second process opens a session that is in use",
    "The command refuses it with the session's id; the first process continues",
)
@pytest.mark.parametrize("action", ["resume", "once", "end", "start"])
def test_a_second_process_is_refused_by_the_session_of_the_first(desk: Desk, action: str) -> None:
    with desk.start("start", "Make it work.") as process:
        until_record(process, "waiting")
        done = desk.run(action, *(["Hi."] if action == "start" else []))
        assert (done.status, done.stdout) == (2, b"")
        assert done.complaint.startswith(f"--mailbox: session {desk.session} uses it (process {process.pid}). ")
        assert desk.run("status").records[0]["isComplete"] is False
        desk.answer(done_with(""))
        until_record(process, "done")
        assert desk.cli.finish(process).status == 0


@pytest.mark.rule("I12")
@pytest.mark.fault(
    "mailbox", "The mailbox is inside its workspace", "The session is refused, because an agent could answer itself"
)
def test_a_mailbox_in_its_workspace_is_refused(desk: Desk) -> None:
    (desk.cli.directory / "link").symlink_to(desk.root)
    desk.mailbox = desk.cli.directory / "link" / "mailbox"
    done = desk.run("start", "Make it work.")
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith("--mailbox: it is in the workspace, where an agent could write its own answers")
    assert list(desk.root.iterdir()) == []


@pytest.mark.rule("I12")
def test_a_directory_of_the_mailbox_is_no_workspace(desk: Desk) -> None:
    desk.begun()
    desk.run("end")
    desk.root = desk.mailbox / "inbox"
    done = desk.run("start", "Make it work.")
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith("--mailbox: the workspace is in one of its directories. Use another workspace")


def test_names_that_are_no_text_are_told_as_well_as_can_be(desk: Desk) -> None:
    desk.root = desk.root.rename(desk.cli.directory / os.fsdecode(b"work\xff"))
    done = desk.run("start", "--no-wait", "Make it work.")
    assert done.complaint.startswith("--workspace: the path must be UTF-8")
    desk.root = desk.root.rename(desk.cli.directory / "workspace")
    desk.mailbox = desk.cli.directory / os.fsdecode(b"mail\xff")
    desk.begun()
    desk.answer(done_with("")).rename(desk.mailbox / "inbox" / os.fsdecode(b"\xff.txt"))
    assert desk.run("status").records[0]["waiting"] == ["\ufffd.txt"]
    assert desk.run("once").status == 0


@pytest.mark.rule("I15")
def test_a_session_begins_with_an_empty_inbox(desk: Desk) -> None:
    desk.begun()
    desk.run("end")
    desk.answer(running("rm -r ."))
    done = desk.run("start", "Make it work.")
    assert done.status == 2
    assert done.complaint.startswith("--mailbox: its inbox has files, which would be answers to this session")


@pytest.mark.rule("I15")
@pytest.mark.parametrize("action", ["resume", "once"])
def test_a_session_goes_on_in_its_own_workspace_only(desk: Desk, action: str) -> None:
    desk.begun()
    done = desk.run(action, "--workspace", str(desk.cli.directory))
    assert done.status == 2
    assert "belongs to another workspace. Leave out --workspace" in done.complaint
    desk.answer(done_with(""))
    assert desk.run(action, "--workspace", str(desk.root)).status == 0


@pytest.mark.parametrize(
    ("words", "named"),
    thinned(
        [
            (["status"], "--mailbox: the mailbox does not exist. Create it with `mailbox start`"),
            (["resume"], "--mailbox: the mailbox does not exist"),
            (["start", "--workspace", "nowhere", "Hi."], "--workspace: the directory does not exist. Create it first"),
            (["start", "--workspace", "a_file", "Hi."], "--workspace: Part of the path is not a directory"),
        ],
        2,
    ),
)
def test_what_is_not_there_is_told(cli: Cli, words: list[str], named: str) -> None:
    (cli.directory / "a_file").touch()
    done = cli.run("mailbox", words[0], "--mailbox", "mailbox", *words[1:])
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith(named)


def test_an_unknown_session_is_told(desk: Desk) -> None:
    desk.begun()
    done = desk.run("resume", "hunter2-hunter2")
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith(
        "--mailbox: it has no session with this id. List the sessions with `mailbox status`"
    )


@pytest.mark.fault(
    "mailbox", "The mailbox is not writable", "The command exits with status 1 and the message of the system"
)
def test_a_mailbox_that_cannot_be_made_ends_it_with_1(desk: Desk) -> None:
    desk.mailbox.write_text("a file")
    done = desk.run("start", "Make it work.")
    assert (done.status, done.stdout) == (1, b"")
    assert done.complaint == "--mailbox: its directories cannot be created (File exists)"


@pytest.mark.rule("I14")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_waiting(desk: Desk, number: int, status: int) -> None:
    with desk.start("start", "Make it work.") as process:
        until_record(process, "waiting")
        process.send_signal(number)
        done = desk.cli.finish(process)
    assert (done.status, done.stderr) == (status, "")
    assert done.records[-1]["text"] == "Stopped. To continue, use `mailbox resume`."
    desk.answer(done_with("Later."))
    assert desk.run("resume").status == 0


@pytest.mark.rule("I14")
@pytest.mark.fault(
    "mailbox",
    "The command receives a signal while it runs a shell command",
    "It kills the shell command and its descendants; the rest runs later",
)
def test_a_signal_kills_the_command_under_way_and_the_rest_is_carried_out_later(desk: Desk) -> None:
    with in_the_middle(desk) as process:
        process.send_signal(signal.SIGTERM)
        done = desk.cli.finish(process)
    assert (done.status, done.stderr) == (143, "")
    assert Survivors(desk.root).now() == []
    assert not (desk.root / "behind").exists()
    done = desk.run("once")
    assert done.status == 0
    [killed, made] = [record for record in done.records if record["type"] == "result"]
    assert (killed["before"], killed["result"]["success"], "was killed" in killed["result"]["summary"]) == (
        True,
        False,
        True,
    )
    assert made["result"]["success"] is True
    assert (desk.root / "behind").exists()


@pytest.mark.fault(
    "mailbox", "The reader closes standard output", "The active shell command is killed; the exit status is 141"
)
def test_a_reader_that_leaves_ends_it_and_the_command_under_way(desk: Desk) -> None:
    with in_the_middle(desk) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        done = desk.cli.finish(process)
    assert (done.status, done.stderr) == (141, "")
    assert Survivors(desk.root).now() == []


@pytest.mark.rule("I10")
def test_commands_without_a_sandbox_are_said_to_be(desk: Desk) -> None:
    desk.begun("--no-sandbox")
    desk.answer(running('echo "$HOME" > ../outside'))
    remark, *_ = desk.run("once", "--no-sandbox").records
    assert remark["text"] == "Commands run without a sandbox, with all your rights."
    assert (desk.cli.directory / "outside").exists()


@pytest.mark.rule("I10")
def test_where_no_sandbox_works_it_is_said(desk: Desk) -> None:
    desk.cli.env |= {"PATH": desk.program("bwrap", "exit 1").removesuffix("/bwrap"), "CODEX_BINARY": "/no/such/codex"}
    done = desk.run("start", "--no-wait", "Hi.")
    assert done.records[0]["text"].startswith(
        "No sandbox works here (see `codex-adapter doctor`). Commands run without"
    )


def test_nothing_but_the_mailbox_is_written(desk: Desk, tmp_path: Path) -> None:
    desk.begun()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mailbox", "workspace"]
    assert sorted(path.name for path in desk.mailbox.iterdir()) == [
        *("inbox", "journal", "lock", "outbox", "processed", "rounds", "sessions")
    ]
