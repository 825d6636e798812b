"""Check a request for Claude Code and its configuration before a process is started (Q1 to Q6)."""

from __future__ import annotations

from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions, read_extensions
from codex_adapter.core import request_checks
from codex_adapter.core.extension_checks import with_defaults
from codex_adapter.core.request_checks import FileSystem, check_path, check_run_config
from codex_adapter.request import RunRequest

__all__ = ["check_config", "check_request"]


def check_request(request: RunRequest, config: ClaudeConfig, files: FileSystem) -> RunOptions:
    """Check a request against a configuration and return its options (Q1 to Q6).

    Raise `InvalidRequestError` or `UnsupportedCapabilityError` for the first failure.
    """
    options = request_checks.check_request(request, config, files, read_extensions, check_config)
    return with_defaults(options, config)


def check_config(config: ClaudeConfig) -> None:
    """Check a configuration without a request. Raise `InvalidRequestError` if it is not valid. (Q5, N3)"""
    check_run_config(config)
    if config.config_dir is not None:
        check_path("config.config_dir", config.config_dir)
