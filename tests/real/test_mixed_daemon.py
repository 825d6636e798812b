"""Test one daemon whose runs are of several real agents at once."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.testing import ModelServer, answer, script

from ..needs import missing
from ..waiting import SOON
from .agents import AGENTS
from .oracle import Oracle

pytestmark = [pytest.mark.real, pytest.mark.rule("C9", "G1", "J4", "K4")]


@pytest.mark.parametrize("runs", [6, pytest.param(100, marks=pytest.mark.nightly)])
def test_each_run_completes_as_a_run_of_its_own_agent_and_leaves_nothing(runs: int) -> None:
    agents = [agent for agent in AGENTS if agent.program is not None]
    if len(agents) < 2:
        missing("claude")
    kinds = {f"run-{number}": agents[number % len(agents)] for number in range(runs)}
    messages: list[tuple[str, dict[str, Any]]] = [("initialize", {"protocolVersion": "1.0", "clientInfo": {}})]
    for run_id, agent in kinds.items():
        request = {"prompt": f"Do {run_id}.", "extensions": agent.unrestricted()}
        messages.append(
            ("run/start", {"runId": run_id, "agentKind": agent.kind, "request": request, "credit": 1_000_000})
        )
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
        for number, (method, params) in enumerate(messages)
    ]
    oracle = Oracle()
    with ExitStack() as held:
        root = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="mixed-", dir="/tmp")))
        command = [sys.executable, "-m", "codex_adapter", "serve", "--on-eof", "drain", "--max-runs", "8"]
        env = dict(oracle.environment)
        for agent in agents:
            server = held.enter_context(ModelServer(script(fallback=answer(f"Done by {agent.kind}."))))
            env |= agent.environment(root, server)
            command += ["--agent", agent.kind, *agent.options()]
        workspace = root / "workspace"
        workspace.mkdir()
        done = subprocess.run(
            command,
            env=env,
            cwd=workspace,
            input="".join(lines).encode(),
            capture_output=True,
            timeout=SOON + 10 * runs,
            check=False,
        )
        oracle.check()
        assert list((root / "tmp").glob("codex-adapter-*")) == []
    assert (done.returncode, done.stderr) == (0, b"")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["error"] for answer in answers if "error" in answer] == []
    ended = {said["params"]["runId"]: said["params"]["completion"] for said in answers if _is(said, "run/completed")}
    assert {run_id: end["final_text"] for run_id, end in ended.items()} == {
        run_id: f"Done by {agent.kind}." for run_id, agent in kinds.items()
    }
    assert {end["ok"] for end in ended.values()} == {True}
    assert len({end["session_id"] for end in ended.values()}) == runs
    shown = Counter(
        (said["params"]["runId"], event["agent_kind"])
        for said in answers
        if _is(said, "run/event")
        for event in [said["params"]["event"]]
    )
    assert set(shown) == {(run_id, agent.kind) for run_id, agent in kinds.items()}


def _is(message: dict[str, object], method: str) -> bool:
    return message.get("method") == method
