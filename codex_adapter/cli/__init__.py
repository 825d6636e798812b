"""The command line: `codex-adapter COMMAND [OPTIONS]` (C1 to C5).

Here is the only `trio.run`; `output.py` is the only writer of standard output.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import trio

from codex_adapter.cli.arguments import Command, HelpRequested, UsageError
from codex_adapter.cli.conduct import complain_of_defect
from codex_adapter.cli.core_dumps import forbid_core_dumps
from codex_adapter.cli.output import Output, complain, standard_output
from codex_adapter.cli.signals import StopSignals, held_back

__all__ = ["main"]

_HELP = """\
usage: codex-adapter COMMAND [OPTIONS] [ARGUMENTS]

Runs the Codex CLI as a supervised child process and writes its events as JSON Lines.

commands:
  run         one run of the agent
  replay      recorded output of the agent as runs
  demo        a real run that needs neither account nor network
  doctor      what is installed, and whether it fits
  schema      the JSON Schema of every record and of the request

options:
  -h, --help  show this help, or with a command the command's, and exit
  --version   show the version and exit

examples:
  codex-adapter demo
  codex-adapter run 'Fix the failing test'
  git diff | codex-adapter run --sandbox read-only
  codex-adapter replay recorded.jsonl
"""
_USAGE_STATUS = 2
_FAILURE_STATUS = 125


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line, `sys.argv` by default, and give the exit status (E1, E5)."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        forbid_core_dumps()
    _fill_standard_descriptors()
    try:
        return _main(words, program=argv is None)
    except HelpRequested as request:
        return _show(request.text)
    except UsageError as error:
        complain(f"{error}; see codex-adapter {_name(words)}--help")
        return _USAGE_STATUS
    except Exception as error:  # noqa: BLE001 - a traceback could show what a run said
        complain_of_defect(error)
        return _FAILURE_STATUS


def _main(words: list[str], *, program: bool) -> int:
    if not words:
        raise UsageError("a command is missing")
    if words[0] in ("-h", "--help"):
        raise HelpRequested(_HELP)
    if words[0] == "--version":
        from codex_adapter.cli.versions import installed_version  # noqa: PLC0415 - slow to load

        raise HelpRequested(f"codex-adapter {installed_version('codex-adapter')}\n")
    command = _command(words[0])
    with held_back(for_good=program) as wanted:
        options = command.parser().read(words[1:])
        with standard_output() as output:
            stop = StopSignals(wanted, output.hurry)
            status = trio.run(_perform, command, options, output, stop)
        if output.failure is not None:
            return _unwritable(output.failure)
        return status


# Each command is loaded when it is asked for: most runs need no web server and no colours.
def _command(name: str) -> Command:
    match name:
        case "run":
            from codex_adapter.cli.run import COMMAND  # noqa: PLC0415
        case "replay":
            from codex_adapter.cli.replay import COMMAND  # noqa: PLC0415
        case "demo":
            from codex_adapter.cli.demo import COMMAND  # noqa: PLC0415
        case "doctor":
            from codex_adapter.cli.doctor import COMMAND  # noqa: PLC0415
        case "schema":
            from codex_adapter.cli.schema import COMMAND  # noqa: PLC0415
        case _:
            raise UsageError("the first argument must be a command: run, replay, demo, doctor or schema")
    return COMMAND


async def _perform(command: Command, options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    status = _FAILURE_STATUS
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


def _name(words: list[str]) -> str:
    return f"{words[0]} " if words and words[0] in ("run", "replay", "demo", "doctor", "schema") else ""


def _fill_standard_descriptors() -> None:
    """Whoever starts us with one of them closed would else find a file of ours under its number."""
    while (fd := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)


def _show(text: str) -> int:
    rest = text.encode()
    try:
        while rest and sys.stdout is not None:
            rest = rest[os.write(1, rest) :]
    except BrokenPipeError:
        return 0
    except OSError as error:
        return _unwritable(error.errno)
    return 0


def _unwritable(number: int | None) -> int:
    complain(f"standard output cannot be written ({os.strerror(number or 0)}); what was to be there is incomplete")
    return _FAILURE_STATUS
