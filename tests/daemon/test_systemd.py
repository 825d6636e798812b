"""Test the notifications that the daemon sends to systemd."""

from __future__ import annotations

import contextlib
import socket

import pytest

from codex_adapter.testing import ReadPrompt, WriteFacts, read_facts
from tests.widths import thinned

from ..waiting import SOON
from .agents import HANGING
from .workshop import Workshop

pytestmark = pytest.mark.rule("J16")


@pytest.mark.parametrize(
    ("how", "abstract"),
    thinned(
        [
            ("shutdown", True),
            ("shutdown", False),
            ("exit", False),
            ("the end of stdin", False),
            ("a signal", False),
            ("the end of stdout", True),
        ],
        2,
    ),
)
def test_systemd_is_told_of_the_beginning_and_the_end(workshop: Workshop, abstract: bool, how: str) -> None:
    with workshop.notified(abstract=abstract) as notified:
        daemon = workshop.daemon(initialize=False)
        assert notified.recv(1000) == b"READY=1"
        daemon.initialize()
        match how:
            case "shutdown":
                daemon.start("r", env=workshop.agent("hanging", *HANGING))
                daemon.request("shutdown", mode="drain")
            case "exit":
                daemon.notify("exit")
            case "the end of stdin":
                daemon.close_stdin()
            case "a signal":
                daemon.kill(15)
            case _:
                daemon.close_stdout()
        assert notified.recv(1000) == b"STOPPING=1"
        if how == "shutdown":
            # Once, whatever follows.
            assert daemon.call("shutdown", mode="cancel") == {}
        daemon.close_stdin()
        assert daemon.process.wait(SOON) == 0
        notified.setblocking(False)
        with pytest.raises(BlockingIOError):
            notified.recv(1000)


@pytest.mark.fault("daemon", "NOTIFY_SOCKET names a socket that does not exist", "The daemon serves without it")
@pytest.mark.parametrize("address", ["/no/such/socket", "vsock:1:2", "/" + "x" * 300])
def test_an_address_that_leads_nowhere_is_no_failure(workshop: Workshop, address: str) -> None:
    workshop.env["NOTIFY_SOCKET"] = address
    daemon = workshop.daemon()
    daemon.start("r")
    assert daemon.completion("r")["outcome"] == "completed"


@pytest.mark.fault("daemon", "systemd does not read its notification socket", "The daemon serves without a delay")
def test_a_notification_that_nobody_reads_holds_up_nothing(workshop: Workshop) -> None:
    with workshop.notified() as notified, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:
        filler.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                filler.sendto(b"x", notified.getsockname())
        daemon = workshop.daemon()
        daemon.start("r")
        assert daemon.completion("r")["outcome"] == "completed"


def test_an_agent_cannot_speak_to_systemd_in_our_name(workshop: Workshop) -> None:
    with workshop.notified():
        daemon = workshop.daemon("--env", "NOTIFY_OTHER=1")
        env = workshop.agent("facts", ReadPrompt(), WriteFacts(f"{workshop.directory}/facts"))
        daemon.start("r", env=env)
        daemon.completion("r")
        facts = read_facts(workshop.directory / "facts")
        assert {name for name in facts.env if name.startswith("NOTIFY")} == {"NOTIFY_OTHER"}
