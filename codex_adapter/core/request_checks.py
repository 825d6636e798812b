"""Check a request and a configuration of any agent before a process is started.

A Python caller can put any value into any field. A wrong value raises `InvalidRequestError`, which names the field and
what it allows, never the value (Q1, Q5, Q6).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeVar

from codex_adapter.core.checks import is_encodable, is_path, is_seconds, is_short_text, refuse
from codex_adapter.request import RunConfig, RunRequest

__all__ = [
    "CONTAINMENT_LEVELS",
    "DEFAULT_IDLE_TIMEOUT",
    "FileSystem",
    "check_environment",
    "check_model",
    "check_path",
    "check_request",
    "check_run_config",
    "check_tool_payloads",
    "check_type",
    "effective_idle_timeout",
    "effective_timeout",
    "own_config",
    "run_directory",
]

_PAYLOADS: Final = ("metadata", "full")
_MAX_MODEL_BYTES: Final = 128
_MOST_LABELS: Final = 16
_LONGEST_LABEL: Final = 256
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")
DEFAULT_IDLE_TIMEOUT: Final = 1800.0
"""The limit in seconds without progress for a run without any limit of its own (K2)."""

CONTAINMENT_LEVELS: Final = ("cgroup", "pid_namespace", "guard", "process_group")
"""The levels of containment, strongest first (N1)."""

_Options = TypeVar("_Options")
_Config = TypeVar("_Config", bound=RunConfig)


class FileSystem(Protocol):
    """The parts of the file system that a check needs. No path makes a method raise."""

    @property
    def cwd(self) -> str:
        """The absolute directory that relative paths refer to."""

    def is_dir(self, path: str) -> bool:
        """Return whether `path` is an existing directory."""

    def is_file(self, path: str) -> bool:
        """Return whether `path` is an existing file."""


def check_request(
    request: RunRequest,
    config: _Config,
    files: FileSystem,
    read_extensions: Callable[[Any, FileSystem], _Options],
    check_config: Callable[[_Config], None],
) -> _Options:
    """Check a request against a configuration and return its options.

    The first failure is raised. The order is: prompt, extensions (`read_extensions`), configuration, environment,
    working directory, timeout, labels. `files.cwd` is the working directory of this process. Raise
    `InvalidRequestError` or `UnsupportedCapabilityError` (Q1 to Q6).
    """
    check_type(request)
    _check_prompt(request.prompt)
    options = read_extensions(request.extensions, _RunFiles(request, config, files))
    check_config(config)
    check_environment("env", request.env)
    if request.working_dir is not None:
        check_path("working_dir", request.working_dir)
    if not files.is_dir(run_directory(request, config, files)):
        field = "working_dir" if request.working_dir is not None else "config.default_working_dir"
        refuse(field, "an existing directory")
    _check_optional_seconds("timeout", request.timeout)
    _check_labels(request.labels)
    return options


def check_type(request: Any) -> None:
    """Raise `InvalidRequestError` if the value is not a `RunRequest` (Q1)."""
    if not isinstance(request, RunRequest):
        refuse("request", "a RunRequest; write RunRequest(prompt=...)")


def own_config(config: RunConfig, own: type[_Config]) -> _Config:
    """Return the configuration of an agent. Raise `InvalidRequestError` if it is not of the agent's own type (Q5)."""
    if not isinstance(config, own):
        refuse("config", f"a {own.__name__}")
    return config


def check_run_config(config: RunConfig) -> None:
    """Check the parts of a configuration that need no request. Raise `InvalidRequestError` (Q5, N3)."""
    for name in ("binary", "default_working_dir"):
        if getattr(config, name) is not None:
            check_path(f"config.{name}", getattr(config, name))
    if config.model is not None:
        check_model("config.model", config.model)
    _check_optional_seconds("config.default_timeout", config.default_timeout)
    check_environment("config.env", config.env)
    _check_mask(config.mask)
    _check_optional_seconds("config.idle_timeout", config.idle_timeout)
    limit = config.tool_timeout
    if limit is not None and (not is_seconds(limit) or limit == 0):
        refuse("config.tool_timeout", "a finite number of seconds, more than zero, or absent")
    for name in ("stop_timeout", "descendant_grace", "exit_grace"):
        if not is_seconds(getattr(config, name)):
            refuse(f"config.{name}", "a finite number of seconds, zero or more")
    _check_line_limit(config.max_line_bytes)
    _check_containment(config.containment, config.containment_max)
    if config.tool_payloads is not None:
        check_tool_payloads("config.tool_payloads", config.tool_payloads)


def _check_containment(weakest: Any, strongest: Any) -> None:
    for name, level in (("containment", weakest), ("containment_max", strongest)):
        if level is not None and level not in CONTAINMENT_LEVELS:
            refuse(f"config.{name}", f"one of {', '.join(CONTAINMENT_LEVELS)}, or absent")
    if None not in (weakest, strongest) and CONTAINMENT_LEVELS.index(strongest) > CONTAINMENT_LEVELS.index(weakest):
        refuse("config.containment_max", "at least as strong as config.containment")


def check_model(field: str, value: Any) -> str:
    """Return the model id without surrounding white space. Raise `InvalidRequestError` with `field` (Q3)."""
    model: str = value.strip() if isinstance(value, str) else ""
    if not is_short_text(model, _MAX_MODEL_BYTES) or model.startswith("-"):
        refuse(field, f"a string of 1 to {_MAX_MODEL_BYTES} bytes without control characters or a leading '-'")
    return model


def check_tool_payloads(field: str, value: Any) -> Literal["metadata", "full"]:
    """Return how much of a tool's input and output is shown. Raise `InvalidRequestError` with `field` (Q3, M7)."""
    if isinstance(value, str) and value in _PAYLOADS:
        return "full" if value == "full" else "metadata"
    refuse(field, "one of " + ", ".join(f"'{choice}'" for choice in _PAYLOADS))


def check_environment(field: str, env: Any) -> None:
    """Check environment variables. Raise `InvalidRequestError` with `field` (Q5)."""
    if not isinstance(env, Mapping):
        refuse(field, "an object of strings")
    for name, value in env.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name or not is_encodable(name):
            refuse(f"{field}: every name", "a non-empty string without '=', NUL or lone surrogates")
        if not isinstance(value, str) or "\0" in value or not is_encodable(value):
            refuse(f"{field}: every value", "a string without NUL or lone surrogates")


def check_path(field: str, path: Any) -> None:
    """Check an optional path. Raise `InvalidRequestError` with `field` (Q5)."""
    if not is_path(path):
        refuse(field, "a non-empty string without NUL or lone surrogates, or absent")


def run_directory(request: RunRequest, config: RunConfig, files: FileSystem) -> str:
    """Return a run's absolute working directory: from the request, else the configuration, else this process (S4)."""
    directory = request.working_dir if request.working_dir is not None else config.default_working_dir
    if not isinstance(directory, str):
        return files.cwd
    return directory if directory.startswith("/") else posixpath.join(files.cwd, directory)


def effective_timeout(request: RunRequest, config: RunConfig) -> float | None:
    """Return a run's time limit in seconds, from the request or the configuration; None for no limit (K1, Q5)."""
    return (request.timeout if request.timeout is not None else config.default_timeout) or None


def effective_idle_timeout(config: RunConfig, timeout: float | None) -> float | None:
    """Return the limit in seconds of a run without progress; None if the configured limit is zero (K2).

    A default applies if neither this limit nor a time limit is set, so that no run stays for ever by accident.
    """
    if config.idle_timeout is None:
        return DEFAULT_IDLE_TIMEOUT if timeout is None else None
    return config.idle_timeout or None


class _RunFiles:
    """The file system for checks of extensions: relative paths refer to the run's working directory."""

    def __init__(self, request: RunRequest, config: RunConfig, files: FileSystem) -> None:
        self._request = request
        self._config = config
        self._files = files

    @property
    def cwd(self) -> str:
        return run_directory(self._request, self._config, self._files)

    def is_dir(self, path: str) -> bool:
        return self._files.is_dir(path)

    def is_file(self, path: str) -> bool:
        return self._files.is_file(path)


def _check_prompt(prompt: Any) -> None:
    if not isinstance(prompt, str) or not prompt.strip():
        refuse("prompt", "a string with more than white space")
    if not is_encodable(prompt):
        refuse("prompt", "text that can be encoded as UTF-8, without lone surrogates")


def _check_labels(labels: Any) -> None:
    if not isinstance(labels, Mapping) or len(labels) > _MOST_LABELS:
        refuse("labels", f"an object of at most {_MOST_LABELS} strings")
    for name, value in labels.items():
        if not isinstance(name, str) or not _LABEL_NAME.fullmatch(name):
            refuse("labels: every name", "1 to 64 letters, digits, '.', '_', '-' or '/', the first a letter or a digit")
        if not is_short_text(value, _LONGEST_LABEL):
            refuse("labels: every value", f"a string of 1 to {_LONGEST_LABEL} bytes without control characters")


def _check_mask(mask: Any) -> None:
    if not isinstance(mask, tuple | list) or not all(isinstance(name, str) and name for name in mask):
        refuse("config.mask", "a list of environment variable names")


def _check_optional_seconds(field: str, seconds: Any) -> None:
    if seconds is not None and not is_seconds(seconds):
        refuse(field, "a finite number of seconds, zero or more, or absent")


def _check_line_limit(limit: Any) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        refuse("config.max_line_bytes", "a whole number of bytes, 1 or more")
