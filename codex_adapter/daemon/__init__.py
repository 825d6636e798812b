"""Define the protocol of `codex-adapter serve` for Python: types of the messages, and error codes (J3 to J5).

`codex_adapter.daemon.client` has a client, and `codex_adapter.records` the records of runs. Each name is imported at
its first use, so that a command that reads journals does not import the messages. (V1)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codex_adapter.daemon.jsonrpc import (
        INTERNAL_ERROR,
        INVALID_PARAMS,
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        NOT_INITIALIZED,
        PARSE_ERROR,
        RUN_REFUSED,
    )
    from codex_adapter.daemon.messages import (
        METHODS,
        PROTOCOL_VERSION,
        Affected,
        CancelParams,
        CreditParams,
        EventsParams,
        EventsResult,
        InitializeParams,
        InitializeResult,
        Limits,
        ListResult,
        LiveRun,
        Method,
        Nothing,
        RunCompleted,
        RunEvent,
        RunParams,
        ServerInfo,
        ShutdownParams,
        StartParams,
        StartResult,
    )

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHODS",
    "METHOD_NOT_FOUND",
    "NOT_INITIALIZED",
    "PARSE_ERROR",
    "PROTOCOL_VERSION",
    "RUN_REFUSED",
    "Affected",
    "CancelParams",
    "CreditParams",
    "EventsParams",
    "EventsResult",
    "InitializeParams",
    "InitializeResult",
    "Limits",
    "ListResult",
    "LiveRun",
    "Method",
    "Nothing",
    "RunCompleted",
    "RunEvent",
    "RunParams",
    "ServerInfo",
    "ShutdownParams",
    "StartParams",
    "StartResult",
]

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    _CODES = frozenset(name for name in __all__ if name.isupper()) - {"METHODS", "PROTOCOL_VERSION"}

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = "jsonrpc" if name in _CODES else "messages"
        value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
