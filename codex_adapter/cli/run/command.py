"""`codex-adapter run`: one run of the agent (C1)."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import trio
from msgspec.structs import replace

from codex_adapter import RunHandle, RunRequest, open_run
from codex_adapter.agent import Agent
from codex_adapter.cli.agent_options import the_agent
from codex_adapter.cli.arguments import Command, Parser
from codex_adapter.cli.drive_run import drive_run
from codex_adapter.cli.errors import UsageError, report_error
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import effective_form, run_view
from codex_adapter.cli.run.options import add_options, read_request
from codex_adapter.cli.signals import StopSignals
from codex_adapter.file_systems import Inquiry, inquire

__all__ = ["COMMAND"]

_PATIENCE: Final = 1.0

_DESCRIPTION = """\
One run of the Codex CLI. Its events come as JSON Lines, the last line is its completion.

exit status: the agent's own; 128+n when it died of signal n; 2 for a wrong command line or a refused request;
124 after a time limit; 126 and 127 when the CLI cannot be executed or found; 125 for any other failure; 128+n when
we were asked to stop by SIGINT, SIGTERM or SIGHUP. A second signal kills.

In most containers the sandbox of the CLI cannot start: its commands fail, and the run ends with status 0 but is not
`ok`. `codex-adapter doctor` tries it. Allow user namespaces, or, where the container is the sandbox, use
--sandbox danger-full-access.
"""
_EXAMPLES = """\
  codex-adapter run 'Fix the failing test'
  codex-adapter run --working-dir ~/src/project --timeout 600 - < prompt.md
  codex-adapter run --format text 'What does this project do?'
  codex-adapter run --resume last 'Now add a test for it'
  codex-adapter run --sandbox read-only --output-schema review.json 'Review the last commit'
  codex-adapter run --request request.json --model gpt-5.1-codex
"""


def _parser(words: Sequence[str]) -> Parser:
    parser = Parser("run", "[OPTIONS] [PROMPT]", _DESCRIPTION, _EXAMPLES)
    add_options(parser, words)
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    form = effective_form(options.format, output)
    agent = the_agent(options)

    @asynccontextmanager
    async def opening() -> AsyncIterator[RunHandle]:
        if options.last_message is not None:
            await _refuse_what_cannot_hold(options.last_message)
        request, config = await read_request(options, agent)
        # A person who reads along wants to see the commands; a program that wants them asks for them.
        if form == "pretty":
            config = replace(config, tool_payloads="full")
        async with open_run(request, agent=agent.kind, config=config) as run:
            if not options.quiet:
                await _report_notice(agent, request)
            yield run

    return await drive_run(
        opening,
        run_view(form, output),
        output,
        stop,
        form=form,
        quiet=options.quiet,
        last_message=options.last_message,
        names=OptionNames(agent.options, options),
    )


async def _refuse_what_cannot_hold(last_message: str) -> None:
    """Raise `UsageError` for a file that the answer cannot be written to: to open a pipe could take for ever (C6)."""
    from codex_adapter.cli.replacement import is_replaceable  # noqa: PLC0415 - most runs need no file

    def look(inquiry: Inquiry) -> bool:
        with suppress(OSError):  # there is no current directory
            inquiry.at("file of --last-message", last_message)
        return is_replaceable(last_message)

    if not await inquire(look):
        raise UsageError(
            "--last-message must be a file, not a pipe, in a directory that exists; give the path of a file"
        )


async def _report_notice(agent: Agent, request: RunRequest) -> None:
    """Write what a person should know before the run to standard error (S11)."""
    with trio.move_on_after(_PATIENCE):
        notice = await trio.to_thread.run_sync(agent.notice, request, abandon_on_cancel=True)
        if notice is not None:
            report_error(notice)


COMMAND = Command(_parser, _perform)
