"""`codex-adapter run`: one run of the agent (C1)."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from msgspec.structs import replace

from codex_adapter import RunHandle, open_run
from codex_adapter.cli.arguments import Command, Parser
from codex_adapter.cli.conduct import conduct
from codex_adapter.cli.options import TOOL_PAYLOADS, add_options, read_request
from codex_adapter.cli.output import Output
from codex_adapter.cli.signals import StopSignals
from codex_adapter.cli.views import JsonLines, choose_view

__all__ = ["COMMAND"]

_DESCRIPTION = """\
One run of the Codex CLI. Its events come as JSON Lines, the last line is its completion.

exit status: the agent's own; 128+n when it died of signal n; 2 for a wrong command line or a refused request;
124 after a time limit; 126 and 127 when the CLI cannot be executed or found; 125 for any other failure; 128+n when
we were asked to stop by SIGINT, SIGTERM or SIGHUP. A second signal kills.
"""
_EXAMPLES = """\
  codex-adapter run 'Fix the failing test'
  codex-adapter run --working-dir ~/src/project --timeout 600 - < prompt.md
  codex-adapter run --resume last 'Now add a test for it'
  codex-adapter run --sandbox read-only --output-schema review.json 'Review the last commit'
  codex-adapter run --request request.json --model gpt-5.1-codex
"""


def _parser() -> Parser:
    parser = Parser("run", "[OPTIONS] [PROMPT]", _DESCRIPTION, _EXAMPLES)
    add_options(parser)
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    make_view = choose_view(options.format, output)

    @asynccontextmanager
    async def opening() -> AsyncIterator[RunHandle]:
        request, config = await read_request(options)
        # Whoever reads along wants to see the commands; a program that wants them says so.
        if make_view is not JsonLines and isinstance(request.extensions, Mapping):
            request = replace(request, extensions={TOOL_PAYLOADS: "full", **request.extensions})
        async with open_run(request, config=config) as run:
            yield run

    return await conduct(opening, make_view(), output, stop)


COMMAND = Command(_parser, _perform)
