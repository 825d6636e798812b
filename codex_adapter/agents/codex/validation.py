"""Check a request for the Codex CLI and its configuration before a process is started (Q1 to Q7)."""

from __future__ import annotations

import msgspec

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.extensions import ExecOptions, read_extensions
from codex_adapter.agents.codex.settings import Scope, check_settings
from codex_adapter.core import request_checks
from codex_adapter.core.extension_checks import with_defaults
from codex_adapter.core.request_checks import FileSystem, check_path, check_run_config
from codex_adapter.request import RunRequest

__all__ = ["check_config", "check_request"]


def check_request(request: RunRequest, config: CodexConfig, files: FileSystem) -> ExecOptions:
    """Check a request against a configuration and return its options (Q1, Q2, Q3, Q4, Q5, Q6, Q7).

    The order of the checks is: prompt, unknown extension keys, their values, contradictions, the configuration,
    environment, working directory, timeout, labels. Raise `InvalidRequestError` or `UnsupportedCapabilityError` for the
    first failure.
    """
    options = request_checks.check_request(request, config, files, read_extensions, check_config)
    options = with_defaults(options, config)
    return msgspec.structs.replace(options, settings=_all_settings(request, config, options))


def check_config(config: CodexConfig) -> None:
    """Check a configuration without a request. Raise `InvalidRequestError` if it is not valid. (Q5, Q7, N3)"""
    check_run_config(config)
    if config.codex_home is not None:
        check_path("config.codex_home", config.codex_home)
    check_settings("config.settings", config.settings, "run")


def _all_settings(request: RunRequest, config: CodexConfig, options: ExecOptions) -> tuple[str, ...]:
    """Return the settings of a run, those of the request last. Without tools, return none for tools. (Q4, Q7)"""
    if options.tools == "none":
        check_settings(keys.SETTINGS, request.extensions.get(keys.SETTINGS, {}), "no_tools")
    scope: Scope = "no_tools" if options.tools == "none" else "run"
    return (*check_settings("config.settings", config.settings, scope), *options.settings)
