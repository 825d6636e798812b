"""Select the agent or command that answers instead of a person, and report its failures (C12, I17)."""

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

__all__ = ["FAILED", "report_failure", "select_answerer"]

FAILED: Final = 1
_ANY_PROMPT: Final = "."


async def select_answerer(options: argparse.Namespace) -> Answerer | None:
    """Return the answerer, None if a person answers. Raise `UsageError`, and `AnswerFailed` if it cannot start."""
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


def report_failure(failure: AnswerFailed, options: argparse.Namespace, stop: StopSignals) -> int:
    """Report why no answer exists and the next step, and return the exit status: as for `run` for an agent (E1)."""
    outcome, agent = failure.outcome, answering_agent(options)
    names = OptionNames(() if agent is None else agent.options, options)
    report_error(names(" ".join(printable(str(failure)).split())))
    if isinstance(outcome, Completion | BackendError):
        explain(outcome, names, with_hint=True)
    return FAILED if outcome is None else exit_status(outcome, stop) or FAILED
