"""Test hundreds of runs of one daemon: each event once and in order, and correct completions."""

from __future__ import annotations

import resource
import time
from collections import Counter

import pytest

from codex_adapter.testing import Exit

from .agents import flood, messages
from .supervisor import Supervisor, run
from .workshop import Workshop

PATIENCE = 300.0


def completions(daemon: Supervisor, count: int) -> dict[str, dict[str, object]]:
    """Those of all runs, by their ids; the daemon's log is checked against the rules when it ends."""
    deadline = time.monotonic() + PATIENCE
    told: dict[str, dict[str, object]] = {}
    for message in daemon.arriving():
        assert time.monotonic() < deadline
        if message.get("method") == "run/completed":
            told[message["params"]["runId"]] = message["params"]["completion"]
        if len(told) == count:
            break
    return told


@pytest.mark.rule("J4", "J8", "J9")
@pytest.mark.parametrize(
    ("number", "at_once"),
    [(30, 10), pytest.param(500, 500, marks=pytest.mark.nightly), pytest.param(500, 32, marks=pytest.mark.nightly)],
)
def test_of_many_runs_every_event_comes_once_and_each_has_its_own_end(
    workshop: Workshop, number: int, at_once: int
) -> None:
    daemon = workshop.daemon("--max-runs", str(at_once))
    few, many = workshop.agent("few", *messages(7)), workshop.agent("many", *messages(2), flood(200, 100))
    fails = workshop.agent("fails", *messages(3), Exit(3))
    kinds = [(few, 8, 0), (many, 103, 0), (fails, 5, 3)]
    for place in range(number):
        daemon.request("run/start", run(f"r{place}", env=kinds[place % 3][0]))
    ends = completions(daemon, number)
    counted = Counter(
        told["params"]["runId"] for told in daemon.told if isinstance(told, dict) and told.get("method") == "run/event"
    )
    for place in range(number):
        _, events, status = kinds[place % 3]
        completion = ends[f"r{place}"]
        assert (counted[f"r{place}"], completion["seq"]) == (events, events)
        assert (completion["outcome"], completion["status"]) == ("completed", {"code": status, "signal": None})


@pytest.mark.rule("C9", "X9")
@pytest.mark.parametrize(("number", "soft"), [(30, 64), pytest.param(300, 1024, marks=pytest.mark.nightly)])
@pytest.mark.fault(
    "resources",
    "The soft limit of open files is lower than the runs need",
    "All runs start; the agents keep the original limit",
)
def test_a_soft_limit_of_open_files_refuses_no_run(workshop: Workshop, number: int, soft: int) -> None:
    event = '{"type":"thread.started","thread_id":"t"}'
    workshop.program("codex", f"#!/bin/sh\nulimit -Sn >>limits\necho '{event}'\nexec sleep 600\n")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard > 20 * number
    daemon = workshop.daemon(
        *("--max-runs", str(number)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
    )
    for id_ in [daemon.request("run/start", run(f"r{place}")) for place in range(number)]:
        daemon.result(id_)
    daemon.receive_until(lambda: sum(told.get("method") == "run/event" for told in daemon.told) == number)
    assert (workshop.directory / "limits").read_text().split() == [str(soft)] * number
    daemon.call("shutdown", mode="cancel")
