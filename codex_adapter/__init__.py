"""Runs OpenAI's Codex CLI as a supervised child process: typed, bounded, redacted events and a final completion.

The public names of the package. Open a run with `open_run`, read its `events`, await `wait_completed()`.
"""

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
from codex_adapter.recording import NumberedLine, read_thread_events
from codex_adapter.request import CodexConfig, RunRequest
from codex_adapter.runtime.backend import CodexBackend, Gateway, collect, open_replay, open_run
from codex_adapter.runtime.run import RunHandle
from codex_adapter.runtime.stream import EventStream

__all__ = [
    "AdapterError",
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
    "NumberedLine",
    "Pipeline",
    "RunCancelled",
    "RunHandle",
    "RunRequest",
    "RunTimedOut",
    "SpawnError",
    "UnknownBackendError",
    "UnsupportedCapabilityError",
    "collect",
    "open_replay",
    "open_run",
    "read_thread_events",
]
