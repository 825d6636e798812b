"""Test the command `mailbox` with hostile models, user mistakes and short resources."""

from __future__ import annotations

import os
import resource
import signal

import pytest

from codex_adapter.agents import known_places
from codex_adapter.protocols.mailbox.instructions import INSTRUCTIONS
from codex_adapter.workspace import find_sandbox

from ..needs import missing, without
from ..runtime.survivors import Survivors
from ..waiting import until
from .command import ADAPTER, Cli
from .mailbox_desk import Desk, done_with, file_of, kinds, message, running, until_record
from .test_mailbox_answers import codex

pytestmark = pytest.mark.rule("C12")
DONE = "printf '[DONE]\\nfine\\n[/DONE]\\n'"


@pytest.fixture
def desk(cli: Cli) -> Desk:
    """A workspace and a mailbox."""
    return Desk(cli)


@pytest.mark.rule("H14")
@pytest.mark.fault(
    "mailbox",
    "A command reads the login from the directory that `--codex-home` names",
    "The sandbox hides the directory",
)
def test_the_login_is_hidden_where_an_option_says_that_it_is(desk: Desk) -> None:
    sandbox = find_sandbox(agents=known_places())
    if sandbox is None:
        missing("bubblewrap")
    desk.program("bwrap", f'exec {sandbox.path} "$@"')
    home = desk.root / "home"
    home.mkdir()
    (home / "auth.json").write_text("hunter2")
    desk.begun()
    desk.answer(running("cat home/auth.json"))
    done = desk.run("once", *codex(desk), "--codex-home", str(home))
    [failed] = [record["result"] for record in done.records if record["type"] == "result"]
    assert failed["success"] is False
    assert b"hunter2" not in done.stdout
    assert "hunter2" not in desk.outbox(2)


@pytest.mark.rule("H13")
@pytest.mark.fault(
    "mailbox",
    "A resource limit prevents the test of the sandbox",
    "The command exits with status 1 and never runs without the sandbox",
)
def test_a_sandbox_that_cannot_be_tried_out_is_not_done_without(desk: Desk) -> None:
    if find_sandbox(agents=known_places()) is None:
        missing("bubblewrap")
    desk.begun()
    desk.answer(running(": > ../escaped"))
    with desk.start("once", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))) as process:
        done = desk.cli.finish(process)
    assert (done.status, done.stdout) == (1, b"")
    assert done.complaint.startswith("--mailbox: a sandbox cannot be tested (")
    assert [path.name for path in (desk.mailbox / "inbox").iterdir()] == ["answer 1.txt"]


@pytest.mark.rule("I12")
@pytest.mark.parametrize("action", ["once", "resume", "start"])
@pytest.mark.fault(
    "mailbox",
    "The inbox of a mailbox is a link into the workspace",
    "The session is refused, because an agent could answer itself",
)
def test_an_inbox_that_leads_into_the_workspace_is_refused(desk: Desk, action: str) -> None:
    if action == "start":
        desk.mailbox.mkdir()
    else:
        desk.begun()
        (desk.mailbox / "inbox").rmdir()
    (desk.root / "letters").mkdir()
    (desk.mailbox / "inbox").symlink_to(desk.root / "letters")
    done = desk.run(action, *(["Make it work."] if action == "start" else []))
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith("--mailbox: it is in the workspace, where an agent could write its own answers")


@pytest.mark.rule("I13")
@without("user", os.geteuid() == 0)
def test_an_answer_that_cannot_be_read_is_remarked_by_a_single_round_too(desk: Desk) -> None:
    desk.begun()
    desk.answer(message("Hello.")).rename(hidden := desk.mailbox / "inbox" / os.fsdecode(b"\xff.txt"))
    hidden.chmod(0)
    done = desk.run("once")
    assert (done.status, done.stderr) == (75, "")
    [*_, remark] = [record["text"] for record in done.records if record["type"] == "remark"]
    assert remark == "\ufffd.txt cannot be read. Change its permissions, or save it again"


@pytest.mark.rule("I13")
def test_what_is_no_answer_is_remarked_by_a_single_round_too(desk: Desk) -> None:
    desk.begun()
    desk.answer(message("Hello.")).rename(other := desk.mailbox / "inbox" / "answer.md")
    os.utime(other, (0, 0))
    done = desk.run("once")
    assert (done.status, done.stderr) == (75, "")
    [*_, remark] = [record["text"] for record in done.records if record["type"] == "remark"]
    assert remark == "answer.md is not an answer. Save it as a file, not a link, with a name in .txt"
    assert other.exists()


@pytest.mark.rule("I14")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
@pytest.mark.fault(
    "mailbox",
    "The mailbox receives a signal while the last shell command of a round runs",
    "The exit status names the signal, as for any other shell command",
)
def test_a_signal_in_the_last_command_is_told_by_the_status_of_a_single_round(desk: Desk, number: int) -> None:
    desk.begun()
    desk.answer(running(": > begun; sleep 1000"))
    with desk.start("once") as process:
        until((desk.root / "begun").exists)
        process.send_signal(number)
        done = desk.cli.finish(process)
    assert (done.status, done.stderr) == (128 + number, "")
    assert done.records[-1]["text"] == "Stopped. To continue, use `mailbox resume`."
    assert Survivors(desk.root).now() == []


@pytest.mark.rule("I5")
@pytest.mark.fault(
    "mailbox",
    "A user saves the outbox as the answer",
    "The mailbox reports an error and executes none of the examples in it",
)
def test_an_outbox_is_no_answer(desk: Desk) -> None:
    desk.begun()
    (desk.root / "src").mkdir()
    (desk.root / "src" / "old.py").write_text("kept")
    desk.answer(file_of("before"), desk.outbox(1).replace("\n", "\r\n"), done_with("Fine."))
    done = desk.run("once")
    [refused] = [record["result"] for record in done.records if record["type"] == "result"]
    assert refused["command"] == "ANSWER"
    assert "the answer contains the text of an outbox" in refused["summary"]
    assert sorted(path.name for path in desk.root.rglob("*")) == ["old.py", "src"]
    assert desk.state["isComplete"] is False
    # What a model says of the protocol, without what stands around it there, is an answer.
    desk.answer(file_of("notes.md", *INSTRUCTIONS.replace("[", "(").split("\n")), done_with("Noted."))
    assert desk.run("once").status == 0
    assert (desk.root / "notes.md").exists()


@pytest.mark.rule("I17")
@pytest.mark.parametrize("command", ["true", "echo oops >&2", "cat >/dev/null; printf ' \\n'"])
@pytest.mark.fault("mailbox", "The answering command writes no answer", "The mailbox stops and does not ask again")
def test_a_command_that_writes_nothing_has_not_answered(desk: Desk, command: str) -> None:
    done = desk.run("start", "--answer", command, "Make it work.")
    assert done.status == 1
    assert done.complaint == "the answering command wrote nothing to its standard output"
    assert kinds(done) == ["outbox", "waiting"]
    assert list((desk.mailbox / "inbox").iterdir()) == []


@pytest.mark.rule("I17")
def test_a_working_directory_that_is_gone_is_told(desk: Desk) -> None:
    desk.begun()
    gone = desk.cli.directory / "gone"
    gone.mkdir()
    program = ("/bin/sh", "-c", f'cd {gone}; rmdir {gone}; exec "$@"', "sh", *ADAPTER)
    with desk.cli.start(*desk.words("once", "--answer", DONE), program=program) as process:
        done = desk.cli.finish(process)
    assert done.status == 1
    assert done.complaint == "the working directory does not exist any more. Change to another one"


@pytest.mark.parametrize("action", ["status", "once", "start"])
def test_a_path_to_a_mailbox_that_leads_nowhere_is_told(desk: Desk, action: str) -> None:
    desk.mailbox = desk.cli.directory / ("x" * 300)
    done = desk.run(action, *(["Make it work."] if action == "start" else []))
    assert (done.status, done.stdout) == (1, b"")
    assert done.complaint.endswith("(File name too long)")


@pytest.mark.rule("I12")
def test_a_workspace_that_is_not_there_any_more_is_to_be_moved_back(desk: Desk) -> None:
    desk.begun()
    moved = desk.root.rename(desk.cli.directory / "moved")
    done = desk.run("once")
    assert done.status == 2
    told = "--mailbox: the workspace of its session: the directory does not exist. Move it back. "
    assert done.complaint.startswith(told)
    desk.root.symlink_to("/")
    done = desk.run("once")
    assert done.status == 2
    assert "was replaced by a link. Move the workspace back" in done.complaint
    desk.root.unlink()
    moved.rename(desk.root)
    assert desk.run("once").status == 75


@pytest.mark.rule("I13")
def test_an_answer_with_any_name_that_is_held_open_is_remarked(desk: Desk) -> None:
    desk.begun()
    name = os.fsdecode(b"\xff\x1b[2J\n.txt")
    answer = desk.answer(message("Hello.")).rename(desk.mailbox / "inbox" / name)
    with answer.open("r+b"), desk.start("resume") as process:
        told = "\ufffd\x1b[2J\n.txt is still open for writing in another program. Close it there"
        while until_record(process, "remark")["text"] != told:
            pass  # there may be no sandbox
        process.send_signal(signal.SIGTERM)
        assert desk.cli.finish(process).status == 143


@pytest.mark.rule("I17")
@pytest.mark.fault(
    "mailbox",
    "A person saves an answer under the file name that the answering command uses",
    "The mailbox executes both answers",
)
def test_an_answer_of_ours_is_put_over_nothing(desk: Desk) -> None:
    desk.begun()
    own = desk.mailbox / "inbox" / f"{desk.session}_seq0001.txt"
    (desk.cli.directory / "theirs").write_text(message("Theirs."))
    done = desk.run("once", "--answer", f"cp -p theirs {own}; printf '[MESSAGE]\\nOurs.\\n[/MESSAGE]\\n'")
    if kinds(done).count("message") == 1:  # one of them had rested long enough, and the other one had not
        done = done._replace(stdout=done.stdout + desk.run("once").stdout)
    assert [record["text"] for record in done.records if record["type"] == "message"] == ["Theirs.", "Ours."]
