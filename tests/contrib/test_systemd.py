"""Test the systemd units: `systemd-analyze verify`, and a daemon that is started in the same way."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from codex_adapter.testing import ReadPrompt

from ..daemon.agents import BRIEF, HANGING, STUBBORN, flood
from ..daemon.supervisor import CANCELLED, Supervisor
from ..daemon.workshop import Workshop
from ..needs import without
from ..waiting import SOON

UNITS: Final = Path(__file__).parents[2] / "contrib" / "systemd"
SOCKET, SERVICE, README = (UNITS / name for name in ("codex-adapter.socket", "codex-adapter@.service", "README.md"))
PROGRAM: Final = "/opt/codex-adapter/bin/codex-adapter"
BREAKING: Final = {
    *("ProtectKernelTunables", "ProtectKernelLogs", "ProtectHostname", "ProtectControlGroups", "RestrictNamespaces"),
    *("SystemCallFilter", "MemoryDenyWriteExecute", "LockPersonality", "SystemCallArchitectures", "ProtectHome"),
}
"""Settings with which runs are held less well, or the agent's own sandbox does not work; the README says why."""


def settings(unit: Path) -> dict[str, str]:
    """The settings of a unit; none of ours is given twice."""
    lines = [line for line in unit.read_text().splitlines() if re.match(r"\w+=", line)]
    found = dict(line.split("=", 1) for line in lines)
    assert len(found) == len(lines)
    return found


class Manager:
    """What stands in for systemd: it listens, starts a daemon for a connection, and hears how it stands."""

    def __init__(self, workshop: Workshop, address: str, notifying: socket.socket) -> None:
        self._workshop = workshop
        self._address = address
        self._notifying = notifying
        self.path = str(workshop.directory / "socket")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self._listener.settimeout(SOON)

    def connect(self, *options: str, **popen: Any) -> Supervisor:
        """A supervisor that connects, and the daemon that is started for it."""
        ours = socket.socket(socket.AF_UNIX)
        ours.connect(self.path)
        theirs, _ = self._listener.accept()
        env = {**self._workshop.env, "NOTIFY_SOCKET": self._address}
        with theirs:
            end = ours.detach()
            return self._workshop.supervise(options, end, end, stdin=theirs, stdout=theirs, env=env, **popen)

    def told(self) -> str:
        """The next that a daemon tells."""
        return self._notifying.recv(4096).decode()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    """A directory for daemons; after a test that went well, they must have kept all rules and left nothing."""
    shop = Workshop(tmp_path)
    try:
        yield shop
        shop.finish()
    finally:
        shop.abandon()


@pytest.fixture(params=["path", "abstract"])
def manager(workshop: Workshop, request: pytest.FixtureRequest) -> Iterator[Manager]:
    """It with each kind of address at which systemd may want to be told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifying:
        notifying.settimeout(SOON)
        if request.param == "path":
            address = str(workshop.directory / "notify")
            notifying.bind(address)
        else:
            notifying.bind("")  # the kernel makes up an abstract name
            address = "@" + notifying.getsockname()[1:].decode()
        manager = Manager(workshop, address, notifying)
        yield manager
        manager.close()


path_only = pytest.mark.parametrize("manager", ["path"], indirect=True)


@without("systemd", shutil.which("systemd-analyze") is None)
@pytest.mark.rule("J16")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    for unit in (SOCKET, SERVICE):
        (tmp_path / unit.name).write_text(unit.read_text().replace(PROGRAM, sys.executable))
    words = ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / unit.name) for unit in (SOCKET, SERVICE))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin"}, check=False)
    # What it does not know it tells, and goes on.
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.rule("J16", "J11", "N1")
def test_the_units_have_what_the_daemon_needs_and_nothing_that_it_cannot_bear() -> None:
    socket_unit, service = settings(SOCKET), settings(SERVICE)
    assert (socket_unit["Accept"], socket_unit["SocketMode"]) == ("yes", "0600")
    assert socket_unit["SocketUser"] == service["User"]
    needed = {"Type": "notify", "NotifyAccess": "main", "StandardInput": "socket", "StandardOutput": "socket"}
    needed |= {"StandardError": "journal", "KillMode": "mixed", "Delegate": "yes", "Restart": "no"}
    assert service.items() >= needed.items()
    assert service.keys() & BREAKING == set()
    assert f'"{socket_unit["ListenStream"].replace("%t", "/run")}"' in README.read_text()
    assert {name for name in BREAKING if f"`{name}=`" not in README.read_text()} == set()


@pytest.mark.rule("J16", "C9")
def test_the_command_of_the_service_is_one(workshop: Workshop) -> None:
    program, *words = shlex.split(settings(SERVICE)["ExecStart"].replace("%S", str(workshop.directory)))
    assert (program, words[0]) == (PROGRAM, "serve")
    daemon = workshop.daemon(*words[1:])
    assert daemon.call("run/list") == {"runs": []}


@pytest.mark.rule("J16", "J10")
def test_a_conversation_over_one_socket_from_ready_to_stopping(manager: Manager, workshop: Workshop) -> None:
    daemon = manager.connect()
    assert manager.told() == "READY=1"
    daemon.initialize()
    for name in ("one", "two", "three"):
        daemon.start(name, env=workshop.agent("brief", *BRIEF))
    assert [daemon.completion(name)["turn"] for name in ("one", "two", "three")] == ["completed"] * 3
    assert daemon.call("shutdown") == {}
    assert manager.told() == "STOPPING=1"
    daemon.close_stdin()
    assert daemon.wait() == 0


@path_only
@pytest.mark.rule("J16", "J10")
def test_half_closed_by_the_supervisor_its_runs_are_cancelled_and_told(manager: Manager, workshop: Workshop) -> None:
    daemon = manager.connect()
    daemon.initialize()
    daemon.start("one", env=workshop.agent("hanging", *HANGING))
    daemon.event("one")
    daemon.close_stdin()
    assert daemon.completion("one") == CANCELLED
    assert daemon.wait() == 0
    assert (manager.told(), manager.told()) == ("READY=1", "STOPPING=1")


@path_only
@pytest.mark.rule("J16", "J10")
def test_half_closed_by_the_supervisor_its_runs_are_finished_with_drain(manager: Manager, workshop: Workshop) -> None:
    daemon = manager.connect("--on-eof", "drain")
    daemon.initialize()
    daemon.start("one", env=workshop.agent("brief", *BRIEF))
    daemon.close_stdin()
    assert daemon.completion("one")["turn"] == "completed"
    assert daemon.wait() == 0


@path_only
@pytest.mark.rule("J16", "J10")
@pytest.mark.parametrize(
    "steps", [(ReadPrompt(), flood(1000)), HANGING], ids=["in the middle of a flood", "in silence"]
)
def test_a_connection_that_is_closed_ends_the_daemon(
    manager: Manager, workshop: Workshop, steps: tuple[Any, ...]
) -> None:
    daemon = manager.connect()
    daemon.initialize()
    daemon.start("one", env=workshop.agent("agent", *steps))
    daemon.event("one")
    daemon.close_stdout()
    assert daemon.process.wait(SOON) == 0
    assert (manager.told(), manager.told()) == ("READY=1", "STOPPING=1")
    assert workshop.survivors.soon() == []


@path_only
@pytest.mark.rule("J16", "J11")
def test_sigterm_ends_a_daemon_in_order(manager: Manager, workshop: Workshop) -> None:
    daemon = manager.connect()
    daemon.initialize()
    daemon.start("one", env=workshop.agent("hanging", *HANGING))
    daemon.event("one")
    daemon.kill(signal.SIGTERM)
    assert manager.told() == "READY=1"
    assert manager.told() == "STOPPING=1"
    assert daemon.completion("one") == CANCELLED
    assert daemon.wait() == 0


@path_only
@pytest.mark.rule("J16", "J11", "N2")
def test_a_daemon_that_is_killed_after_its_time_to_stop_leaves_nothing(manager: Manager, workshop: Workshop) -> None:
    daemon = manager.connect()
    daemon.initialize()
    daemon.start("one", env=workshop.agent("stubborn", *STUBBORN))
    daemon.event("one")
    daemon.kill(signal.SIGTERM)
    daemon.kill(signal.SIGKILL)
    daemon.close_stdout()
    assert daemon.process.wait(SOON) == -signal.SIGKILL
    assert workshop.survivors.soon() == []
