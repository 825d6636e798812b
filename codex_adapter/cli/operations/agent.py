"""Execute `codex-adapter operations --agent`: an agent works on a task through operations (C11)."""

from __future__ import annotations

import argparse
import os
import select
import signal
from collections.abc import Sequence
from typing import Any, Final

from codex_adapter import Completion, RunRequest, UnsupportedCapabilityError
from codex_adapter.agent import Agent
from codex_adapter.cli.agent_options import (
    FOR_COMMANDS,
    add_backend_options,
    agent_kind,
    find_agents,
    read_config,
    read_environment,
    the_agent,
)
from codex_adapter.cli.agent_places import require_outside
from codex_adapter.cli.arguments import Once, Parser, whole_number
from codex_adapter.cli.drive_run import exit_status, explain
from codex_adapter.cli.errors import FAILURE_STATUS, UsageError, report_error
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.prompts import require_prompt
from codex_adapter.cli.serve.standard_io import StandardTransport
from codex_adapter.cli.signals import StopSignals
from codex_adapter.errors import DEFAULT_AGENT
from codex_adapter.protocols.operations.agent import MOST_TURNS, AgentWork
from codex_adapter.protocols.operations.agent_decisions import DecisionLines, PersonDecisions
from codex_adapter.protocols.operations.agent_records import WorkEnd
from codex_adapter.protocols.operations.executor import OperationExecutor
from codex_adapter.protocols.operations.serve import Decide
from codex_adapter.runtime.backend import AgentBackend

__all__ = ["add_work_options", "check_work_options", "read_task", "work_with_agent"]

_STDIN: Final = 0
_READ_SIZE: Final = 65_536
_LIMIT_PASSED: Final = 124
_UNDECIDED: Final = 75
"""EX_TEMPFAIL of sysexits.h: the work continues after a later decision."""
_READER_LEFT: Final = 128 + signal.SIGPIPE


def add_work_options(parser: Parser, words: Sequence[str]) -> None:
    """Add the options for an agent that works on a task."""
    title = "an agent that works on a task (--containment also applies to commands without an agent)"
    _add_options(parser.add_argument_group(title), find_agents(words))


def check_work_options(options: argparse.Namespace) -> None:
    """Raise `UsageError` for options of an agent without an agent, or without a task (E5)."""
    if options.agent is None:
        for name in _names(the_agent(options)):
            if name not in FOR_COMMANDS and getattr(options, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')} needs an agent. Specify --agent {DEFAULT_AGENT}, too")
    elif options.audit:
        raise UsageError("--agent and --audit exclude each other. Use one of them")
    elif not (options.task or "").strip():
        raise UsageError("--task is missing. Describe the task of the agent")
    elif options.task == "-" and options.approve is None:
        raise UsageError(
            "--task - cannot read standard input, which has the decisions. Specify the task as a text, or use "
            "--approve ask"
        )


async def read_task(options: argparse.Namespace, stop: StopSignals) -> str | None:
    """Return the task, or None after a stop signal. With `--approve ask`, piped input is added to the task (C15).

    Raise `UsageError`.
    """
    if options.agent is None or options.approve is None:
        return options.task or ""
    with stop.interrupting():
        return await require_prompt(options.task, "task")
    return None


async def work_with_agent(
    options: argparse.Namespace,
    task: str,
    runtime: OperationExecutor,
    transport: StandardTransport,
    stop: StopSignals,
    *,
    decide: Decide | None = None,
) -> int:
    """Let the agent work on a task, and return the exit status (O17).

    `decide` asks the person at the terminal. Without it, decisions are read from standard input. Raise `UsageError` and
    `StateError`.
    """
    agent = the_agent(options)
    require_outside(options, agent, options.workspace)
    request = RunRequest(
        prompt=task,
        working_dir=options.workspace,
        timeout=options.timeout,
        env=read_environment(options.env or ()),
    )
    try:
        agent.with_schema(agent.restricted(request), {})
    except UnsupportedCapabilityError as error:
        raise UsageError(f"--agent: {error}. Use another agent") from None
    work = AgentWork(
        runtime,
        agent,
        AgentBackend(agent, read_config(options, agent, "no_tools")).open_run,
        request,
        transport,
        decisions=PersonDecisions(decide)
        if decide is not None
        else DecisionLines(transport.receive_some, _read_available),
        turns=options.turns or MOST_TURNS,
    )
    with stop.governing(work):
        ended = await work.run()
    if ended.error is not None:
        report_error(ended.error)
    return _exit_status(ended, stop, OptionNames(agent.options, options))


def _read_available() -> bytes | None:
    """Return the bytes that arrived on standard input, empty at its end; None if none arrived yet."""
    try:
        return os.read(_STDIN, _READ_SIZE) if select.select([_STDIN], [], [], 0)[0] else None
    except (OSError, ValueError):
        return None


def _add_options(parser: Any, agents: Sequence[Agent]) -> None:
    add = parser.add_argument
    add("--agent", action=Once, type=agent_kind, metavar="KIND", help=f"the kind of agent, such as {DEFAULT_AGENT}")
    add("--task", action=Once, metavar="TEXT", help="the task of the agent; with --approve ask: - for standard input")
    turns = f"the limit of turns (default: {MOST_TURNS})"
    add("--turns", action=Once, type=whole_number, metavar="N", help=turns)
    add_backend_options(parser, agents)


def _names(agent: Agent) -> list[str]:
    """Return the attributes of the options for an agent."""
    parser = argparse.ArgumentParser(add_help=False)
    _add_options(parser, [agent])
    return list(vars(parser.parse_args([])))


def _exit_status(ended: WorkEnd, stop: StopSignals, names: OptionNames) -> int:
    match ended.reason:
        case "completed":
            return 0
        case "turn_limit":
            return _LIMIT_PASSED
        case "awaiting_approval":
            return _UNDECIDED
        case "stopped":
            return stop.exit_status or _READER_LEFT
    return _status_of_failure(ended, stop, names)


def _status_of_failure(ended: WorkEnd, stop: StopSignals, names: OptionNames) -> int:
    """Return the exit status of the agent's failed run, as for `run` (E1)."""
    if ended.outcome is None:
        return FAILURE_STATUS
    explain(ended.outcome, names, with_hint=True)
    if isinstance(ended.outcome, Completion) and ended.outcome.status.success and ended.outcome.turn == "completed":
        return FAILURE_STATUS  # the agent answered, but not with operations
    return exit_status(ended.outcome, stop)
