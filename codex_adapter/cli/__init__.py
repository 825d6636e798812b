"""The command line: `codex-adapter COMMAND [OPTIONS]` (C1 to C5).

Help and version are answered here, without an event loop (V1).
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
    "run": ("run.command", "one run of the agent"),
    "replay": ("replay", "recorded output of the agent as runs"),
    "view": ("view.command", "the records of a run, as text or as a page"),
    "serve": ("serve.command", "many runs at once, for a supervisor: JSON-RPC on stdin and stdout"),
    "operations": ("operations.command", "files and commands of an agent, in a workspace, by a policy"),
    "mailbox": ("mailbox.command", "a task for a model that no network reaches, by files that you carry"),
    "turn": ("turn.command", "one turn of a conversation, in an environment that spaces make up"),
    "space": ("space", "whether a space is fine, and what is in it"),
    "demo": ("demo", "a real run that needs neither account nor network"),
    "login": ("login", "log in with the Codex CLI that runs use"),
    "doctor": ("doctor.command", "what is installed, and whether it fits"),
    "schema": ("schema.command", "the JSON Schema of every record and of the request"),
    "help": ("", "this help, or with a command the command's"),
}
"""Each command with its module below this package and its line of help."""
_HELP: Final = """\
usage: codex-adapter COMMAND [OPTIONS] [ARGUMENTS]

Runs the Codex CLI as a supervised child process and writes its events as JSON Lines.

commands:
{}
options:
  -h, --help     show this help, or with a command the command's, and exit
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
        report_error(f"{error}; see codex-adapter {_name(words)}--help")
        return _USAGE_STATUS
    except Exception as error:  # noqa: BLE001 - a traceback could show what a run said
        report_defect(error)
        return FAILURE_STATUS


def _main(words: list[str], *, program: bool) -> int:
    if not words:
        raise UsageError("a command is missing")
    if words[0] == "help" and words[1:]:
        words = [words[1], "--help"]
    if words[0] in ("-h", "--help", "help"):
        raise HelpRequested(_HELP)
    if words[0] in ("-V", "--version"):
        from codex_adapter.cli.versions import installed_version  # noqa: PLC0415 - slow to load

        raise HelpRequested(f"codex-adapter {installed_version('codex-adapter')}\n")
    if words[0] not in COMMANDS:
        *names, last = COMMANDS
        raise UsageError(f"the first argument must be a command: {', '.join(names)} or {last}")
    if words[0] == "login":
        from codex_adapter.cli.login import log_in  # noqa: PLC0415 - needed by nothing else

        log_in(words[1:])
    from codex_adapter.cli.commands import execute  # noqa: PLC0415 - loads an event loop

    return execute(COMMANDS[words[0]][0], words[1:], program=program)


def _name(words: list[str]) -> str:
    return f"{words[0]} " if words and words[0] in COMMANDS else ""


def _fill_standard_descriptors() -> bool:
    """Open `/dev/null` as each standard descriptor that is closed, where a file of ours would get its number (C7).

    Report where that fails, and return False.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            try:
                os.set_inheritable(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), True)
            except OSError as error:
                report_error(
                    f"/dev/null cannot be opened ({error.strerror}), and standard input, output or error is closed. "
                    "Open it, or give access to /dev/null"
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
