"""Test backends, the gateway, and the short functions for a run."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from codex_adapter import (
    CodexBackend,
    CodexConfig,
    Gateway,
    InvalidAgentKindError,
    InvalidRequestError,
    RunHandle,
    RunRequest,
    SpawnError,
    UnknownBackendError,
    UnsupportedCapabilityError,
    collect,
)
from codex_adapter.testing import demo_script, write_agent

from ..rows import rows


class Other:
    """A backend of another kind."""

    def __init__(self, kind: str) -> None:
        self.agent_kind = kind
        self.capabilities: frozenset[str] = frozenset()

    async def check(self, request: RunRequest) -> None:
        raise InvalidRequestError("no")

    def open_run(self, request: RunRequest) -> AbstractAsyncContextManager[RunHandle]:
        raise NotImplementedError


@pytest.mark.rule("G1")
@rows("kind", ["", "Codex", "9", "a-b", "a b", "é", "codex\n"])
def test_an_agent_kind_must_be_an_identifier(kind: str) -> None:
    with pytest.raises(InvalidAgentKindError, match="agent kind"):
        Gateway().register(Other(kind))
    with pytest.raises(InvalidAgentKindError, match="agent kind"):
        Gateway().open_run(kind, RunRequest(prompt="x"))


@pytest.mark.rule("G1")
def test_a_second_backend_of_a_kind_is_refused_and_the_first_stays() -> None:
    gateway, first = Gateway(), Other("claude_code")
    gateway.register(first)
    gateway.register(CodexBackend())
    with pytest.raises(InvalidAgentKindError, match="claude_code"):
        gateway.register(Other("claude_code"))
    assert gateway.backends["claude_code"] is first
    assert sorted(gateway.backends) == ["claude_code", "codex"]


@pytest.mark.rule("G2")
def test_a_run_for_a_kind_that_nobody_registered_is_refused() -> None:
    gateway = Gateway()
    gateway.register(CodexBackend())
    with pytest.raises(UnknownBackendError, match="registered: codex"):
        gateway.open_run("claude_code", RunRequest(prompt="x"))


@pytest.mark.rule("G2", "F2")
async def test_a_gateway_opens_runs_of_the_backend_asked_for(tmp_path: Path) -> None:
    gateway = Gateway()
    binary = write_agent(tmp_path / "bin", demo_script(path=str(tmp_path / "hello.txt")))
    gateway.register(CodexBackend(CodexConfig(binary=binary)))
    async with gateway.open_run("codex", RunRequest(prompt="x")) as run:
        kinds = {event.kind async for event in run.events}
        completion = await run.wait_completed()
    assert kinds == {"status", "text_output", "tool_call", "tool_result"}
    assert completion.turn == "completed"


@pytest.mark.rule("G3", "Q2")
async def test_every_extension_key_is_a_capability_and_no_other_is_taken(tmp_path: Path) -> None:
    capabilities = CodexBackend().capabilities
    assert {"agent_api.run", "agent_api.events", "agent_api.control.cancel.v1"} <= capabilities
    assert {"agent_api.session.resume.v1", "backend.codex.tool_payloads"} <= capabilities
    binary = write_agent(tmp_path / "bin", [])
    with pytest.raises(UnsupportedCapabilityError) as caught:
        await collect(RunRequest(prompt="x", extensions={"z.z": 1, "a.a": 2}), config=CodexConfig(binary=binary))
    assert (caught.value.agent_kind, caught.value.capability) == ("codex", "a.a")


@pytest.mark.rule("Q1")
async def test_a_refused_request_leaves_the_block_unentered() -> None:
    with pytest.raises(InvalidRequestError, match="prompt"):
        await collect(RunRequest(prompt=" \n"))


@pytest.mark.rule("S6", "S8")
async def test_a_backend_tells_which_binary_a_run_would_execute_and_its_release(tmp_path: Path) -> None:
    binary = write_agent(tmp_path / "agent", demo_script(), version="0.125.0")
    path, release = await CodexBackend(CodexConfig(binary=str(binary))).installed()
    assert (path, str(release)) == (str(binary), "0.125.0")
    beside = tmp_path / "bin"
    other = write_agent(beside, demo_script())
    named = CodexBackend(CodexConfig(binary="codex"))
    assert (await named.installed({"PATH": str(beside)}))[0] == str(other)
    with pytest.raises(SpawnError):
        await named.installed({"PATH": str(tmp_path)})
