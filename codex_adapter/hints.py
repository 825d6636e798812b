"""List the causes of failures as a closed list of words, each with a sentence on what to do (F9)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

__all__ = ["ADVICE", "NO_ADVICE", "Hint"]

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
    "schema_ignored",
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
    "budget_limit",
    "turn_limit",
    "no_answer",
    "cli_not_found",
    "cli_not_executable",
    "home_missing",
]
"""The cause of a failure. The rule on hints explains each word (F9)."""

ADVICE: Final[Mapping[Hint, str]] = {
    "not_logged_in": ("The login is missing or refused. Log in to the agent, or set the key of your model provider."),
    "forbidden": "The service refuses this account, key or location. Check the permissions of the account.",
    "quota_exceeded": "The quota is used up, or the plan excludes this use. Check plan and billing, or wait.",
    "rate_limited": "The service received too many requests. Wait and try again.",
    "overloaded": "The service or the model has no capacity. Try again later or choose another model.",
    "server_error": "The service failed. Try again later.",
    "stream_cut": "The connection or the service cut off the model's answer. Try again.",
    "no_network": "The service cannot be reached. Check the network, the proxy and the address of the model provider.",
    "endpoint_unknown": "The server does not know the requested address. Check the address of the model provider.",
    "model_unknown": "The model does not exist, or this account cannot use it. Choose another model.",
    "context_too_long": "The session does not fit into the model's context. Start a new session or shorten the prompt.",
    "input_too_long": "The prompt is too long for the CLI or the service. Shorten it or put it into a file.",
    "policy_refused": "The policy of the service refused the prompt or the answer. Rephrase the task.",
    "answer_incomplete": "The model stopped before its answer was complete. Split the task into smaller parts.",
    "schema_ignored": (
        "The answer is not JSON, despite the output schema. Choose another model, or ask for JSON in the prompt."
    ),
    "request_rejected": "The service rejected the request. Check the model, its settings and the output schema.",
    "configuration_broken": "The configuration of the CLI is invalid. Check its files and the options of the run.",
    "flag_unknown": "This release of the CLI does not support the command line. Install a supported release.",
    "mcp_server_failed": "A required MCP server did not start. Run its command on its own to see the error.",
    "not_a_git_repository": (
        "The directory is neither a git repository nor trusted. Run the CLI in a repository or a trusted directory."
    ),
    "session_unknown": "The session does not exist. Start a new session.",
    "sandbox_unavailable": (
        "The CLI cannot start its sandbox, so commands fail. Run `codex-adapter doctor` for this agent."
    ),
    "time_limit": "The run exceeded its `timeout`. Raise the limit or split the task into smaller parts.",
    "idle_limit": "The agent made no progress for the time of `idle_timeout`. Try again or raise the limit.",
    "tool_limit": "A tool call exceeded `tool_timeout`. Check why it hangs, or raise the limit.",
    "budget_limit": "The run used up its own budget. Raise it or split the task into smaller parts.",
    "turn_limit": "The run reached its own limit of turns. Raise it or split the task into smaller parts.",
    "no_answer": "The turn had no answer of the model. Rephrase the prompt, which may be a command of the CLI.",
    "cli_not_found": "The program of the agent was not found. Install it, or pass its path.",
    "cli_not_executable": "The program of the agent cannot be executed. Run `codex-adapter doctor` for this agent.",
    "home_missing": "The directory of the agent's own files does not exist. Create it, or pass another directory.",
}
"""The advice for each hint, for any agent: the problem and the next step. `Agent.advice` has sentences of one agent."""

NO_ADVICE: Final[Mapping[Hint, str]] = MappingProxyType({})
"""No sentences of an agent."""
