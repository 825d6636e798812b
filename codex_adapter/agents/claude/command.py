"""Build the argv and the environment of a run from its checked options (S1, S2, S5)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions

__all__ = ["QUIET", "TEMPORARY_DIRECTORIES", "build_argv", "config_directory", "merge_environment"]

QUIET: Final = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
TEMPORARY_DIRECTORIES: Final = ("CLAUDE_CODE_TMPDIR", "TMPDIR")
"""The variables of the CLI's own temporary files, and of those of its sandbox and its commands."""
_TOOLS_FOR_A_PERSON: Final = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")
_WAIT_FOR_SERVERS: Final = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_TIMEOUT": "60000"}
"""The CLI waits for its MCP servers before the first request, each for at most 60 seconds."""
_PERMISSIONS: Final = {
    "read-only": "dontAsk",
    "workspace-write": "acceptEdits",
    "danger-full-access": "bypassPermissions",
}


def build_argv(binary: str, options: RunOptions, *, cwd: str) -> list[str]:
    """Build the argv of a run in the directory `cwd` whose prompt is read from standard input.

    The permission mode limits the file tools, and the sandbox limits commands. No tool is allowed by its name, because
    such a rule also allows the tool outside of the directory.
    """
    argv = [binary, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    # Without the first, the CLI denies a permission as if a person could still grant it. Without the second, older
    # releases offer tools that wait for a person.
    argv += ["--permission-prompt-tool", "stdio", f"--disallowedTools={','.join(_TOOLS_FOR_A_PERSON)}"]
    argv += ["--permission-mode", _PERMISSIONS[options.sandbox_mode]]
    # Settings of the project can start programs: hooks, MCP servers, helpers for keys.
    argv += ["--setting-sources", "user,project,local" if options.trust_project else "user"]
    argv += ["--settings", msgspec.json.encode(_settings(options, cwd)).decode()]
    if options.partial_messages:
        argv.append("--include-partial-messages")
    if options.model is not None:
        argv += ["--model", options.model]
    if options.max_turns is not None:
        argv += ["--max-turns", str(options.max_turns)]
    if options.max_budget is not None:
        argv += ["--max-budget-usd", f"{options.max_budget:.6f}"]
    if options.output_schema is not None:
        argv += ["--json-schema", msgspec.json.encode(options.output_schema).decode()]
    if options.tools == "none":
        # Without its own tools it would still have those of MCP servers.
        argv += ["--tools", "", "--strict-mcp-config"]
    # These take all words up to the next flag.
    argv += [f"--add-dir={directory}" for directory in options.add_dirs]
    session = options.resume or options.fork
    if session is not None:
        argv += ["--continue"] if session.id is None else ["--resume", session.id]
    if options.fork is not None:
        argv.append("--fork-session")
    return argv


def merge_environment(
    parent: Mapping[str, str], config: ClaudeConfig, request_env: Mapping[str, str], options: RunOptions
) -> dict[str, str]:
    """Return the environment of a run as a new dictionary.

    Later sources win: the defaults for unattended use, the parent, `CLAUDE_CONFIG_DIR`, the configuration, the request
    (S5).
    """
    merged = {**QUIET, **(_WAIT_FOR_SERVERS if options.require_servers else {}), **parent}
    if config.config_dir is not None:
        merged["CLAUDE_CONFIG_DIR"] = config.config_dir
    merged.update(config.env)
    merged.update(request_env)
    if options.sandbox_mode == "danger-full-access" and os.geteuid() == 0:
        # As root without permission rules, the CLI starts only with this very value.
        merged["IS_SANDBOX"] = "1"
    return merged


def config_directory(env: Mapping[str, str]) -> str | None:
    """Return the directory of the CLI's own files, or None if `env` does not name it. The path can be relative."""
    return env.get("CLAUDE_CONFIG_DIR") or (f"{env['HOME']}/.claude" if env.get("HOME") else None)


def _settings(options: RunOptions, cwd: str) -> dict[str, Any]:
    """Return the settings of a run, which win over those of the user and the project."""
    if not options.sandboxed:
        return {"sandbox": {"enabled": False}}
    sandbox: dict[str, Any] = {
        "enabled": True,
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
    }
    if options.sandbox_mode == "read-only":
        # The CLI's own temporary directory stays writable: every command writes its directory there.
        sandbox["filesystem"] = {"denyWrite": [cwd, *options.add_dirs]}
    return {"sandbox": sandbox}
