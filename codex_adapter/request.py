"""Define what a run is asked for (`RunRequest`) and how it is run (`RunConfig`).

Both are plain data. They are checked when a run is opened, all of it before any process is started (Q1 to Q7).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from typing_extensions import override

__all__ = ["RunConfig", "RunRequest"]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class RunRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of the agent; the same six fields in Python and in JSON (Q).

    `prompt` goes to the agent exactly as given. `working_dir` is a directory, relative to the process's own.
    `timeout` bounds the whole run, in seconds of wall clock. `env` is added to the agent's environment and wins.
    `extensions` has a JSON value under each namespaced key; the keys are in `Q3`. `labels` are the caller's own words
    for the run; a daemon's journal keeps them, and the agent never sees them (Q6).
    """

    prompt: str
    working_dir: str | None = None
    timeout: float | None = None
    env: Mapping[str, str] = _EMPTY
    extensions: Mapping[str, Any] = _EMPTY
    labels: Mapping[str, str] = _EMPTY

    @override
    def __repr__(self) -> str:
        """Show neither the prompt nor a value of a variable, an extension or a label (X1)."""
        shown = f"working_dir={self.working_dir!r}, timeout={self.timeout!r}"
        hidden = f"env={names(self.env)}, extensions={names(self.extensions)}, labels={names(self.labels)}"
        return f"RunRequest(prompt=..., {shown}, {hidden})"


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the runs of any agent are run; a request's own fields win over the defaults here.

    `binary` is a path or a name on PATH of the agent CLI; None looks for one (S6). `model`, `default_timeout` (seconds)
    and `default_working_dir` serve requests that have none. `env` is merged below the request's (S5). `mask` names
    further variables of the run's environment whose values are secrets (X5).

    Limits, in seconds: `idle_timeout` without progress (K2); `tool_timeout` for one open tool call (K2);
    `stop_timeout` for ending a run, in total (K4); `descendant_grace` for output after the agent's exit (F7);
    `exit_grace` for an agent that closed its output (F8) or finished its turn (K6) to exit by itself.
    `max_line_bytes` bounds one line of the agent (L2). `containment` is the weakest level to accept: `cgroup`,
    `pid_namespace`, `guard` or `process_group`; None for any. `containment_max` is the strongest level to try, for
    agents that a user namespace hinders; None for the strongest that the machine has (N3). `tool_payloads` is
    `metadata` or `full`, for requests that do not say (M7).
    """

    binary: str | None = None
    model: str | None = None
    default_timeout: float | None = None
    default_working_dir: str | None = None
    env: Mapping[str, str] = _EMPTY
    mask: tuple[str, ...] = ()
    idle_timeout: float | None = None
    tool_timeout: float | None = None
    stop_timeout: float = 5.0
    descendant_grace: float = 2.0
    exit_grace: float = 10.0
    max_line_bytes: int = 16 * 1024 * 1024
    containment: str | None = None
    containment_max: str | None = None
    tool_payloads: str | None = None

    @override
    def __repr__(self) -> str:
        """Show no value of a variable or a setting (X1)."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        shown = (f"{name}={names(v) if isinstance(v, Mapping) else repr(v)}" for name, v in values.items())
        return f"{type(self).__name__}({', '.join(shown)})"


def names(values: Mapping[str, Any]) -> str:
    """Return how a mapping may be shown whose values may be secret."""
    return f"{{{', '.join(f'{name!r}: ...' for name in values)}}}"
