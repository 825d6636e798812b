"""The commands, each loaded when it is asked for, and carried out here: this has the only `trio.run` (C1 to C5).

`output.py` is the only writer of standard output.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import trio

from codex_adapter.cli.arguments import Command
from codex_adapter.cli.errors import FAILURE_STATUS, report_output_failure
from codex_adapter.cli.last_resort import end_when_held_up, watch_pending_signals
from codex_adapter.cli.logs import logging_to_stderr
from codex_adapter.cli.output import Output, standard_output
from codex_adapter.cli.process_settings import forbid_core_dumps, keep_one_heap
from codex_adapter.cli.signals import StopSignals, held_back

__all__ = ["carry_out"]


def carry_out(name: str, words: Sequence[str], *, program: bool) -> int:
    """Carry out a command with its words, and give the exit status (E1); `program` when the process is all ours.

    Raises `UsageError` and `HelpRequested`.
    """
    if program:
        forbid_core_dumps()
        keep_one_heap()
    command = _command(name)
    with held_back(for_good=program) as wanted:
        if program:
            watch_pending_signals(wanted)
        options = command.parser(words).read(words)
        with standard_output() as output, logging_to_stderr(getattr(options, "log_level", None)):
            stop = StopSignals(wanted, output.hurry, asked=end_when_held_up if program else _nothing)
            status = trio.run(_perform, command, options, output, stop)
        if output.failure is not None:
            report_output_failure(output.failure)
            return FAILURE_STATUS
        return status


def _nothing(_number: int) -> None:
    """Leave the end of the process to the program that it belongs to."""


# Most runs need no web server and no colours.
def _command(name: str) -> Command:
    match name:
        case "run":
            from codex_adapter.cli.run.command import COMMAND  # noqa: PLC0415
        case "replay":
            from codex_adapter.cli.replay import COMMAND  # noqa: PLC0415
        case "view":
            from codex_adapter.cli.view.command import COMMAND  # noqa: PLC0415
        case "serve":
            from codex_adapter.cli.serve.command import COMMAND  # noqa: PLC0415
        case "operations":
            from codex_adapter.cli.operations.command import COMMAND  # noqa: PLC0415
        case "mailbox":
            from codex_adapter.cli.mailbox.command import COMMAND  # noqa: PLC0415
        case "turn":
            from codex_adapter.cli.turn.command import COMMAND  # noqa: PLC0415
        case "space":
            from codex_adapter.cli.space import COMMAND  # noqa: PLC0415
        case "demo":
            from codex_adapter.cli.demo import COMMAND  # noqa: PLC0415
        case "doctor":
            from codex_adapter.cli.doctor.command import COMMAND  # noqa: PLC0415
        case _:
            from codex_adapter.cli.schema.command import COMMAND  # noqa: PLC0415
    return COMMAND


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
