"""Execute `codex-adapter turn`: one turn of a conversation, in an environment composed of spaces (C13)."""

from __future__ import annotations

import argparse
import secrets
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from codex_adapter.cli.arguments import Command
from codex_adapter.cli.errors import FAILURE_STATUS, report_error
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.lines import Line, printable
from codex_adapter.cli.present.turn_narration import TurnNarrator
from codex_adapter.cli.present.views import View, is_for_a_program, line_printer, lines_view
from codex_adapter.cli.prompts import require_prompt
from codex_adapter.cli.signals import StopSignals
from codex_adapter.cli.turn.client import failure_text, open_client
from codex_adapter.cli.turn.options import TurnParser, backend_config, resume_command, turn_agent, turn_request
from codex_adapter.protocols.turns import AgentEvent, RunTurnResponse, SessionCallbacks
from codex_adapter.records import encode_lines

__all__ = ["COMMAND"]

_FAILED: Final = 1
_NOT_RESOLVED: Final = 2
_TOOK_TOO_LONG: Final = 124


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    agent = turn_agent(options)
    client = open_client([(agent, backend_config(options, agent))])
    response: RunTurnResponse | None = None
    failure: str | None = None
    for_a_program = is_for_a_program(options.format, output)
    view = _view(output, for_a_program=for_a_program)
    # After a signal, a turn ends all processes that it started, and sends no more events.
    with stop.interrupting():
        request = turn_request(options, agent, await require_prompt(options.prompt), secrets.token_hex(8))

        async def on_event(event: AgentEvent) -> None:
            if text := view.show([event]):
                await output.write(text)

        async with _hurry_on_signal(output, stop):
            response = await client.run_turn(request, SessionCallbacks(on_event))
            if not for_a_program and response.harness_session_id is not None:
                command = printable(shlex.join(resume_command(response.harness_session_id, options, agent, request)))
                await output.write(line_printer(output, unbroken=True)([Line("notice", f"to continue: {command}")]))
            failure = await failure_text(response, client)
    if response is None:
        return stop.exit_status or FAILURE_STATUS
    if failure is not None:
        report_error(failure)
    return _status(response)


@asynccontextmanager
async def _hurry_on_signal(output: Output, stop: StopSignals) -> AsyncIterator[None]:
    """Stop waiting for the reader of standard output after a stop signal: the agent would continue meanwhile."""

    async def wait_for_signal() -> None:
        try:
            await trio.sleep_forever()
        finally:
            if stop.exit_status is not None:
                output.hurry()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_signal)
        yield
        nursery.cancel_scope.cancel()


def _status(response: RunTurnResponse) -> int:
    if response.result.success:
        return 0
    error = response.result.error
    if error is None:
        return _FAILED
    if error.code == "resolve_failed":
        return _NOT_RESOLVED
    return _TOOK_TOO_LONG if (error.details or {}).get("failure") == "timeout" else _FAILED


def _view(output: Output, *, for_a_program: bool) -> View[AgentEvent]:
    return View(encode_lines) if for_a_program else lines_view(TurnNarrator().narrate, output, unbroken=True)


COMMAND = Command(TurnParser, _perform)
