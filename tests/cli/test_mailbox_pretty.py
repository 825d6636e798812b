"""Test the command `mailbox` for people: on a terminal, on the clipboard, and without optional packages."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from ..runtime.survivors import Survivors
from ..waiting import until
from .command import ADAPTER, Cli
from .mailbox_desk import Desk, Terminal, done_with, message, running, until_record
from .test_pretty import EVIL, bare

pytestmark = pytest.mark.rule("C12", "C7")
SHOWN, HIDDEN = "\x1b[?25h", "\x1b[?25l"
WITHOUT = "import sys; sys.modules |= dict.fromkeys({names}); from codex_adapter.cli import main; sys.exit(main())"


@pytest.fixture
def desk(cli: Cli) -> Desk:
    """A workspace and a mailbox."""
    return Desk(cli)


def without(*names: str) -> tuple[str, ...]:
    """The command where these are not installed."""
    return (ADAPTER[0], "-c", WITHOUT.format(names=list(names)))


@pytest.mark.rule("I11", "I16")
def test_a_terminal_shows_what_to_do_what_is_waited_for_and_what_came(desk: Desk) -> None:
    terminal = Terminal(desk, "start", "Make it work.")
    terminal.until("waiting for an answer in the inbox")
    outbox = desk.mailbox / "outbox" / f"{desk.session}_seq0001.txt"
    told = f"Copy the whole text of {outbox} to the model. Save its answer as a .txt file in {desk.mailbox / 'inbox'}"
    assert told in bare(terminal.shown)
    desk.answer(running("seq 20; exit 3"), running("echo fine"), message("Half\nway."))
    terminal.until("outbox 2")
    desk.answer(done_with("All done."))
    done = terminal.finish(desk.cli)
    assert (done.status, done.stderr) == (0, "")
    text = bare(terminal.shown).replace("\r\n", "\n")
    for expected in (
        "✗ RUN_COMMAND: ",
        "│ 20\n",
        "✓ RUN_COMMAND: ",
        "Half\nway.\n",
        "All done.\n",
        "✓ the task is complete\n",
    ):
        assert expected in text
    assert "│ 10\n" not in text
    assert "None" not in text
    assert re.search(r"\([0-9]+ s\)", text)
    assert terminal.shown.rindex(SHOWN) > terminal.shown.rindex(HIDDEN)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_whoever_is_killed_while_it_waits_leaves_the_cursor_to_be_seen(desk: Desk, number: int) -> None:
    terminal = Terminal(desk, "start", "Make it work.")
    terminal.until("waiting for an answer in the inbox")
    terminal.process.send_signal(number)
    assert terminal.finish(desk.cli).status == (143 if number == signal.SIGTERM else -9)
    last = "! Stopped. To continue, use `mailbox resume`.\r\n" if number == signal.SIGTERM else " s)"
    assert bare(terminal.shown).endswith(last)
    assert "None" not in terminal.shown
    assert terminal.shown.rindex(SHOWN) > terminal.shown.rindex(HIDDEN)


@pytest.mark.parametrize("more", [(), ("--format", "pretty")])
def test_what_a_model_says_is_text_to_the_terminal(desk: Desk, more: tuple[str, ...]) -> None:
    desk.begun()
    desk.answer(message(EVIL), running(f"printf '{EVIL}'; exit 1"), f'[DELETE_FILE path="{EVIL}"]\n', done_with(EVIL))
    terminal = Terminal(desk, "resume", *more)
    assert terminal.finish(desk.cli).status == 0
    assert "␛]0;title␇␛[31mred" in terminal.shown
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202e]|\x1b\]|\x1b\[2J", terminal.shown)


def test_without_rich_or_notifications_it_is_plain_lines_and_goes_on_all_the_same(desk: Desk) -> None:
    terminal = Terminal(desk, "start", "Make it work.", program=without("rich", "inotify_simple", "pyperclip"))
    terminal.until("Save its answer as a .txt file")
    desk.answer(done_with("All done."))
    assert terminal.finish(desk.cli).status == 0
    assert "All done.\r\n+ the task is complete\r\n" in terminal.shown
    assert "\x1b" not in terminal.shown


def test_elsewhere_than_on_a_terminal_text_is_to_be_asked_for(desk: Desk) -> None:
    desk.begun("--format", "pretty")
    done = desk.run("once", "--format", "pretty")
    assert done.status == 75
    assert b"  Copy the whole text of " in done.stdout


def test_each_outbox_is_copied_to_the_clipboard(desk: Desk) -> None:
    clip = desk.cli.directory / "clip"
    desk.program("wl-copy", f"cat > {clip}.new; mv {clip}.new {clip}")
    desk.program("wl-paste", "")
    desk.cli.env["WAYLAND_DISPLAY"] = "wayland-0"
    done = desk.run("start", "--no-wait", "--clipboard", "--format", "pretty", "Mäke it work.")
    assert (done.status, done.stderr) == (0, "")
    assert "Copy the clipboard, or the whole text of" in done.stdout.decode()
    assert clip.read_text() == desk.outbox(1)
    desk.answer(running("true"))
    assert desk.run("once", "--clipboard").status == 0
    assert clip.read_text() == desk.outbox(2)


@pytest.mark.fault("mailbox", "The machine has no clipboard", "The mailbox emits a remark and continues")
@pytest.mark.parametrize(
    ("program", "told"),
    [
        (ADAPTER, "The outbox is not on the clipboard. Install wl-clipboard, xclip or xsel, or copy the file."),
        (
            without("pyperclip"),
            "Outboxes are not copied to the clipboard: packages are missing. "
            "Install them: pip install 'inotify-simple>=2.0' 'markdown-it-py>=3.0' 'pyperclip>=1.9' 'rich>=13.7'",
        ),
    ],
)
def test_without_a_clipboard_it_is_remarked_and_the_work_goes_on(
    desk: Desk, program: tuple[str, ...], told: str
) -> None:
    done = desk.cli.finish(desk.start("start", "--no-wait", "--clipboard", "Hi.", program=program))
    assert (done.status, done.stderr) == (0, "")
    assert told in [record.get("text") for record in done.records]


def test_who_gives_the_clipboard_away_stays_behind_and_holds_no_output_of_ours(desk: Desk) -> None:
    desk.program("wl-copy", "cat > /dev/null; sleep 1000 &")
    desk.program("wl-paste", "")
    desk.cli.env["WAYLAND_DISPLAY"] = "wayland-0"
    done = desk.run("start", "--no-wait", "--clipboard", "Make it work.")
    behind = Survivors(desk.cli.directory)
    assert [process.argv for process in behind.now()] == ["sleep 1000 "]
    behind.kill()
    assert (done.status, done.stderr) == (0, "")


@pytest.mark.fault(
    "mailbox", "The clipboard program hangs", "The mailbox continues, and ends the program when the mailbox exits"
)
def test_a_clipboard_that_hangs_holds_nothing_up(desk: Desk) -> None:
    desk.program("wl-copy", f": > {desk.cli.directory}/copying; sleep 1000")
    desk.program("wl-paste", "")
    desk.cli.env["WAYLAND_DISPLAY"] = "wayland-0"
    with desk.start("start", "--clipboard", "Make it work.") as process:
        until_record(process, "waiting")
        until((desk.cli.directory / "copying").exists)
        process.send_signal(signal.SIGTERM)
        assert desk.cli.finish(process).status == 143
    assert Survivors(desk.cli.directory).now() == []


def test_a_workspace_cannot_give_the_clipboard_a_program_of_its_own(desk: Desk) -> None:
    mark = desk.cli.directory / "mark"
    (desk.root / "pyperclip.py").write_text(f"open({str(mark)!r}, 'w')")
    script = Path(ADAPTER[0]).with_name("codex-adapter")
    words = desk.words("start", "--no-wait", "--clipboard", "Hi.")
    desk.cli.finish(desk.cli.start(*words, program=(os.fspath(script),), cwd=desk.root))
    assert not mark.exists()
