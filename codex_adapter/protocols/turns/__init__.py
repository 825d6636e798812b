"""Run turns of a conversation with an agent of any kind, in an environment that is composed of spaces (U1).

This package exports the client, its requests, responses and events, and the interface for harnesses. A module that
needs packages of the extra `turns` is loaded at the first use of one of its names.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from codex_adapter.extras import how_to_install
from codex_adapter.protocols.turns.messages import (
    AgentEvent,
    AgentSpacesError,
    CompleteEvent,
    DescribeRequest,
    DescribeResponse,
    ErrorCode,
    HarnessCapabilities,
    HarnessModels,
    LogEvent,
    LogLevel,
    MessageDeltaEvent,
    MessageEvent,
    ResolveRequest,
    ResolveResponse,
    Role,
    RunResult,
    RunTurnRequest,
    RunTurnResponse,
    SessionCallbacks,
    SessionState,
    SpaceSpec,
    StateEvent,
    Target,
    ToolCallEvent,
    ToolResultEvent,
)
from codex_adapter.turn_errors import TurnError

if TYPE_CHECKING:
    from codex_adapter.harness import Harness, HarnessTurn
    from codex_adapter.protocols.turns.client import AgentSpacesClient, create_agent_spaces_client

__all__ = [
    "AgentEvent",
    "AgentSpacesClient",
    "AgentSpacesError",
    "CompleteEvent",
    "DescribeRequest",
    "DescribeResponse",
    "ErrorCode",
    "Harness",
    "HarnessCapabilities",
    "HarnessModels",
    "HarnessTurn",
    "LogEvent",
    "LogLevel",
    "MessageDeltaEvent",
    "MessageEvent",
    "ResolveRequest",
    "ResolveResponse",
    "Role",
    "RunResult",
    "RunTurnRequest",
    "RunTurnResponse",
    "SessionCallbacks",
    "SessionState",
    "SpaceSpec",
    "StateEvent",
    "Target",
    "ToolCallEvent",
    "ToolResultEvent",
    "TurnError",
    "create_agent_spaces_client",
]

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept every name
    _HOME = {
        **dict.fromkeys(("AgentSpacesClient", "create_agent_spaces_client"), "protocols.turns.client"),
        **dict.fromkeys(("Harness", "HarnessTurn"), "harness"),
    }

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            home = import_module(f"codex_adapter.{_HOME[name]}")
        except ModuleNotFoundError as error:
            raise ImportError(f"packages for turns are missing. {how_to_install('turns')}") from error
        value = globals()[name] = getattr(home, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
