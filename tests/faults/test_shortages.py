"""Test shortages of descriptors, processes, threads and pipes during the start of a run."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codex_adapter import (
    BackendError,
    RunRequest,
    SpawnError,
)
from codex_adapter.agents.codex.backend import CodexBackend
from codex_adapter.runtime.containment.containment import Containment, Level
from codex_adapter.testing import (
    Exit,
    ReadPrompt,
)

from ..attack.commands import Trial, demo, doctor, turn
from ..attack.scene import scene_in
from ..cli.command import ADAPTER, Cli
from ..needs import missing
from ..runtime.agents import WHOLE_TURN, backend, config
from .circumstances import after, limited, needs, other_user
from .leftovers import cgroups
from .ordinary import IO, SPAWN, script

PLAIN = '#!/bin/sh\ncat >prompt\nyes \'{"type":"turn.started"}\' | head -n 20000\nexit 3\n'
"""A program of the system alone, which every user may execute; it prints more than a small pipe holds."""


@contextmanager
def only(descriptors: int) -> Iterator[None]:
    """No more than so many descriptors for this process, one after the other from the lowest number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.rule("S6", "X2", "K4")
@pytest.mark.fault(
    "spawning",
    "Each descriptor that a start opens fails with EMFILE in turn",
    "The adapter raises BackendError and leaves no descriptor, process, temporary file or cgroup",
)
async def test_descriptors_that_run_out_anywhere_in_a_start_leave_nothing(
    tmp_path: Path, level: Level, nothing_left: None
) -> None:
    runs = backend(level, config(tmp_path, *WHOLE_TURN))
    request = RunRequest(prompt="x", extensions={"backend.codex.output_schema": {}})

    async def one() -> BackendError | None:
        try:
            async with runs.open_run(request) as run:
                await run.events.aclose()
                assert (await run.wait_completed()).final_text == "done"
        except BackendError as error:
            return error
        return None

    assert await one() is None
    grouped = cgroups()
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    # Up to the first limit at which four runs in a row find what they need.
    outcomes: list[BackendError | None] = []
    for limit in range(3, highest + 64):
        runs = backend(level, config(tmp_path, *WHOLE_TURN))
        with only(limit):
            outcomes.append(await one())
        assert cgroups() == grouped
        if outcomes[-4:] == [None] * 4:
            break
    failures = [error for error in outcomes if error is not None]
    assert outcomes[-1] is None
    assert len(failures) >= 6
    assert {error.failure for error in failures} <= {"spawn", "io"}
    assert not any(isinstance(error, SpawnError) and error.not_found for error in failures)


@pytest.mark.rule("N1", "N3")
@pytest.mark.fault(
    "spawning",
    "Descriptors run out and later become available",
    "No containment level is dropped; the next run uses the best level",
)
async def test_a_shortage_that_passes_costs_no_level(tmp_path: Path, nothing_left: None) -> None:
    settings = config(tmp_path, *WHOLE_TURN)
    first, containment = Containment(), Containment()
    async with CodexBackend(settings, containment=first).open_run(RunRequest(prompt="x")) as run:
        await run.events.aclose()
    runs = CodexBackend(settings, containment=containment)
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    for limit in range(highest, highest + 16):
        with only(limit), contextlib.suppress(BackendError):
            async with runs.open_run(RunRequest(prompt="x")) as run:
                await run.events.aclose()
    async with runs.open_run(RunRequest(prompt="x")) as run:
        await run.events.aclose()
    assert containment.level == first.level


@pytest.mark.rule("S6", "E1", "W3")
@pytest.mark.fault(
    "spawning",
    "The user's process limit (EAGAIN) allows from zero up to enough processes or threads",
    "The run succeeds, or fails with a typed error and a completion, without a hang",
)
def test_processes_that_run_out_anywhere_in_a_start_are_a_typed_failure(public_cli: Cli) -> None:
    needs(other_user())
    words = ("run", "--codex", str(script(public_cli.directory / "codex", "#!/bin/sh\nexit 3\n")), "Hi.")
    done = []
    for limit in (1, 2, 3, 4, 6, 8, 12):
        program = (*other_user(), *after(f"resource.setrlimit(resource.RLIMIT_NPROC, ({limit}, {limit}))"), *ADAPTER)
        done.append(public_cli.run(*words, program=program))
    assert {run.status for run in done} <= {3, 125, 126}
    assert done[-1].status == 3
    for run in done:
        assert run.completion["outcome"] == ("completed" if run.status == 3 else "failed")
        assert run.status == 3 or run.completion["error"]["message"] in (SPAWN, IO)
        assert "Internal error" not in run.stderr


FULL_ACCOUNT = """
import fcntl, errno
while True:
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    try:
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        break
"""
"""Make pipes until this user may have no larger one, and keep them."""


@pytest.mark.rule("S6", "D4")
@pytest.mark.fault("spawning", "The user may not enlarge pipes (EPERM)", "The run continues with smaller pipes")
def test_a_pipe_that_cannot_be_made_larger_is_no_failure(public_cli: Cli) -> None:
    needs(other_user())
    if int(Path("/proc/sys/fs/pipe-user-pages-soft").read_text()) == 0:
        missing("system")
    words = ("run", "--codex", str(script(public_cli.directory / "codex", PLAIN)), "Hi.")
    done = public_cli.run(*words, program=(*other_user(), *after(FULL_ACCOUNT), *ADAPTER))
    assert (done.status, done.stderr) == (3, "")
    assert len(done.records) == 20_002


@pytest.mark.rule("W3", "E1")
@pytest.mark.fault(
    "resources",
    "The address space has no room for a thread",
    "The run needs no thread, or fails with a typed error and its completion",
)
def test_no_room_for_a_thread_is_a_typed_failure_at_most(cli: Cli) -> None:
    # A thread needs as much address space as its stack may have.
    huge = limited("RLIMIT_STACK", 1 << 40)
    done = cli.run(
        "run",
        "--codex",
        cli.agent(ReadPrompt(), Exit(3)),
        "Hi.",
        program=(*huge, *limited("RLIMIT_AS", 512 * 1024 * 1024), *ADAPTER),
    )
    assert "Internal error" not in done.stderr
    if done.status != 3:
        assert done.status in (125, 126)
        assert done.completion["outcome"] == "failed"


@pytest.mark.rule("E1", "W3")
@pytest.mark.fault(
    "resources",
    "RLIMIT_NOFILE leaves the command almost no descriptors",
    "The command reports a typed error or one line that names the problem",
)
def test_a_command_without_descriptors_says_so(cli: Cli) -> None:
    words = ("run", "--codex", cli.agent(ReadPrompt(), Exit(3)), "Hi.")
    done = {
        limit: cli.run(*words, program=(*limited("RLIMIT_NOFILE", limit), *ADAPTER)) for limit in (7, 9, 12, 16, 64)
    }
    assert done[64].status == 3
    for run in list(done.values())[:-1]:
        assert run.status in (3, 125, 126)
        assert "Internal error" not in run.stderr
        assert "Traceback" not in run.stderr
        assert run.status == 3 or run.complaint
        assert run.status == 125 or run.completion


@pytest.mark.rule("C4", "X1")
@pytest.mark.parametrize("command", [doctor, turn, demo])
@pytest.mark.fault(
    "resources",
    "A command may start neither a thread nor a process",
    "One message names the problem; the command reports no internal error",
)
def test_a_command_without_a_thread_says_what_is_missing(command: Trial) -> None:
    with scene_in("pids_limit_1") as scene:
        done, right = command(scene)
        assert not right
        reason = "The system is out of resources (Resource temporarily unavailable)"
        assert done.stderr == f"codex-adapter: {reason}. Raise its limits, or try again later.\n"
        assert scene.left() == []
