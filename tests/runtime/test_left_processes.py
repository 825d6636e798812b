"""Test processes that SIGKILL does not end: those of other users, and those that sleep in the kernel."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from codex_adapter import RunRequest
from codex_adapter.agents.codex.backend import CodexBackend
from codex_adapter.runtime.containment.containment import Containment, Level
from codex_adapter.testing import PrintJson, WaitFor
from codex_adapter.testing.thread_lines import thread_started

from ..faults.circumstances import STRANGER, needs, other_user
from ..needs import missing
from ..waiting import until
from .agents import config
from .survivors import Living, Survivors
from .test_containment_limits import PROGRAM

pytestmark = pytest.mark.rule("N1", "N2", "K4")

AGENT = """#!/bin/sh
[ "$1" = --version ] && exit
cat >/dev/null
%s &
until grep -q '^Uid:.0' /proc/$!/status; do :; done
env -i setsid sleep 1001 &
setsid sleep 1002 &
echo '{"type":"thread.started","thread_id":"01a20018-057d-7ce3-b0c7-a173a1ba2c6a"}'
%s
"""


def stranger() -> tuple[str, ...]:
    """As another user, whose root may become that user again."""
    *words, bounding_set = other_user()
    return (*words, f"{bounding_set},+setuid")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory for any user."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def survivors(place: Path) -> Iterator[Survivors]:
    found = Survivors(place)
    yield found
    found.kill()


@pytest.fixture
def as_root(place: Path) -> str:
    """Words that run a program as root for any user, as sudo does."""
    if os.geteuid() != 0:
        missing("root")
    needs(stranger())
    program = shutil.copy(shutil.which("setpriv") or "setpriv", place / "asroot")
    Path(program).chmod(0o4755)
    words = [*stranger(), program, "--reuid=0", "--", "id", "-ru"]
    if subprocess.run(words, check=False, capture_output=True).stdout != b"0\n":
        missing("system")
    return f"{program} --reuid=0 --"


@contextmanager
def run_of_a_stranger(place: Path, survivors: Survivors, agent: str) -> Iterator[subprocess.Popen[str]]:
    """An adapter of another user at the level `guard`, whose agent has said something."""
    binary = place / "codex"
    binary.write_text(agent)
    binary.chmod(0o755)
    words = [*stranger(), sys.executable, str(PROGRAM), str(binary), str(place), "guard", ""]
    with subprocess.Popen(words, stdin=-1, stdout=-1, stderr=-1, text=True, cwd="/") as adapter:
        try:
            assert adapter.stdin is not None
            assert adapter.stdout is not None
            adapter.stdin.write(json.dumps(survivors.env))
            adapter.stdin.close()
            adapter.stdin = None
            assert adapter.stdout.readline() == "started guard\n"
            yield adapter
        finally:
            adapter.kill()


def user(process: Living) -> int:
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(text.partition("Uid:")[2].split()[0])


@pytest.mark.fault(
    "signals", "A process of the run belongs to root, as with sudo", "The adapter kills all others and logs this one"
)
def test_one_process_of_root_saves_no_other_at_the_end_of_a_run(
    place: Path, as_root: str, survivors: Survivors
) -> None:
    with run_of_a_stranger(place, survivors, AGENT % (f"{as_root} sleep 1000", "exit 3")) as adapter:
        said, errors = adapter.communicate(timeout=60)
        assert said == "exit status: 3\n"
        [left] = survivors.now()
        assert (left.argv, user(left)) == ("sleep 1000 ", 0)
        assert f"SIGKILL did not end 1 of a run's processes: {left.pid} 'sleep' (user 0, state S)\n" in errors


@pytest.mark.rule("E4")
def test_one_process_of_root_saves_no_other_when_the_adapter_is_killed(
    place: Path, as_root: str, survivors: Survivors
) -> None:
    # What root has started may start a process of the user again, which is the run's too.
    command = f"{as_root} sh -c 'setpriv --reuid={STRANGER} env -i sleep 1003 & exec sleep 1000'"
    with run_of_a_stranger(place, survivors, AGENT % (command, "exec sleep 1004")) as adapter:
        until(lambda: "sleep 1003 " in {process.argv for process in survivors.now() if user(process) == STRANGER})
        adapter.kill()
        until(lambda: {process.argv for process in survivors.now()} == {"sleep 1000 "})


@pytest.mark.fault("signals", "An agent with the guard's user id tries to trace the guard", "The kernel refuses it")
def test_an_agent_cannot_trace_its_guard(place: Path, as_root: str, survivors: Survivors) -> None:
    del as_root
    trace = "import ctypes, os; print(ctypes.CDLL(None).ptrace(0x4206, os.getppid(), 0, 0))"
    agent = AGENT.partition("%s")[0] + f'exec {sys.executable} -c "{trace}" >traced\n'
    agent = agent.replace("cat >", 'echo \'{"type":"thread.started","thread_id":"t"}\'\ncat >')
    with run_of_a_stranger(place, survivors, agent) as adapter:
        adapter.communicate(timeout=60)
    assert (place / "traced").read_text() == "-1\n"


@contextmanager
def dead_file_system(path: Path) -> Iterator[int]:
    """A mounted file system that answers nothing; the descriptor at which its requests arrive."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        missing("root")
    libc = ctypes.CDLL(None, use_errno=True)
    path.mkdir()
    requests = os.open("/dev/fuse", os.O_RDWR)
    try:
        options = f"fd={requests},rootmode=40000,user_id=0,group_id=0".encode()
        if libc.mount(b"dead", bytes(path), b"fuse", 0, options) != 0:
            pytest.skip(f"this machine lets us mount nothing: {os.strerror(ctypes.get_errno())}")
        unique = struct.unpack_from("=IIQ", os.read(requests, 1 << 17))[2]
        answer = struct.pack("=IIIIHHII", 7, 31, 4096, 0, 1, 1, 4096, 1).ljust(64, b"\0")
        os.write(requests, struct.pack("=IiQ", 16 + len(answer), 0, unique) + answer)
        yield requests
    finally:
        os.close(requests)
        libc.umount2(bytes(path), 2)


@pytest.mark.fault(
    "signals",
    "A process of the run sleeps in the kernel, where SIGKILL does not end it",
    "The run ends and the adapter logs the process",
)
async def test_a_process_that_sigkill_does_not_end_is_logged(
    place: Path, level: Level, survivors: Survivors, caplog: pytest.LogCaptureFixture
) -> None:
    dead = place / "dead"
    with dead_file_system(dead) as requests, trio.fail_after(60):
        settings = config(place, PrintJson(thread_started()), WaitFor(str(place / "asked")))
        binary = Path(settings.binary or "")
        original = binary.rename(place / "agent")
        binary.write_text(f'#!/bin/sh\n[ "$1" = --version ] || cat {dead}/x >/dev/null 2>&1 &\nexec {original} "$@"\n')
        binary.chmod(0o755)
        backend = CodexBackend(settings, containment=Containment(allowed=(level,)))
        async with backend.open_run(RunRequest(prompt="x", env=survivors.env)) as run:
            await run.events.receive()
            # From its request on it waits for the answer.
            await trio.to_thread.run_sync(os.read, requests, 1 << 17, abandon_on_cancel=True)
            (place / "asked").touch()
            await run.events.aclose()
            await run.wait_completed()
        [left] = survivors.now()
        [message] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        # The first process of a namespace waits for the others.
        assert re.match(r"SIGKILL did not end [12] of a run's processes: ", message)
        assert f"{left.pid} 'cat' (user 0, state D)" in message
        assert str(place) not in message
    assert survivors.soon() == []
