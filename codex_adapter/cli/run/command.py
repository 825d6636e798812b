"""Execute `codex-adapter run`: one run of an agent (C1)."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio
from msgspec.structs import replace

from codex_adapter import RunHandle, RunRequest, open_run
from codex_adapter.agent import Agent
from codex_adapter.cli.agent_options import examples_for, find_agents, the_agent
from codex_adapter.cli.arguments import Command, Parser
from codex_adapter.cli.drive_run import drive_run
from codex_adapter.cli.errors import report_error
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import effective_form, run_view
from codex_adapter.cli.run.options import add_options, read_request
from codex_adapter.cli.signals import StopSignals
from codex_adapter.core.extension_keys import ADD_DIRS
from codex_adapter.file_systems import Inquiry, inquire

if TYPE_CHECKING:
    from codex_adapter.cli.output_file import OutputFile

__all__ = ["COMMAND"]

_PATIENCE: Final = 1.0

_DESCRIPTION = """\
Run {} once. Events are written as JSON Lines. The last line is the completion.

exit status:
  0              The run succeeded: `ok` of its completion is true.
  1              The agent exited with 0, but the run did not succeed.
  the agent's    The agent exited with another status.
  2              The command line is wrong, or the request was refused.
  124            A time limit passed.
  125            Another failure of the adapter.
  126, 127       The agent CLI cannot be executed, or was not found.
  128+n          Signal n killed the agent, or stopped this command (SIGINT, SIGTERM or SIGHUP). A second signal kills
                 the agent.
"""
_SANDBOX_OPTION = "--sandbox"
_IN_A_CONTAINER = """
In most containers, the sandbox of the agent cannot start. Then the run is not `ok`, even if the agent exits with 0.
`codex-adapter doctor` tries the sandbox. Allow user namespaces. If the container itself is the sandbox,
use --sandbox danger-full-access.
"""
_EXAMPLES = """\
  codex-adapter run 'Fix the failing test'
  codex-adapter run --working-dir ~/src/project --timeout 600 - < prompt.md
  codex-adapter run --format text 'What does this project do?'
  codex-adapter run --resume last 'Now add a test for it'
  codex-adapter run --sandbox read-only --output-schema review.json 'Review the last commit'
  codex-adapter run --request request.json --timeout 600
"""


def _parser(words: Sequence[str]) -> Parser:
    agent = find_agents(words)[0]
    has_sandbox = any(_SANDBOX_OPTION in option.names for option in agent.options)
    description = _DESCRIPTION.format(agent.name) + (_IN_A_CONTAINER if has_sandbox else "")
    parser = Parser("run", "[OPTIONS] [PROMPT]", description, examples_for(agent, "run", _EXAMPLES))
    add_options(parser, words)
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    form = effective_form(options.format, output)
    agent = the_agent(options)
    answer = _answer_file(options.last_message)

    @asynccontextmanager
    async def opening() -> AsyncIterator[RunHandle]:
        request, config = await read_request(options, agent)
        if answer is not None:
            await _prepare(answer, request)
        # A person needs the commands to follow the run. A program can request them.
        if form == "pretty":
            config = replace(config, tool_payloads="full")
        async with open_run(request, agent=agent.kind, config=config) as run:
            if not options.quiet:
                await _report_notice(agent, request)
            yield run

    with ExitStack() as leaving:
        if answer is not None:
            leaving.callback(answer.close)
        return await drive_run(
            opening,
            run_view(form, output),
            output,
            stop,
            form=form,
            quiet=options.quiet,
            last_message=answer,
            names=OptionNames(agent.options, options),
        )


def _answer_file(path: str | None) -> OutputFile | None:
    if path is None:
        return None
    from codex_adapter.cli.output_file import OutputFile  # noqa: PLC0415 - most runs need no file

    return OutputFile(path, "--last-message")


async def _prepare(answer: OutputFile, request: RunRequest) -> None:
    """Open the directory of the final text before the agent can change the way to it. Raise `UsageError` (C25)."""
    place = request.working_dir or "."
    more = request.extensions.get(ADD_DIRS)
    added = [each for each in more if isinstance(each, str)] if isinstance(more, list) else []
    writes = [place, *(str(Path(place, each)) for each in added)]

    def prepare(inquiry: Inquiry) -> None:
        inquiry.at("file of --last-message", answer.path)
        answer.prepare(writes)

    await inquire(prepare)


async def _report_notice(agent: Agent, request: RunRequest) -> None:
    """Write the agent's notice for a person to standard error before the run (S11)."""
    with trio.move_on_after(_PATIENCE):
        notice = await trio.to_thread.run_sync(agent.notice, request, abandon_on_cancel=True)
        if notice is not None:
            report_error(notice)


COMMAND = Command(_parser, _perform)
