"""Execute the command line `codex-adapter COMMAND [OPTIONS]` (C1 to C5).

This module shows help and version itself, without an event loop (V1).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from codex_adapter.cli.errors import (
    FAILURE_STATUS,
    HelpRequested,
    UsageError,
    report_defect,
    report_error,
    report_output_failure,
)

__all__ = ["COMMANDS", "main"]

COMMANDS: Final = {
    "run": ("run.command", "run an agent once"),
    "replay": ("replay", "replay recorded output of an agent"),
    "view": ("view.command", "show the records of past runs, as text or as a page"),
    "serve": ("serve.command", "run many agents for a supervisor, by JSON-RPC on standard input and output"),
    "operations": ("operations.command", "execute file operations and commands of an agent, under a policy"),
    "mailbox": ("mailbox.command", "exchange files with a model that has no network connection"),
    "turn": ("turn.command", "run one turn of a conversation, in an environment composed of spaces"),
    "space": ("space", "check a space, or list its contents"),
    "demo": ("demo", "run an agent without an account and without a network"),
    "login": ("login", "log in with the agent CLI"),
    "doctor": ("doctor.command", "check the installation and this machine"),
    "schema": ("schema.command", "print the JSON Schema of records, requests and messages"),
    "help": ("", "show this help, or the help of a command"),
}
"""Each command with its module below this package and its line of help."""
_HELP: Final = """\
usage: codex-adapter COMMAND [OPTIONS] [ARGUMENTS]

Run an agent CLI, such as the Codex CLI or Claude Code, as a supervised child process. Write its events as JSON Lines.

commands:
{}
options:
  -h, --help     show this help, or the help of a command, and exit
  -V, --version  show the version and exit

examples:
  codex-adapter demo
  codex-adapter run 'Fix the failing test'
  git diff | codex-adapter run --sandbox read-only
  codex-adapter replay recorded.jsonl
""".format("".join(f"  {name:11} {text}\n" for name, (_, text) in COMMANDS.items()))
_USAGE_STATUS: Final = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Execute a command line, `sys.argv` by default, and return the exit status (E1, E5)."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not _fill_standard_descriptors():
        return FAILURE_STATUS
    try:
        return _main(words, program=argv is None)
    except HelpRequested as request:
        return _show(request.text)
    except UsageError as error:
        text = str(error)
        end = "" if text.endswith((".", "?")) else "."
        report_error(f"{text}{end} See `codex-adapter {_name(words)}--help`.")
        return _USAGE_STATUS
    except Exception as error:  # noqa: BLE001 - a traceback could show output of a run
        report_defect(error)
        return FAILURE_STATUS


def _main(words: list[str], *, program: bool) -> int:
    if not words:
        raise UsageError("The command is missing")
    if words[0] == "help" and words[1:]:
        words = [words[1], "--help"]
    if words[0] in ("-h", "--help", "help"):
        raise HelpRequested(_HELP)
    if words[0] in ("-V", "--version"):
        from codex_adapter.cli.versions import installed_version  # noqa: PLC0415 - slow to load

        raise HelpRequested(f"codex-adapter {installed_version('codex-adapter')}\n")
    if words[0] not in COMMANDS:
        *names, last = COMMANDS
        raise UsageError(f"The first argument must be a command: {', '.join(names)} or {last}")
    if words[0] == "login":
        from codex_adapter.cli.login import log_in  # noqa: PLC0415 - no other command needs it

        log_in(words[1:])
    from codex_adapter.cli.commands import execute  # noqa: PLC0415 - loads an event loop

    return execute(COMMANDS[words[0]][0], words[1:], program=program)


def _name(words: list[str]) -> str:
    return f"{words[0]} " if words and words[0] in COMMANDS and words[0] != "help" else ""


def _fill_standard_descriptors() -> bool:
    """Open `/dev/null` as each standard descriptor that is closed: another file could get its number (C7).

    If that fails, report it and return False.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            try:
                os.set_inheritable(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), True)
            except OSError as error:
                report_error(
                    "A standard stream (input, output or error) is closed, and /dev/null cannot be opened "
                    f"({error.strerror}). Open the stream, or allow access to /dev/null."
                )
                return False
    return True


def _show(text: str) -> int:
    rest = text.encode()
    try:
        while rest and sys.stdout is not None:
            rest = rest[os.write(1, rest) :]
    except BrokenPipeError:
        return 0
    except OSError as error:
        report_output_failure(error.errno)
        return FAILURE_STATUS
    return 0
