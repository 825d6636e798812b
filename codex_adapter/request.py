"""Define the request of a run (`RunRequest`) and its configuration (`RunConfig`).

Both are plain data. All of it is checked when a run is opened, before a process is started (Q1 to Q7).
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
    """One run of the agent, with the same six fields in Python and in JSON.

    `prompt` goes to the agent unchanged. `working_dir` is a directory, relative to the working directory of this
    process. `timeout` limits the whole run, in seconds of wall clock. `env` is added to the agent's environment and
    takes precedence. `extensions` has a JSON value under each namespaced key. `labels` are the caller's own words for
    the run; a daemon's journal keeps them, and the agent never sees them (Q2, Q3, Q6).
    """

    prompt: str
    """The task for the agent, which gets it unchanged."""
    working_dir: str | None = None
    """The directory in which the agent works. Without it, that of this process."""
    timeout: float | None = None
    """The limit for the whole run, in seconds."""
    env: Mapping[str, str] = _EMPTY
    """Variables to add to the environment of the agent."""
    extensions: Mapping[str, Any] = _EMPTY
    """Options of the agent, by their keys."""
    labels: Mapping[str, str] = _EMPTY
    """The caller's own words for the run. A journal keeps them; the agent never sees them."""

    @override
    def __repr__(self) -> str:
        """Show neither the prompt nor a value of a variable, an extension or a label (X1)."""
        shown = f"working_dir={self.working_dir!r}, timeout={self.timeout!r}"
        hidden = f"env={names(self.env)}, extensions={names(self.extensions)}, labels={names(self.labels)}"
        return f"RunRequest(prompt=..., {shown}, {hidden})"


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration for runs of any agent. The fields of a request take precedence over the defaults here.

    `binary` is a path or a name on PATH of the agent CLI; None looks for one. `model`, `default_timeout` (seconds) and
    `default_working_dir` apply to requests without these values. `env` is merged below the request's. `mask` names
    further variables of the run's environment whose values are secrets (S5, S6, X5).

    The limits are in seconds. `idle_timeout` limits the time without progress, `tool_timeout` one open tool call.
    `stop_timeout` limits the whole end of a run. `descendant_grace` limits the wait for output after the agent's exit.
    `exit_grace` limits the wait for the exit of an agent that closed its output, or finished its turn and its calls in
    the background (F7, F8, K2, K4, K6).

    `max_line_bytes` limits one line of the agent. `containment` is the weakest level to accept: `cgroup`,
    `pid_namespace`, `guard` or `process_group`; None accepts any. `containment_max` is the strongest level to try, for
    agents that cannot work in a user namespace; None tries the strongest of the machine. `tool_payloads` is `metadata`
    or `full`, for requests without this value (L2, M7, N3).
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
    """Return a text with the names of a mapping and without its values, which may be secret."""
    return f"{{{', '.join(f'{name!r}: ...' for name in values)}}}"
