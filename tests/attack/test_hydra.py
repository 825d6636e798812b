"""Test that a run ends chains of processes that replace each other, on a machine with many processes."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.containment.guard_client import Guarded
from codex_adapter.runtime.containment.marks import new_mark

from ..needs import missing
from ..runtime.survivors import Survivors

pytestmark = [pytest.mark.rule("K4", "N2"), pytest.mark.attack]

CHAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* CHAINS MICROSECONDS SESSION: so many processes, each of which a child replaces after this time, for 8 seconds. */
int main(int count, char **words) {
    time_t end = time(NULL) + 8;
    struct timespec life = {0, atol(words[2]) * 1000};
    for (int chain = atoi(words[1]); chain > 0; chain--)
        if (fork() == 0) {
            while (time(NULL) < end) {
                if (atoi(words[3])) setsid();
                nanosleep(&life, NULL);
                if (fork()) _exit(0);
            }
            _exit(0);
        }
    puts("up");
    fflush(stdout);
    sleep(60);
}
"""


@pytest.fixture
def crowd() -> Iterator[None]:
    """A thousand other processes, so that to read all of /proc takes long."""
    leader = os.fork()
    if leader == 0:
        os.setpgid(0, 0)
        for _ in range(1000):
            if os.fork() == 0:
                break
        signal.alarm(60)  # whatever becomes of the test
        signal.pause()
        os._exit(0)
    time.sleep(0.5)
    yield
    os.killpg(leader, signal.SIGKILL)
    os.waitpid(leader, 0)


@pytest.fixture
def survivors(tmp_path: Path) -> Iterator[Survivors]:
    found = Survivors(tmp_path)
    yield found
    found.kill()


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("microseconds", [100, 400, 2000])
@pytest.mark.parametrize("session", [0, 1])
async def test_a_hydra_is_ended_with_its_run(
    tmp_path: Path, survivors: Survivors, microseconds: int, session: int
) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        missing("gcc")
    (tmp_path / "hydra.c").write_text(CHAIN)
    await trio.run_process([compiler, "-O1", "-o", f"{tmp_path}/hydra", f"{tmp_path}/hydra.c"])
    up, output = os.pipe()
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        contained = await Containment(allowed=["guard"]).start(
            ["/usr/bin/env", "-i", f"{tmp_path}/hydra", "12", str(microseconds), str(session)],
            env=survivors.env,
            cwd=str(tmp_path),
            pipes=[nothing.fileno(), output, nothing.fileno()],
            mark=new_mark(),
        )
    os.close(output)
    await trio.to_thread.run_sync(os.read, up, 100)
    os.close(up)
    begun = time.monotonic()
    await contained.aclose()
    assert time.monotonic() - begun < 1.0
    assert isinstance(contained, Guarded)
    assert contained._process.returncode == 0
    assert survivors.now() == []
