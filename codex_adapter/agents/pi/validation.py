"""Check a request for pi and its configuration before a process is started (Q1 to Q6)."""

from __future__ import annotations

from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.extensions import RunOptions, read_extensions
from codex_adapter.core import request_checks
from codex_adapter.core.checks import refuse
from codex_adapter.core.extension_checks import with_defaults
from codex_adapter.core.request_checks import FileSystem, check_path, check_run_config
from codex_adapter.request import RunRequest

__all__ = ["check_config", "check_request"]


def check_request(request: RunRequest, config: PiConfig, files: FileSystem) -> RunOptions:
    """Check a request against a configuration and return its options (Q1 to Q6, AG12).

    Raise `InvalidRequestError` or `UnsupportedCapabilityError` for the first failure.
    """
    options = request_checks.check_request(request, config, files, read_extensions, check_config)
    options = with_defaults(options, config)
    if options.provider is not None and options.model is None:
        # The CLI ignores the flag, and the prompt would reach the provider of its own default.
        refuse(keys.PROVIDER, "used with a model, from the request or config.model: pi ignores a provider without one")
    return options


def check_config(config: PiConfig) -> None:
    """Check a configuration without a request. Raise `InvalidRequestError` if it is not valid. (Q5, N3)"""
    check_run_config(config)
    if config.agent_dir is not None:
        check_path("config.agent_dir", config.agent_dir)
