"""Test the kill of a daemon while many agents exit, without namespaces and cgroups."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..daemon.workshop import Workshop
from ..needs import missing
from ..runtime.test_containment_limits import NO_CGROUPS, NO_NAMESPACES
from ..waiting import until

pytestmark = [pytest.mark.rule("N1", "N2", "J11"), pytest.mark.attack]

RUNS = 40
AGENT = """#!/bin/sh
cat >/dev/null
env -i setsid sleep 1000 >/dev/null 2>&1 &
setsid sleep 1000 >/dev/null 2>&1 &
echo '{"type":"thread.started","thread_id":"01a20018-057d-7ce3-b0c7-a173a1ba2c6a"}'
: <go
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    if subprocess.run(["unshare", "-Urm", "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        missing("namespaces")
    shop = Workshop(tmp_path)
    shop.command = ["unshare", "-Urm", "sh", "-c", 'W && exec "$@"', "sh", *shop.command]
    yield shop
    shop.abandon()


@pytest.mark.parametrize("instant", [None, 0.0, 0.05, 0.1, 0.15])
@pytest.mark.parametrize(
    ("without", "level"), [(f"{NO_CGROUPS} && {NO_NAMESPACES}", "guard"), (NO_NAMESPACES, "cgroup")]
)
def test_no_run_of_a_daemon_that_is_killed_while_agents_exit_leaves_a_process(
    workshop: Workshop, without: str, level: str, instant: float | None
) -> None:
    workshop.command[4] = workshop.command[4].replace("W", without)
    agent = workshop.program("agent", AGENT)
    os.mkfifo(workshop.directory / "go")
    daemon = workshop.daemon("--max-runs", str(RUNS), initialize=False)
    if daemon.initialize()["containment"] != level:
        missing("cgroup" if level == "cgroup" else "namespaces")
    for number in range(RUNS):
        daemon.start(f"r{number}", env={"AGENT": agent}, working_dir=str(workshop.directory))
    for number in range(RUNS):
        daemon.event(f"r{number}")
    assert len(workshop.survivors.now()) > 3 * RUNS
    if instant is None:
        daemon.process.send_signal(signal.SIGSTOP)
    (workshop.directory / "go").write_text("")
    if instant is None:
        until(lambda: not [process for process in workshop.survivors.now() if "agent" in process.argv])
    else:
        time.sleep(instant)  # the instant itself
    daemon.kill()
    daemon.wait()
    assert workshop.survivors.soon(2.0) == []
