"""Load one command and execute it (C1 to C5).

Only this module calls `trio.run`; only `output.py` writes to standard output.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

import trio

from codex_adapter.cli.arguments import Command
from codex_adapter.cli.errors import FAILURE_STATUS, UsageError, report_output_failure
from codex_adapter.cli.forced_exit import end_when_held_up, watch_pending_signals
from codex_adapter.cli.logs import logging_to_stderr
from codex_adapter.cli.output import Output, standard_output
from codex_adapter.cli.process_settings import forbid_core_dumps, keep_one_heap
from codex_adapter.cli.signals import StopSignals, stop_signals_blocked
from codex_adapter.errors import InvalidAgentKindError

__all__ = ["execute"]


def execute(module: str, words: Sequence[str], *, program: bool) -> int:
    """Execute the command of a module below `cli` with its words, and return the exit status (E1).

    `program` is true if the whole process belongs to the command. Raise `UsageError` and `HelpRequested`.
    """
    if program:
        forbid_core_dumps()
        keep_one_heap()
    # Most runs need no web server and no colours.
    command: Command = import_module(f"codex_adapter.cli.{module}").COMMAND
    with stop_signals_blocked(to_the_end=program) as wanted:
        if program:
            watch_pending_signals(wanted)
        try:
            options = command.parser(words).read(words)
        except InvalidAgentKindError as error:
            raise UsageError(str(error)) from None
        with standard_output() as output, logging_to_stderr(getattr(options, "log_level", None)):
            stop = StopSignals(wanted, output.hurry, asked=end_when_held_up if program else _do_nothing)
            try:
                status = trio.run(_perform, command, options, output, stop)
            except InvalidAgentKindError as error:  # a broken agent of another distribution
                raise UsageError(str(error)) from None
        if output.failure is not None:
            report_output_failure(output.failure)
            return FAILURE_STATUS
        return status


def _do_nothing(_number: int) -> None:
    """Leave the end of the process to its program."""


async def _perform(command: Command, options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    status = FAILURE_STATUS
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        await nursery.start(stop.listen)
        try:
            status = await command.perform(options, output, stop)
        except Exception as error:  # noqa: BLE001 - raised again below, outside the nursery that would wrap it
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return status
