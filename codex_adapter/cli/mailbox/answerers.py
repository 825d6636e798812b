"""Who is to answer in place of a person, and how a failure of theirs ends the command (C12, I17)."""

from __future__ import annotations

import argparse
from typing import Final

from codex_adapter import AdapterError, BackendError, Completion, RunRequest
from codex_adapter.cli.agent_options import read_config, read_environment
from codex_adapter.cli.drive_run import exit_status, explain
from codex_adapter.cli.errors import report_error
from codex_adapter.cli.mailbox.options import answering_agent
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.present.lines import printable
from codex_adapter.cli.signals import StopSignals
from codex_adapter.protocols.mailbox.answerers import AgentAnswerer, Answerer, AnswerFailed, CommandAnswerer
from codex_adapter.runtime.backend import AgentBackend

__all__ = ["FAILED", "answering", "status_of_failure"]

FAILED: Final = 1
_ANY_PROMPT: Final = "."


async def answering(options: argparse.Namespace) -> Answerer | None:
    """Who answers; None where that is nobody of ours. Raises `UsageError`, and `AnswerFailed` where it cannot be."""
    if options.answer is None:
        return None
    agent = answering_agent(options)
    if agent is None:
        return CommandAnswerer(options.answer, timeout=options.timeout or None)
    backend = AgentBackend(agent, read_config(options, agent, "no_tools"))
    request = RunRequest(
        prompt=_ANY_PROMPT,
        timeout=options.timeout,
        env=read_environment(options.env or ()),
    )
    try:
        await backend.check(agent.restricted(request))
    except AdapterError as error:
        raise AnswerFailed(str(error), error) from None
    return AgentAnswerer(agent, backend.open_run, request)


def status_of_failure(failure: AnswerFailed, options: argparse.Namespace, stop: StopSignals) -> int:
    """Say why there was no answer, and what to do, and give the exit status: as of `run` for the agent (E1)."""
    outcome, agent = failure.outcome, answering_agent(options)
    names = OptionNames(() if agent is None else agent.options, options)
    report_error(names(" ".join(printable(str(failure)).split())))
    if isinstance(outcome, Completion | BackendError):
        explain(outcome, names, with_hint=True)
    return FAILED if outcome is None else exit_status(outcome, stop) or FAILED
