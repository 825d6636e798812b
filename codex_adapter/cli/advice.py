"""What to do about a failure whose cause is known, in words for a person (C7, F9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from codex_adapter.errors import Hint

__all__ = ["ADVICE"]

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
    "model_unknown": "there is no such model, or not for this account: choose another with `--model`",
    "context_too_long": "the session no longer fits into the model's context: begin a new one, or say less",
    "input_too_long": "the prompt is longer than the CLI or the service takes: shorten it, or put it into a file",
    "policy_refused": "the service refused the prompt or the answer by its policy: word the task in another way",
    "answer_incomplete": "the model stopped before its answer was complete: ask for less at once",
    "request_rejected": "the service takes no such request: check model, reasoning effort and output schema",
    "configuration_broken": "the configuration of the CLI is broken: look at `config.toml` in CODEX_HOME",
    "flag_unknown": "this release of the CLI does not take the command line: run `codex-adapter doctor`",
    "mcp_server_failed": "an MCP server that the CLI needs did not start: check `mcp_servers` in its configuration",
    "not_a_git_repository": "the CLI runs only inside a git repository or a trusted directory",
    "session_unknown": "there is no such session in CODEX_HOME: begin a new one",
}
"""One sentence for each hint: what it means, and what to do."""
