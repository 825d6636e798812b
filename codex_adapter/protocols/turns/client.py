"""Run turns of conversations, and describe the environments and harnesses for them (U1, U3, U5, U11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import trio

from codex_adapter import BackendError
from codex_adapter.file_systems import inquire
from codex_adapter.harness import Harness
from codex_adapter.protocols.turns.emitter import Emitter
from codex_adapter.protocols.turns.messages import (
    AgentSpacesError,
    DescribeRequest,
    DescribeResponse,
    HarnessCapabilities,
    HarnessModels,
    ResolveRequest,
    ResolveResponse,
    RunTurnRequest,
    RunTurnResponse,
    SessionCallbacks,
    SpaceSpec,
)
from codex_adapter.protocols.turns.turn import Turn, check_cwd
from codex_adapter.spaces import Environment, SpaceError, Spec, TargetSpec, prepare, resolve
from codex_adapter.spaces.mcp import list_all_tools
from codex_adapter.turn_errors import TurnError

__all__ = ["AgentSpacesClient", "create_agent_spaces_client"]

_SECONDS_FOR_TOOLS: Final = 20.0


def create_agent_spaces_client(harnesses: Iterable[Harness]) -> AgentSpacesClient:
    """Return a client of these harnesses, for use inside `trio.run` (U1)."""
    return AgentSpacesClient(harnesses)


class AgentSpacesClient:
    """A client that runs any number of turns at once. It keeps no state.

    The caller must run the turns of one conversation one after another.
    """

    def __init__(self, harnesses: Iterable[Harness]) -> None:
        self._harnesses = {harness.id: harness for harness in harnesses}

    async def run_turn(self, request: RunTurnRequest, callbacks: SessionCallbacks) -> RunTurnResponse:
        """Run one turn, from its first event to its last. Exceptions of `callbacks` pass through.

        A turn that began may have had effects. Consider this before a retry (U2, U4, U8).
        """
        emitter = Emitter(callbacks, request.external_session_id, request.external_run_id)
        try:
            harness = await self._find_harness(request)
            # Checked only once, because the agent must have exactly the reach that is recorded now.
            wrong_cwd = await _inquire_cwd(request.cwd)
            writable = partial(harness.writable, cwd=request.cwd, env=request.env) if wrong_cwd is None else _nowhere
            environment = await _look_up_environment(partial(prepare, writable=writable), request, harness.id)
        except TurnError as error:
            return await Turn.refuse(request, emitter, error)
        return await Turn(request, emitter, harness, environment, wrong_cwd).run()

    async def resolve(self, request: ResolveRequest) -> ResolveResponse:
        """Return whether a turn could have this environment. Write nothing and raise nothing (U6)."""
        try:
            await _look_up_environment(resolve, request, None)
        except TurnError as error:
            return ResolveResponse(ok=False, error=error.error)
        except Exception:  # noqa: BLE001 - every error becomes a response
            return ResolveResponse(ok=False, error=AgentSpacesError(message="the spaces cannot be read"))
        return ResolveResponse(ok=True)

    async def describe(self, request: DescribeRequest) -> DescribeResponse:
        """Return the names of all hooks, skills and tools of an environment. Raises `TurnError` (U11)."""
        environment = await _look_up_environment(resolve, request, None)
        tools, unanswered = await list_all_tools(environment.servers, seconds=_SECONDS_FOR_TOOLS)
        return DescribeResponse(
            hooks=tuple(hook.name for hook in environment.hooks),
            skills=tuple(skill.name for skill in environment.skills),
            tools=tools,
            unanswered=unanswered,
        )

    async def get_harness_capabilities(self) -> HarnessCapabilities:
        """Return the harnesses that are installed here and work, with their models (U5)."""
        found = [(harness.id, await _list_models(harness)) for harness in self._harnesses.values()]
        return HarnessCapabilities(
            harnesses=tuple(HarnessModels(id=id_, models=models) for id_, models in found if models is not None)
        )

    async def _find_harness(self, request: RunTurnRequest) -> Harness:
        harness = self._harnesses.get(request.harness)
        if harness is None:
            known = ", ".join(self._harnesses) or "none"
            raise TurnError(f"the harness does not exist. Existing harnesses: {known}.")
        await harness.check()
        return harness


async def _list_models(harness: Harness) -> tuple[str, ...] | None:
    try:
        await harness.check()
    except TurnError:
        return None
    return await harness.models()


async def _inquire_cwd(cwd: str) -> TurnError | BackendError | None:
    try:
        return await inquire(check_cwd, cwd)
    except BackendError as error:
        return error


def _nowhere(_: Environment) -> tuple[str, ...]:
    return ()


async def _look_up_environment(
    look_up: Callable[..., Environment],
    request: RunTurnRequest | ResolveRequest | DescribeRequest,
    harness: str | None,
) -> Environment:
    """Return the environment of a request's spec, looked up in a thread. Raises `TurnError` (`resolve_failed`)."""
    try:
        # It may wait for other writers. A cancellation abandons the thread, which is as harmless as a kill.
        look_up = partial(look_up, accept=request.accept_changed_spaces)
        return await trio.to_thread.run_sync(
            look_up, request.asp_home, _convert_spec(request.spec), harness, abandon_on_cancel=True
        )
    except SpaceError as error:
        raise TurnError(str(error), "resolve_failed") from None


def _convert_spec(spec: SpaceSpec) -> Spec:
    """Convert the spec of a request. Raises `TurnError` (U3)."""
    target = spec.target
    if spec.spaces and target is None:
        return spec.spaces
    if target is not None and spec.spaces is None:
        return TargetSpec(name=target.target_name, directory=target.target_dir)
    raise TurnError("spec: must have either spaces, at least one, or a target", "resolve_failed")
