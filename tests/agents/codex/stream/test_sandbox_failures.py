"""Test the hint for commands that the CLI's sandbox did not start; quoted output does not cause it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pytest

from codex_adapter.agents.codex.advice import ADVICE
from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.agents.codex.stream.sandbox_failures import was_started
from codex_adapter.events import Completion, Event, ExitStatus, HintNotice
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    error,
    file_change,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)

from ....rows import rows

SANDBOX_FAILED = "codex sandbox cannot start: commands fail"

pytestmark = pytest.mark.rule("F12")

DEBIAN: Final = (
    "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user "
    "namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.\n"
)
BUNDLED: Final = (
    "bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user "
    "namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'.\n"
)
PANIC: Final = (
    "\nthread 'main' panicked at linux-sandbox/src/linux_run_main.rs:30:9:\nerror running landlock: "
    "Sandbox(LandlockRestrict)\nstack backtrace:\nnote: Some details are omitted, run with `RUST_BACKTRACE=full` for a "
    "verbose backtrace.\n"
)
COMPLAINTS = {
    "0.47, no Landlock": ("failed in sandbox: " + PANIC, -1),
    "0.61 and 0.77, no Landlock": (PANIC, 101),
    "0.115 to 0.169, their own bubblewrap": (BUNDLED, 1),
    "0.125 to 0.169, that of Debian": (DEBIAN, 1),
    "0.163, on a terminal": (DEBIAN.replace("\n", "\r\n"), 1),
}
COMMAND = "/bin/bash -lc 'make test'"
NOTICE = HintNotice("sandbox_unavailable", ADVICE["sandbox_unavailable"])
EXITED = ExitStatus(code=0)

Lines = Sequence[dict[str, Any]]


def run(*lines: dict[str, Any], end: dict[str, Any] | None = None) -> tuple[list[Event], Completion]:
    """Return the events and the completion of a turn of these lines whose agent exits with 0."""
    pipeline = codex_pipeline()
    whole = [thread_started("t"), turn_started(), *lines, turn_completed() if end is None else end]
    events = pipeline.receive_data(msgspec.json.Encoder().encode_lines(whole)) + pipeline.receive_eof()
    assert [event.seq for event in events] == list(range(len(events)))
    return events, pipeline.completion(EXITED)


def refused(item_id: str = "i", command: str = COMMAND) -> dict[str, Any]:
    """Return the line of a command that the sandbox did not start."""
    return command_completed(item_id, command, DEBIAN, 1)


def notices(events: list[Event]) -> list[int]:
    """Return where the notices are."""
    return [event.seq for event in events if isinstance(event.data, HintNotice)]


@pytest.mark.rule("M8", "X2")
@pytest.mark.parametrize("release", COMPLAINTS)
def test_what_a_real_release_prints_gives_a_notice_and_the_hint(release: str) -> None:
    output, exit_code = COMPLAINTS[release]
    started, ended = command_started("i", COMMAND), command_completed("i", COMMAND, output, exit_code)
    events, completion = run(started, ended, agent_message("j", "Done."))
    assert events[4] == Event(4, "codex", "error", "error", None, SANDBOX_FAILED, NOTICE)
    assert events[3].kind == "tool_result"
    assert (completion.turn, completion.hint, completion.advice) == ("completed", NOTICE.hint, NOTICE.advice)


@pytest.mark.rule("F11", "W2")
def test_a_turn_none_of_whose_commands_was_started_is_not_ok() -> None:
    _, completion = run(refused(), agent_message("j", "Done."))
    assert (completion.turn, completion.status, completion.final_text) == ("completed", EXITED, "Done.")
    assert not completion.ok


def test_the_notice_is_given_once_and_after_its_command() -> None:
    events, completion = run(refused("a"), agent_message("m", "x"), refused("b"), refused("c"), agent_message("n", "y"))
    assert notices(events) == [3]
    assert completion.hint == "sandbox_unavailable"


@pytest.mark.rule("F11")
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("other", [command_completed("b", "ls", "x\n"), command_completed("b", "false", "", 1)])
def test_one_command_that_was_started_takes_it_back(other: dict[str, Any], *, first: bool) -> None:
    events, completion = run(*([other, refused("a")] if first else [refused("a"), other]))
    assert notices(events) == ([] if first else [3])
    assert (completion.hint, completion.ok) == (None, True)


@rows(
    ("command", "output", "exit_code"),
    [
        ("cat notes", DEBIAN, 0),
        ("cat notes; false", f"note\n{DEBIAN}", 1),
        ("make", f"{DEBIAN}make: *** [all] Error 1\n", 1),
        ("cat notes; exit 2", DEBIAN, 2),
        ("cat notes; exit 101", f"it said {PANIC}", 101),
        ("cat notes; false", "bwrap: " + "x" * 2000, 1),
        ("cat notes; false", "bwrap: ", 1),
        ("kill -9 $$", "failed in sandbox: sandbox error: command was killed by a signal", -1),
        (f"echo '{DEBIAN.strip()}'; false", DEBIAN, 1),
        ("bwrap --ro-bind / / true", DEBIAN, 1),
        ("target/debug/codex-linux-sandbox true", PANIC, 101),
    ],
)
def test_a_command_that_quotes_the_complaint_gives_none(command: str, output: str, exit_code: int) -> None:
    events, completion = run(command_completed("a", command, output, exit_code))
    assert notices(events) == []
    assert (completion.hint, completion.ok) == (None, True)


@pytest.mark.parametrize("command", ["which bwrap", "bwrap --version"])
def test_a_command_about_bubblewrap_proves_nothing(command: str) -> None:
    _, completion = run(refused("a"), refused("b", command), refused("c"))
    assert completion.hint == "sandbox_unavailable"
    assert was_started(command, DEBIAN, 1) is None


def test_a_command_without_a_status_and_other_tools_prove_nothing() -> None:
    declined = {"type": "command_execution", "command": "x", "aggregated_output": "", "status": "declined"}
    lines = [{"type": "item.completed", "item": {"id": "d", **declined}}, file_change("f", {"a": "add"})]
    _, completion = run(*lines, refused(), *lines)
    assert completion.hint == "sandbox_unavailable"


def test_the_cli_s_own_error_goes_before_it() -> None:
    limited = "exceeded retry limit, last status: 429 Too Many Requests"
    for message, hint in ((limited, "rate_limited"), ("who knows", "sandbox_unavailable")):
        _, completion = run(refused(), error(message), end=turn_failed(message))
        assert (completion.turn, completion.hint) == ("failed", hint)


@pytest.mark.rule("K6")
def test_an_agent_that_lingered_keeps_it() -> None:
    pipeline = codex_pipeline()
    lines = [thread_started("t"), turn_started(), refused(), turn_completed()]
    pipeline.receive_data(msgspec.json.Encoder().encode_lines(lines))
    assert pipeline.completion(ExitStatus(code=1), lingered=True).hint == "sandbox_unavailable"


@pytest.mark.rule("L5")
@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_the_notice_does_not_depend_on_the_cuts(size: int) -> None:
    lines = [turn_started(), refused("a"), thread_started("t"), refused("b"), turn_completed()]
    data = msgspec.json.Encoder().encode_lines(lines)
    pipeline = codex_pipeline(full_payloads=True)
    whole = pipeline.receive_data(data) + pipeline.receive_eof()
    again = codex_pipeline(full_payloads=True)
    parts = [event for at in range(0, len(data), size) for event in again.receive_data(data[at : at + size])]
    assert parts + again.receive_eof() == whole
    assert [event.seq for event in whole] == list(range(len(whole)))
    assert len(notices(whole)) == 1
