"""Who is to answer in place of a person, and how a failure of theirs ends the command (C12, I17)."""

from __future__ import annotations

import argparse
from typing import Final

from codex_adapter import AdapterError, BackendError, CodexBackend, Completion, RunRequest
from codex_adapter.agents.codex.restricted import RestrictedCodex
from codex_adapter.cli.agent_options import read_config, read_environment
from codex_adapter.cli.arguments import in_our_words
from codex_adapter.cli.drive_run import exit_status, explain
from codex_adapter.cli.errors import complain
from codex_adapter.cli.mailbox.options import AGENT
from codex_adapter.cli.present.narration import printable
from codex_adapter.cli.signals import StopSignals
from codex_adapter.protocols.mailbox.answerers import AgentAnswerer, Answerer, AnswerFailed, CommandAnswerer

__all__ = ["FAILED", "answering", "status_of_failure"]

FAILED: Final = 1
_MODEL: Final = "agent_api.config.model.v1"
_ANY_PROMPT: Final = "."


async def answering(options: argparse.Namespace) -> Answerer | None:
    """Who answers; None where that is nobody of ours. Raises `UsageError`, and `AnswerFailed` where it cannot be."""
    if options.answer is None:
        return None
    if options.answer != AGENT:
        return CommandAnswerer(options.answer, timeout=options.timeout or None)
    backend = CodexBackend(read_config(options, "no_tools"))
    request = RunRequest(
        prompt=_ANY_PROMPT,
        timeout=options.timeout,
        env=read_environment(options.env or ()),
        extensions={} if options.model is None else {_MODEL: options.model},
    )
    try:
        await backend.check(request)
    except AdapterError as error:
        raise AnswerFailed(str(error), error) from None
    return AgentAnswerer(RestrictedCodex(), backend.open_run, request)


def status_of_failure(failure: AnswerFailed, stop: StopSignals) -> int:
    """Say why there was no answer, and what to do, and give the exit status: as of `run` for the agent (E1)."""
    outcome = failure.outcome
    complain(in_our_words(" ".join(printable(str(failure)).split())))
    if isinstance(outcome, Completion | BackendError):
        explain(outcome, with_hint=True)
    return FAILED if outcome is None else exit_status(outcome, stop) or FAILED
