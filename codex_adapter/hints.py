"""Causes of failures: a closed list of words, and for each the sentence that says what to do (F9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

__all__ = ["ADVICE", "Hint"]

Hint = Literal[
    "not_logged_in",
    "forbidden",
    "quota_exceeded",
    "rate_limited",
    "overloaded",
    "server_error",
    "stream_cut",
    "no_network",
    "endpoint_unknown",
    "model_unknown",
    "context_too_long",
    "input_too_long",
    "policy_refused",
    "answer_incomplete",
    "request_rejected",
    "configuration_broken",
    "flag_unknown",
    "mcp_server_failed",
    "not_a_git_repository",
    "session_unknown",
    "sandbox_unavailable",
    "time_limit",
    "idle_limit",
    "tool_limit",
    "cli_not_found",
    "cli_not_executable",
    "home_missing",
]
"""Why a run failed; what each word means is in the rule on hints (F9)."""

ADVICE: Final[Mapping[Hint, str]] = {
    "not_logged_in": "not logged in, or the key was refused: run `codex-adapter login`, or set CODEX_API_KEY",
    "forbidden": "the service refuses this account, key or place: check what the account may do",
    "quota_exceeded": "the quota is used up or the plan does not cover it: check plan and billing, or wait",
    "rate_limited": "too many requests: wait and try again (the CLI before 0.155 also says so of a used-up quota)",
    "overloaded": "the service or the model has no capacity: try again later, or another model",
    "server_error": "the service failed: try again later",
    "stream_cut": "the answer of the model was cut off: try again",
    "no_network": "the service cannot be reached: check the network, the proxy and the address of the model provider",
    "endpoint_unknown": "the address answers, but not to this: check `base_url` of the model provider",
    "model_unknown": "there is no such model, or not for this account: choose another model",
    "context_too_long": "the session no longer fits into the model's context: begin a new one, or say less",
    "input_too_long": "the prompt is longer than the CLI or the service takes: shorten it, or put it into a file",
    "policy_refused": "the service refused the prompt or the answer by its policy: word the task in another way",
    "answer_incomplete": "the model stopped before its answer was complete: ask for less at once",
    "request_rejected": "the service takes no such request: check model, reasoning effort and output schema",
    "configuration_broken": "the configuration of the CLI is broken: check `config.toml` and the values of `--config`",
    "flag_unknown": "this release of the CLI does not take the command line: run `codex-adapter doctor`",
    "mcp_server_failed": "an MCP server that the run needs did not start: try its command by itself",
    "not_a_git_repository": "the CLI runs only inside a git repository or a trusted directory: run it in one",
    "session_unknown": "there is no such session: begin a new one",
    "sandbox_unavailable": (
        "the CLI cannot start its sandbox, so commands fail: `codex-adapter doctor` tries it and names the next step"
    ),
    "time_limit": "the run took longer than its `timeout`: raise the limit, or ask for less at once",
    "idle_limit": "the agent made no progress for as long as `idle_timeout`: try again, or raise the limit",
    "tool_limit": "a tool call took longer than `tool_timeout`: check why it hangs, or raise the limit",
    "cli_not_found": "no Codex CLI was found: install one, or name its path in CODEX_BINARY",
    "cli_not_executable": "the Codex CLI cannot be executed: `codex-adapter doctor` checks its file",
    "home_missing": "CODEX_HOME is not a directory: create the directory, or unset the variable",
}
"""One sentence for each hint: the problem, and the next step."""
