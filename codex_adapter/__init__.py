"""Run OpenAI's Codex CLI as a supervised child process: typed, bounded, redacted events and a final completion.

The module has the public names of the package. Open a run with `open_run`, read its `events`, await `wait_completed()`.
Each name is loaded at its first use, so a program without an event loop loads no event loop (V1).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codex_adapter.agents.codex.backend import CodexBackend
    from codex_adapter.agents.codex.config import CodexConfig
    from codex_adapter.agents.codex.pipeline import codex_pipeline
    from codex_adapter.agents.codex.recording import NumberedLine, read_thread_events
    from codex_adapter.core.framing import LineFramer, OversizeLine
    from codex_adapter.core.pipeline import Pipeline
    from codex_adapter.errors import (
        AdapterError,
        BackendError,
        InvalidAgentKindError,
        InvalidRequestError,
        RunCancelled,
        RunTimedOut,
        SpawnError,
        UnknownBackendError,
        UnsupportedCapabilityError,
    )
    from codex_adapter.events import Completion, Event, ExitStatus
    from codex_adapter.request import RunConfig, RunRequest
    from codex_adapter.runs import collect, open_replay, open_run
    from codex_adapter.runtime.backend import AgentBackend
    from codex_adapter.runtime.gateway import Gateway
    from codex_adapter.runtime.handle import RunHandle, RunSetup
    from codex_adapter.runtime.stream import EventStream
    from codex_adapter.text import AssembledText, TextAssembler

__all__ = [
    "AdapterError",
    "AgentBackend",
    "AssembledText",
    "BackendError",
    "CodexBackend",
    "CodexConfig",
    "Completion",
    "Event",
    "EventStream",
    "ExitStatus",
    "Gateway",
    "InvalidAgentKindError",
    "InvalidRequestError",
    "LineFramer",
    "NumberedLine",
    "OversizeLine",
    "Pipeline",
    "RunCancelled",
    "RunConfig",
    "RunHandle",
    "RunRequest",
    "RunSetup",
    "RunTimedOut",
    "SpawnError",
    "TextAssembler",
    "UnknownBackendError",
    "UnsupportedCapabilityError",
    "codex_pipeline",
    "collect",
    "open_replay",
    "open_run",
    "read_thread_events",
]

if not TYPE_CHECKING:  # A type checker that sees `__getattr__` would accept every name.
    _HOMES = {
        "core.framing": ("LineFramer", "OversizeLine"),
        "core.pipeline": ("Pipeline",),
        "events": ("Completion", "Event", "ExitStatus"),
        "agents.codex.pipeline": ("codex_pipeline",),
        "agents.codex.recording": ("NumberedLine", "read_thread_events"),
        "request": ("RunConfig", "RunRequest"),
        "agents.codex.backend": ("CodexBackend",),
        "agents.codex.config": ("CodexConfig",),
        "runs": ("collect", "open_replay", "open_run"),
        "runtime.backend": ("AgentBackend",),
        "runtime.gateway": ("Gateway",),
        "runtime.handle": ("RunHandle", "RunSetup"),
        "runtime.stream": ("EventStream",),
        "text": ("AssembledText", "TextAssembler"),
    }
    _HOME = dict.fromkeys(__all__, "errors") | {name: home for home, names in _HOMES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
