"""Test commands: their exit code and output, and that no process survives the call."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import trio

from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.workspace import Workspace, WorkspaceError
from codex_adapter.workspace.commands import run_command

from ..faults.leftovers import descriptors
from ..needs import has_no_such_case
from ..runtime.survivors import Survivors
from ..waiting import SOON
from .shells import Shell


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", 0),
        ("", 0),
        ("exit 3", 3),
        ("exit 255", 255),
        ("no-such-program-at-all", 127),
        ("-c", 127),
        ("kill -TERM $$", 128 + 15),
        ("kill -KILL $$", 128 + 9),
        ("kill -SEGV $$", 128 + 11),
        ("exit 124", 124),
        ("'", 2),
    ],
)
async def test_the_exit_code_is_the_shells_or_tells_the_signal(shell: Shell, command: str, code: int) -> None:
    result = await shell(command)
    assert (result.exit_code, result.timed_out) == (code, False)


@pytest.mark.rule("H8")
async def test_both_outputs_are_told_apart_and_in_full(shell: Shell) -> None:
    result = await shell("echo out; echo err >&2; printf '\\377'; exit 1")
    assert (result.stdout.head, result.stderr.head, result.exit_code) == (b"out\n\xff", b"err\n", 1)
    assert result.stdout.text() == "out\n\ufffd"


@pytest.mark.rule("H8")
async def test_there_is_nothing_to_read_and_no_terminal(shell: Shell) -> None:
    script = 'cat; read line || echo end; test -t 0 || echo none; readlink /proc/self/fd/0; tty; sh -c ": </dev/tty"'
    result = await shell(script)
    assert result.stdout.text() == "end\nnone\n/dev/null\nnot a tty\n"
    assert result.exit_code != 0


@pytest.mark.rule("H8")
async def test_a_command_has_three_descriptors(shell: Shell) -> None:
    leak = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        listed = await shell.output("ls /proc/$$/fd")
    finally:
        os.close(leak)
    assert listed.split() == ["0", "1", "2"]


@pytest.mark.rule("H8")
async def test_an_output_is_the_same_whatever_its_length(shell: Shell) -> None:
    result = await shell("seq 300000; seq 5 >&2", keep=10_000_000)
    assert result.stdout.text() == "".join(f"{number}\n" for number in range(1, 300001))
    assert result.stderr.text() == "1\n2\n3\n4\n5\n"


@pytest.mark.rule("H11")
async def test_the_middle_of_a_long_output_is_left_out_and_counted(shell: Shell) -> None:
    whole = "".join(f"{number}\n" for number in range(1, 300001))
    result = await shell("seq 300000; seq 300000 >&2", keep=100)
    for captured in (result.stdout, result.stderr):
        assert captured.text() == f"{whole[:50]}\n[... {len(whole) - 100} bytes left out ...]\n{whole[-50:]}"


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    "left",
    [
        "sleep 61 &",
        "(setsid sh -c 'sleep 61 & exec sleep 62' &)",
        "nohup sleep 61 >/dev/null 2>&1 </dev/null &",
        "(trap '' TERM INT HUP; sleep 61) &",
        "yes &",
        "(exec >&- 2>&-; sleep 61) &",
        "(cd /; exec env -i sleep 61) &",
        "i=0; while [ $i -lt 60 ]; do sleep 61 & i=$((i+1)); done",
        "(while :; do sleep 61 & sleep 0.01; done) &",
        "sh -c 'kill -STOP $$' &",
    ],
    ids=lambda left: left[:25],
)
@pytest.mark.fault(
    "workspace",
    "Background jobs, daemons and stopped or signal-ignoring processes hold a command's output",
    "The call returns with the shell, and none of them survives",
)
async def test_nothing_outlives_the_shell_and_the_call_does_not_wait_for_it(held: Shell, left: str) -> None:
    # On stderr: what `yes` prints may push a line out of the middle of stdout.
    result = await held(f"{left}\necho done >&2")
    assert (result.exit_code, result.timed_out, result.duration_ms < SOON * 1000) == (0, False, True)
    assert "done" in result.stderr.text()


@pytest.mark.rule("H8")
@pytest.mark.fault("workspace", "A command exits while its children print", "The call returns all output so far")
async def test_what_was_printed_before_the_end_is_told(shell: Shell) -> None:
    # A pipe's worth: it is written without anybody reading it.
    result = await shell(
        "(head -c 60000 /dev/zero | tr '\\0' x; touch written; sleep 61) & until [ -e written ]; do :; done"
    )
    assert result.stdout.head == b"x" * 60000


@pytest.mark.rule("H8")
async def test_a_command_may_close_its_outputs_and_go_on(shell: Shell, root: Path) -> None:
    result = await shell("echo first; exec >&- 2>&- <&-; sleep 0.1; touch later; exit 4")
    assert (result.exit_code, result.stdout.text(), (root / "later").exists()) == (4, "first\n", True)


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    "endless",
    [
        "yes & yes >&2 & wait",
        "trap '' TERM INT HUP; while :; do sleep 61; done",
        "kill -STOP $$",
        "exec >&- 2>&-; sleep 61",
        "setsid sleep 61 & sleep 62",
        "while :; do sleep 61 & sleep 0.01; done",
    ],
)
@pytest.mark.fault(
    "workspace",
    "A command sleeps, prints forever, ignores signals, stops itself or forks without end",
    "The exit code at the time limit is 124, and no process survives",
)
async def test_a_command_is_killed_at_its_time_limit(held: Shell, endless: str) -> None:
    result = await held(f"echo first; {endless}", timeout=0.2, keep=1000)
    assert (result.exit_code, result.timed_out) == (124, True)
    assert 190 <= result.duration_ms < SOON * 1000
    # Where the machine has so much else to do that not even the shell was reached, there is nothing to be told.
    assert result.stdout.head.startswith(b"first\n") or result.stdout.head == b""


@pytest.mark.rule("H9")
async def test_a_limit_that_passes_while_a_command_is_being_started_is_a_time_out_too(shell: Shell) -> None:
    result = await shell("sleep 61", timeout=0.0)
    assert (result.exit_code, result.timed_out, result.stdout.text()) == (124, True, "")


@pytest.mark.rule("H8")
@pytest.mark.fault("workspace", "A caller cancels the call while a command runs", "No process of the command survives")
async def test_cancelling_the_call_kills_everything(held: Shell, survivors: Survivors, root: Path) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(held, "setsid sleep 61 & touch running; yes")
        while not (root / "running").exists():  # noqa: ASYNC110 - the command says so by a file
            await trio.sleep(0.01)
        assert survivors.now() != []
        nursery.cancel_scope.cancel()
    assert survivors.now() == []


@pytest.mark.rule("H8", "N2")
@pytest.mark.parametrize("delay", [0.0, 0.005, 0.02, 0.03, 0.04, 0.06])
async def test_a_call_can_be_cancelled_at_any_moment(held: Shell, delay: float) -> None:
    with trio.move_on_after(delay) as scope:
        await held("setsid sleep 61 & sleep 62")
    assert scope.cancelled_caught


@pytest.mark.rule("H8")
@pytest.mark.fault(
    "workspace",
    "A command kills its parent",
    "It continues in a namespace; otherwise the call reports that its exit status is lost",
)
async def test_a_command_that_kills_its_parent_harms_nobody_else(held: Shell) -> None:
    if held.containment._ways[0][0] == "process_group":
        has_no_such_case("the parent is this very process, and there is nothing between the two")
    try:
        result = await held("setsid sleep 61 & kill -KILL $PPID; echo on; exit 3")
    except WorkspaceError as error:
        assert (error.code, error.system) == ("io", True)  # noqa: PT017
    else:
        assert (result.exit_code, result.stdout.text()) == (3, "on\n")


@pytest.mark.rule("H8")
async def test_commands_that_run_at_once_do_not_disturb_each_other(shell: Shell) -> None:
    results = {}

    async def one(number: int) -> None:
        results[number] = await shell(f"echo {number}; (sleep 61 &); sleep 0.1; exit {number}")

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(one, number)
    assert {number: (result.exit_code, result.stdout.text()) for number, result in results.items()} == {
        number: (number, f"{number}\n") for number in range(5)
    }


@pytest.mark.rule("H8")
@pytest.mark.fault("workspace", "An unrelated process holds a command's output open", "The call still returns")
async def test_an_output_that_somebody_else_holds_does_not_hold_up_the_call(bare: Shell, root: Path) -> None:
    before = descriptors()
    results = []

    async def command() -> None:
        results.append(await bare("touch running; until [ -e taken ]; do sleep 0.01; done; exit 5"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(command)
        while not (root / "running").exists():  # noqa: ASYNC110 - the command says so by a file
            await trio.sleep(0.01)
        # Whoever may look at this process's descriptors can write where it reads.
        pipes = [number for number, what in descriptors().items() if number not in before and what.startswith("pipe:")]
        held = [os.open(f"/proc/self/fd/{number}", os.O_WRONLY) for number in pipes]
        (root / "taken").touch()
    for descriptor in held:
        os.close(descriptor)
    assert held
    assert results[0].exit_code == 5
    assert results[0].duration_ms < SOON * 1000


@pytest.mark.rule("H6", "H8")
@pytest.mark.fault(
    "workspace",
    "The required containment level is unavailable for a command",
    "The call raises a system error that names the next step",
)
async def test_a_level_that_cannot_be_had_is_a_system_error(workspace: Workspace) -> None:
    containment = Containment("cgroup", allowed=("process_group",))
    with pytest.raises(WorkspaceError, match="doctor") as caught:
        await run_command(workspace, "true", timeout=5, sandbox=None, containment=containment)
    assert caught.value.system


@pytest.mark.rule("H8")
async def test_without_a_containment_of_its_own_each_command_has_one(workspace: Workspace) -> None:
    result = await run_command(workspace, "kill -TERM $$", timeout=60, sandbox=None)
    assert result.exit_code == 128 + signal.SIGTERM


@pytest.mark.rule("H9")
async def test_the_duration_is_wall_clock(bare: Shell) -> None:
    before = time.monotonic()
    result = await bare("sleep 0.2")
    assert 200 <= result.duration_ms <= (time.monotonic() - before) * 1000 + 1
