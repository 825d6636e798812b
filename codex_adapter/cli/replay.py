"""Execute `codex-adapter replay`: show recorded output of an agent as runs, one after the other (C2)."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from codex_adapter import RunHandle, open_replay
from codex_adapter.cli.agent_options import add_agent_kind, examples_for, find_agents, the_agent
from codex_adapter.cli.arguments import Command, Once, Parser, form_of_a_run, one_of, seconds
from codex_adapter.cli.drive_run import drive_run
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import effective_form, run_view
from codex_adapter.cli.signals import StopSignals

__all__ = ["COMMAND"]

_DESCRIPTION = """\
Show recorded standard output of an agent as a live run would show it. Each file is a run with its own completion.

exit status: as for `run`; for several files, the first that is not zero.
"""
_EXAMPLES = """\
  codex-adapter replay recorded.jsonl
  codex-adapter replay --interval 0.5 --format pretty recorded.jsonl
  codex-adapter replay --exit-status SIGKILL killed.jsonl
"""
_STDIN = 0


def _parser(words: Sequence[str]) -> Parser:
    [agent] = find_agents(words)[:1]
    parser = Parser("replay", "[OPTIONS] FILE...", _DESCRIPTION, examples_for(agent, "replay", _EXAMPLES))
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a recording; - for standard input")
    add_agent_kind(parser)
    add("--interval", action=Once, type=seconds, metavar="SECONDS", help="wait before each line (default: 0)")
    status = "how the agent ended: 0 to 255, or a signal such as SIGTERM (default: 0)"
    add("--exit-status", action=Once, type=_return_code, metavar="N", help=status)
    payloads = "metadata, or full with input and output of tools (default: full for pretty, else metadata)"
    add("--tool-payloads", action=Once, type=one_of("metadata", "full"), metavar="WHICH", help=payloads)
    form = "jsonl, pretty, or text for the final text alone (default: pretty on a terminal, else jsonl)"
    add("--format", action=Once, type=form_of_a_run, metavar="FORMAT", help=form)
    add("--quiet", action="store_true", help="do not report on standard error why a run failed")
    return parser


def _return_code(text: str) -> int:
    """Return a return code as `subprocess` defines it: negative for a signal."""
    number = signal.Signals.__members__.get(text)
    if number is not None:
        return -number
    if text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= 255:
        return int(text)
    raise argparse.ArgumentTypeError("must be a number from 0 to 255, or the name of a signal such as SIGKILL")


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    if options.files.count("-") > 1:
        raise UsageError("Standard input can be replayed only once. Specify - once")
    agent = the_agent(options)
    form = effective_form(options.format, output)
    full = (options.tool_payloads or ("full" if form == "pretty" else "metadata")) == "full"
    names = OptionNames(agent.options, options)
    statuses: list[int] = []
    for file in options.files:

        def opening(recording: str | int = _STDIN if file == "-" else file) -> AbstractAsyncContextManager[RunHandle]:
            return open_replay(
                recording,
                agent=agent.kind,
                exit_status=options.exit_status or 0,
                interval=options.interval or 0.0,
                full_payloads=full,
            )

        view = run_view(form, output)
        statuses.append(await drive_run(opening, view, output, stop, form=form, quiet=options.quiet, names=names))
        if stop.exit_status is not None:
            break
    return next((status for status in statuses if status), 0)


COMMAND = Command(_parser, _perform)
