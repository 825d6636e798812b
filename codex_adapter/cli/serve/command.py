"""Execute `codex-adapter serve`: many runs at once, for one supervisor on standard input and output (C9)."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import trio

from codex_adapter import AdapterError, BackendError, Gateway, SpawnError
from codex_adapter.agent import Agent
from codex_adapter.agents import agent_of
from codex_adapter.cli.agent_options import (
    add_agent_options,
    add_backend_options,
    agent_kind,
    find_agents,
    read_config,
    read_environment,
)
from codex_adapter.cli.arguments import Command, Once, Parser, one_of, path, whole_number
from codex_adapter.cli.errors import UsageError, explain_wait, report_error
from codex_adapter.cli.logs import add_log_option
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.output import Output
from codex_adapter.cli.serve.standard_io import ServiceManager, StandardTransport
from codex_adapter.cli.serve.turns_service import turn_services
from codex_adapter.cli.signals import StopSignals
from codex_adapter.cli.versions import installed_version
from codex_adapter.core.bounds import TEXT_LIMIT
from codex_adapter.daemon.conversation import MAX_MESSAGE_BYTES, serve
from codex_adapter.daemon.journal import Journal
from codex_adapter.daemon.jsonrpc import MOST_IN_A_BATCH
from codex_adapter.daemon.messages import Limits, ServerInfo
from codex_adapter.daemon.server import Settings
from codex_adapter.errors import DEFAULT_AGENT
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.request import RunConfig
from codex_adapter.runtime.backend import AgentBackend
from codex_adapter.runtime.descriptors import raise_limit

__all__ = ["COMMAND"]

_DESCRIPTION = """\
Run many agents at once for one supervisor, by JSON-RPC 2.0 on standard input and output. Each line is one message.
`codex-adapter schema` describes the messages. The options configure all runs; fields of a request override them.

exit status:
  0              After `exit`, at the end of standard input, or after SIGINT, SIGTERM or SIGHUP.
  2              The command line is wrong.
  125            Standard output could not be written.
"""
_EXAMPLES = """\
  codex-adapter serve --max-runs 100 --idle-timeout 300
  codex-adapter serve --journal ~/.local/state/runs --keep-days 30 --on-eof drain
  codex-adapter serve < requests.jsonl
"""
_Configs: TypeAlias = Sequence[tuple[Agent, RunConfig]]

_PATIENCE: Final = 1.0
_MAX_RUNS = 32
_GARBAGE = (20_000, 50, 100)


def _parser(words: Sequence[str]) -> Parser:
    parser = Parser("serve", "[OPTIONS]", _DESCRIPTION, _EXAMPLES)
    agents = find_agents(words)
    runs = parser.add_argument_group("the runs")
    kind = f"the kind of an agent to serve; repeatable (default: {DEFAULT_AGENT})"
    runs.add_argument("--agent", action="append", type=agent_kind, metavar="KIND", help=kind)
    add_backend_options(runs, agents)
    add_agent_options(runs, agents, "records")
    add = parser.add_argument_group("the daemon").add_argument
    most = f"the limit of concurrent runs (default: {_MAX_RUNS})"
    add("--max-runs", action=Once, type=whole_number, metavar="N", help=most)
    add("--no-queue", action="store_true", help="refuse runs above the limit instead of queueing them")
    add(
        "--on-eof",
        action=Once,
        type=one_of("cancel", "drain"),
        metavar="WHAT",
        help="at the end of standard input: cancel live runs, or drain to finish them (default: cancel)",
    )
    add_log_option(parser)
    add = parser.add_argument_group("the journal").add_argument
    journal = "write all records of each run to DIR/RUNID.jsonl"
    add("--journal", action=Once, type=path, metavar="DIR", help=journal)
    add("--journal-prompts", action="store_true", help="also write the prompt of each run, masked, to its first line")
    old = "remove the journals of runs that ended N or more days ago (default: never)"
    add("--keep-days", action=Once, type=whole_number, metavar="N", help=old)
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    env = read_environment(options.env or ())
    agents = [agent_of(kind) for kind in dict.fromkeys(options.agent or [DEFAULT_AGENT])]
    configs = [(agent, read_config(options, agent, default_timeout=options.timeout, env=env)) for agent in agents]
    if options.journal is None and (options.journal_prompts or options.keep_days is not None):
        raise UsageError("--journal-prompts and --keep-days need a journal. Specify --journal DIR, too")
    ask_release = options.journal is not None
    backends = [AgentBackend(*pair, ask_release=ask_release) for pair in configs]
    gateway = Gateway()
    for backend in backends:
        gateway.register(backend)
    # Existing objects live until the end, and objects of runs live long. Frequent collections would find little.
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    raise_limit()
    with stop.interrupting():
        journal = None if options.journal is None else await _journal(options)
        await _report_missing_programs(configs)
        explain_wait("the JSON-RPC messages of a supervisor on standard input, one a line, `initialize` first")
        settings = _settings(options, configs, backends[0], journal)
        await serve(gateway, settings, StandardTransport(output), governing=stop.governing)
    return 0


async def _report_missing_programs(configs: _Configs) -> None:
    """Write one line for each agent whose program cannot be executed. Each of its runs would fail (C9, S6)."""
    for agent, config in configs:
        look = partial(agent.find_program, config, {**os.environ, **config.env})
        try:
            with trio.move_on_after(_PATIENCE):
                await trio.to_thread.run_sync(look, abandon_on_cancel=True)
        except SpawnError as error:
            problem = OptionNames(agent.options).for_fields(error.advice or "Its program cannot be executed.")
            report_error(f"Warning: runs of {agent.name} cannot start. {problem}")
        except (AdapterError, OSError, RuntimeError, ValueError):
            pass  # a run reports it


def _settings(
    options: argparse.Namespace,
    configs: Sequence[tuple[Agent, RunConfig]],
    backend: AgentBackend,
    journal: Journal | None,
) -> Settings:
    return Settings(
        server=ServerInfo(name="codex-adapter", version=installed_version("codex-adapter")),
        limits=Limits(
            max_runs=options.max_runs or _MAX_RUNS,
            queue=not options.no_queue,
            max_message_bytes=MAX_MESSAGE_BYTES,
            max_batch=MOST_IN_A_BATCH,
            max_text_bytes=TEXT_LIMIT,
        ),
        containment=backend.containment_level,
        journal=journal,
        drain_on_eof=options.on_eof == "drain",
        notify=ServiceManager(os.environ).notify,
        services=turn_services(configs),
    )


async def _journal(options: argparse.Namespace) -> Journal:
    try:
        if options.journal:
            return await inquire(_open_journal, options)
    except BackendError:
        raise UsageError(
            "--journal: the directory does not answer. Check its file system, or specify another directory"
        ) from None
    except (OSError, ValueError):
        pass
    raise UsageError("--journal: the directory cannot be created or written to. Specify another directory")


def _open_journal(inquiry: Inquiry, options: argparse.Namespace) -> Journal:
    from codex_adapter.cli.output_file import refuse_links  # noqa: PLC0415 - for journals only

    inquiry.at("journal", options.journal)
    refuse_links(options.journal, "--journal")
    return Journal(Path(options.journal), prompts=options.journal_prompts, keep_days=options.keep_days)


COMMAND = Command(_parser, _perform)
