"""Test that the daemon repeats no value of a supervisor except its ids, in responses and on stderr."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.testing import Exit, ReadPrompt, WriteStderr

from ..rows import rows
from .messages import encode, run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J5", "X3")

SECRET = "sk-CaNaRy-0123456789abcdef"
BAD: list[Any] = [
    SECRET,
    [SECRET],
    {SECRET: SECRET},
    {"jsonrpc": SECRET, "id": 1, "method": "run/list"},
    {"jsonrpc": "2.0", "method": SECRET, "id": 2},
    {"jsonrpc": "2.0", "method": f"run/{SECRET}", "params": {SECRET: SECRET}, "id": 3},
    {"jsonrpc": "2.0", "method": "run/list", "params": SECRET, "id": 4},
    {"jsonrpc": "2.0", "method": "run/list", "params": [SECRET], "id": 5},
    {"jsonrpc": "2.0", "method": "run/list", "params": {"x": SECRET}, "id": 6},
    {"jsonrpc": "2.0", "method": "run/list", "id": [SECRET]},
    {"jsonrpc": "2.0", "method": "run/list", "id": {SECRET: 1}},
    {"jsonrpc": "2.0", "result": SECRET, "id": 7},
    {"jsonrpc": "2.0", "error": {"code": 1, "message": SECRET}, "id": 8},
]
PARAMS: list[tuple[str, dict[str, Any]]] = [
    ("initialize", {"protocolVersion": SECRET}),
    ("initialize", {"protocolVersion": "1.0", "clientInfo": SECRET}),
    ("run/start", {**run(), "runId": f" {SECRET}"}),
    ("run/start", {**run(), "agentKind": SECRET}),
    ("run/start", {**run(), "agentKind": SECRET.lower().replace("-", "_")}),
    ("run/start", {**run(), "agentKind": [SECRET]}),
    ("run/start", {**run(), "request": SECRET}),
    ("run/start", {**run(), "request": {"prompt": [SECRET]}}),
    ("run/start", {**run(), "request": {"prompt": {SECRET: SECRET}}}),
    ("run/start", {**run(), "request": {"prompt": SECRET, "x": SECRET}}),
    ("run/start", {**run(), "credit": SECRET}),
    ("run/start", run(prompt=f"{SECRET}\ud800")),
    ("run/start", run(prompt=SECRET, working_dir=f"/{SECRET}")),
    ("run/start", run(prompt=SECRET, working_dir=[SECRET])),
    ("run/start", run(prompt=SECRET, timeout=SECRET)),
    ("run/start", run(prompt=SECRET, timeout=-1)),
    ("run/start", run(prompt=SECRET, env={"": SECRET})),
    ("run/start", run(prompt=SECRET, env={f"{SECRET}=": SECRET})),
    ("run/start", run(prompt=SECRET, env={"A": f"{SECRET}\0"})),
    ("run/start", run(prompt=SECRET, env={"A": [SECRET]})),
    ("run/start", run(prompt=SECRET, env={SECRET: 1})),
    ("run/start", run(prompt=SECRET, env=SECRET)),
    ("run/start", run(prompt=SECRET, extensions=SECRET)),
    ("run/start", run(prompt=SECRET, extensions={"no.such.key": SECRET})),
    ("run/start", run(prompt=SECRET, extensions={"backend.codex.exec.sandbox_mode": SECRET})),
    ("run/start", run(prompt=SECRET, extensions={"backend.codex.exec.approval_policy": SECRET})),
    ("run/start", run(prompt=SECRET, extensions={"agent_api.exec.non_interactive": SECRET})),
    ("run/start", run(prompt=SECRET, extensions={"agent_api.config.model.v1": f"-{SECRET}"})),
    ("run/start", run(prompt=SECRET, extensions={"agent_api.exec.add_dirs.v1": {"dirs": [f"/{SECRET}"]}})),
    ("run/start", run(prompt=SECRET, extensions={"agent_api.exec.add_dirs.v1": {SECRET: SECRET}})),
    ("run/start", run(prompt=SECRET, extensions={"agent_api.session.resume.v1": {"selector": SECRET}})),
    ("run/start", run(prompt=SECRET, extensions={"agent_api.session.fork.v1": {"selector": "id", "id": f"-{SECRET}"}})),
    ("run/start", run(prompt=SECRET, extensions={"backend.codex.tool_payloads": SECRET})),
    ("run/start", run(prompt=SECRET, extensions={"backend.codex.output_schema": SECRET})),
    ("run/start", run(prompt=SECRET, extensions={"backend.codex.images": [f"/{SECRET}"]})),
    ("run/cancel", {"runId": [SECRET]}),
    ("run/cancel", {"runId": f"/{SECRET}"}),
    ("run/detach", {"runId": {SECRET: SECRET}}),
    ("run/credit", {"runId": SECRET, "events": SECRET}),
    ("run/list", {SECRET: SECRET}),
    ("run/events", {"runId": SECRET, "fromSeq": SECRET}),
    ("shutdown", {"mode": SECRET}),
    ("shutdown", {"mode": "drain", SECRET: SECRET}),
]


def written(value: Any) -> bytes:
    """A message as a line, half of a surrogate pair as an escape."""
    return json.dumps(value).encode()


def unheard(daemon: Supervisor, line: bytes) -> None:
    """Say a line; nothing of it may come back."""
    before = len(daemon.log)
    daemon.send(line)
    daemon.silence()
    assert [told.data for told in daemon.log[before + 1 :] if not told.sent and b"CaNaRy" in told.data] == []
    assert [told.data for told in daemon.log[before + 1 :] if not told.sent and b"canary" in told.data] == []
    assert daemon.stderr == ""


@rows("value", BAD, ids=str)
def test_nothing_of_what_is_no_request_comes_back(shared: Supervisor, value: Any) -> None:
    unheard(shared, encode(value))
    unheard(shared, encode(value)[:-1])
    unheard(shared, encode([value]))


@rows(("method", "params"), PARAMS, ids=str)
def test_nothing_of_refused_params_comes_back(shared: Supervisor, method: str, params: dict[str, Any]) -> None:
    unheard(shared, written({"jsonrpc": "2.0", "id": f"{method} secret", "method": method, "params": params}))
    unheard(shared, written({"jsonrpc": "2.0", "method": method, "params": params}))
    unheard(shared, written([{"jsonrpc": "2.0", "id": f"{method} batch", "method": method, "params": params}]))


def test_nothing_of_a_line_that_is_too_long_comes_back(shared: Supervisor) -> None:
    unheard(shared, encode({SECRET: "x" * 17_000_000, "y": SECRET}))


@pytest.mark.rule("J4", "X5")
def test_nothing_of_a_request_comes_back_in_its_run(workshop: Workshop) -> None:
    daemon = workshop.daemon("--env", f"CONFIGURED_TOKEN={SECRET}")
    steps = (ReadPrompt(), WriteStderr(f"{SECRET}\n"), Exit(3))
    env = {**workshop.agent("failing", *steps), "API_KEY": SECRET}
    daemon.start("r", prompt=SECRET, env=env)
    daemon.completion("r")
    assert SECRET.encode() not in daemon.output
    assert daemon.stderr == ""


@pytest.mark.rule("J3", "X3")
def test_nothing_of_a_run_is_in_the_list(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    for name in ("live", "waiting"):
        daemon.start(name, prompt=SECRET, env={"ANY": SECRET, **workshop.agent(name, ReadPrompt())}, timeout=1000)
    daemon.call("run/list")
    daemon.completion("waiting")
    assert SECRET.encode() not in daemon.output
