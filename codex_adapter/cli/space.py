"""Execute `codex-adapter space`: check a space, or list its contents (C14)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from codex_adapter.agents import agent_of
from codex_adapter.cli.arguments import Command, Parser, one_of
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.lines import Line, printable
from codex_adapter.cli.present.views import is_for_a_program, line_printer
from codex_adapter.cli.signals import StopSignals
from codex_adapter.cli.turn.client import error_text, open_client
from codex_adapter.cli.turn.options import add_space_options, asp_home, check_texts, space_reference
from codex_adapter.errors import DEFAULT_AGENT
from codex_adapter.protocols.turns import (
    AgentSpacesError,
    DescribeRequest,
    DescribeResponse,
    ResolveRequest,
    ResolveResponse,
    SpaceSpec,
)
from codex_adapter.records import encode_lines

if TYPE_CHECKING:
    from codex_adapter.protocols.turns import AgentSpacesClient

__all__ = ["COMMAND"]

_DESCRIPTION = """\
Check a space, or list its contents. Nothing is written.

  check DIR      Check whether the space and its dependencies are valid.
  describe DIR   List the names of hooks, skills and tools. To list tools, the MCP servers of the space are started.

exit status:
  0              The space is valid.
  1              The space is not valid.
  2              The command line is wrong.
  125            Another failure.
  128+n          Signal n (SIGINT, SIGTERM or SIGHUP) stopped the command.
"""
_EXAMPLES = """\
  codex-adapter space check spaces/review
  codex-adapter space describe --format jsonl spaces/review | jq '.tools'
"""
_CHECK, _DESCRIBE = "check", "describe"
_NOT_FINE: Final = 1


class _SpaceParser(Parser):
    def __init__(self, _words: Sequence[str]) -> None:
        super().__init__("space", "check|describe DIR [OPTIONS]", _DESCRIPTION, _EXAMPLES)
        self.add_argument("action", type=one_of(_CHECK, _DESCRIBE), metavar="ACTION", help="check or describe")
        self.add_argument("directory", metavar="DIR", help="the directory of the space, with its space.toml")
        add_space_options(self)

    @override
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        options = super().read(words)
        check_texts(options)
        return options


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    agent = agent_of(DEFAULT_AGENT)
    client = open_client([(agent, agent.config_type())])
    fields: dict[str, Any] = {
        "asp_home": asp_home(options),
        "spec": SpaceSpec(spaces=(space_reference(f"space:path:{options.directory}"),)),
        "accept_changed_spaces": options.accept_changed_spaces,
    }
    answer: ResolveResponse | DescribeResponse = ResolveResponse(ok=False)
    with stop.interrupting():
        if options.action == _CHECK:
            answer = await client.resolve(ResolveRequest(**fields))
        else:
            answer = await _describe(client, DescribeRequest(**fields))
    if stop.exit_status is not None:
        return stop.exit_status
    if is_for_a_program(options.format, output):
        await output.write(encode_lines((answer,)))
    else:
        await output.write(line_printer(output, unbroken=True)(_lines(answer)))
    return _NOT_FINE if isinstance(answer, ResolveResponse) and not answer.ok else 0


async def _describe(client: AgentSpacesClient, request: DescribeRequest) -> ResolveResponse | DescribeResponse:
    """Return the contents of a space, or why it is not valid, like `resolve`."""
    from codex_adapter.turn_errors import TurnError  # noqa: PLC0415 - the client has loaded it

    try:
        return await client.describe(request)
    except TurnError as error:
        return ResolveResponse(ok=False, error=error.error)


def _lines(answer: ResolveResponse | DescribeResponse) -> Iterator[Line]:
    match answer:
        case ResolveResponse(ok=True):
            yield Line("ok", "the space is valid")
        case ResolveResponse(error=error):
            yield Line("failed", error_text(error or AgentSpacesError(message="the space is not valid")))
        case DescribeResponse():
            for what in ("hooks", "skills", "tools"):
                names = getattr(answer, what)
                yield Line("notice", f"{what}: {', '.join(map(printable, names)) or 'none'}")
            for name in answer.unanswered:
                yield Line("warning", f"MCP server {printable(name)} did not answer. Its tools are unknown.")


COMMAND = Command(_SpaceParser, _perform)
