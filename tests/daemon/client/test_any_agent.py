"""Test that the client supports any agent kind, in its runs, events and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from codex_adapter import BackendError, InvalidRequestError, RunRequest, UnknownBackendError
from codex_adapter.daemon.client import open_daemon

from ...waiting import SOON
from .fake_daemon import PROGRAM

pytestmark = pytest.mark.rule("J15", "AG5")


@pytest.mark.rule("G1", "G2")
async def test_a_daemon_is_asked_for_runs_of_the_kind_that_it_is_opened_with() -> None:
    with trio.fail_after(SOON):
        async with open_daemon("--agent", "codex", agent="toy") as backend:
            assert (backend.agent_kind, backend.capabilities) == ("toy", frozenset())
            with pytest.raises(UnknownBackendError, match="registered: codex"):
                await backend.open_run(RunRequest(prompt="x")).__aenter__()


async def test_a_daemon_that_it_starts_serves_the_agent_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "toy"))
    with trio.fail_after(SOON):
        async with open_daemon(agent="toy") as backend, backend.open_run(RunRequest(prompt="hello")) as run:
            await run.events.aclose()
            assert (await run.wait_completed()).final_text == "You said: hello"


@pytest.mark.rule("F4", "X2")
async def test_the_events_and_the_error_of_a_lost_daemon_are_of_the_same_kind() -> None:
    text = "toy backend error: other (details redacted when unsafe)"
    with trio.fail_after(SOON):
        async with open_daemon("then a death", agent="toy", program=PROGRAM) as backend:
            async with backend.open_run(RunRequest(prompt="x")) as run:
                last = [event async for event in run.events][-1]
                with pytest.raises(BackendError) as raised:
                    await run.wait_completed()
    assert (last.agent_kind, last.kind, last.message) == ("toy", "error", text)
    assert (raised.value.agent_kind, str(raised.value)) == ("toy", text)


@pytest.mark.rule("Q5")
async def test_a_request_that_json_cannot_express_is_checked_without_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere/at/all")
    with trio.fail_after(SOON):
        async with open_daemon() as backend:
            await backend.check(RunRequest(prompt="x", extensions={"agent_api.exec.add_dirs.v1": {"dirs": ("/tmp",)}}))
            with pytest.raises(InvalidRequestError, match="timeout must be a finite number"):
                await backend.check(RunRequest(prompt="x", timeout=float("inf")))
