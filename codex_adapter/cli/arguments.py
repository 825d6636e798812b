"""What every command's options are read with; no message of it repeats a word of the command line (E5)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from typing_extensions import override

from codex_adapter.cli.errors import HelpRequested, UsageError
from codex_adapter.cli.output import Output
from codex_adapter.cli.signals import StopSignals

__all__ = [
    "Command",
    "Once",
    "Parser",
    "form_of_a_run",
    "json_lines_or_pretty",
    "one_of",
    "path",
    "seconds",
    "whole_number",
]

# An option's name says nothing of its value; anything else that begins with a dash may be a value that went astray.
_OPTION_NAME = re.compile(r"--[a-z]{2,16}(-[a-z]{2,16}){0,2}")


class Command(NamedTuple):
    """A command: `parser(words)` makes the parser of its command line, `perform` returns the exit status."""

    parser: Callable[[Sequence[str]], Parser]
    perform: Callable[[argparse.Namespace, Output, StopSignals], Awaitable[int]]


class Parser(argparse.ArgumentParser):
    """Reads the options of one command; `arguments` stand in its usage, `examples` at the end of its help."""

    def __init__(self, command: str, arguments: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"codex-adapter {command}",
            usage=f"%(prog)s {arguments}",
            description=description,
            epilog=f"examples:\n{examples.rstrip()}",
            formatter_class=_HelpFormatter,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
        )
        self.add_argument("-h", "--help", action=_Help, help="show this help and exit")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The options in `words`. Raises `UsageError` (E5) and `HelpRequested`."""
        try:
            options, rest = self.parse_known_args(list(words))
        except argparse.ArgumentError as error:
            # the only one of argparse's own texts that quotes what was given
            quotes = error.message.startswith("ignored explicit argument")
            message = "takes no value" if quotes else error.message
            raise UsageError(f"{error.argument_name}: {message}" if error.argument_name else message) from None
        strangers = [word for word in rest if word != "--"]
        if strangers:
            raise UsageError(self._stranger(strangers[0]))
        return options

    @override
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def _stranger(self, word: str) -> str:
        if not word.startswith("-"):
            return "there is an argument too many; quote what has spaces in it"
        name = word.partition("=")[0]
        if not _OPTION_NAME.fullmatch(name):
            return "there is an unknown option; one that is meant as an argument goes after --"
        import difflib  # noqa: PLC0415 - for mistakes only

        near = difflib.get_close_matches(name, self._option_string_actions, n=1)
        return f"unknown option {name}" + (f"; there is {near[0]}" if near else "")


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=120)


class _Help(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, default=argparse.SUPPRESS, nargs=0, help=help)

    @override
    def __call__(self, parser: argparse.ArgumentParser, *_ignored: object) -> NoReturn:
        raise HelpRequested(parser.format_help())


class Once(argparse.Action):
    """An option with one value that may be given once."""

    @override
    def __call__(
        self, parser: argparse.ArgumentParser, options: argparse.Namespace, value: Any, name: str | None = None
    ) -> None:
        if getattr(options, self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice; give it once")
        setattr(options, self.dest, value)


def whole_number(text: str) -> int:
    """A whole number, 1 or more."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return int(text)


def path(text: str) -> str:
    """Return a path where something may be made, which would otherwise be in a directory called `~` (C22)."""
    if text.startswith("~"):
        raise argparse.ArgumentTypeError("begins with ~, which no shell has replaced; write it in full, or ./~")
    return text


def seconds(text: str) -> float:
    """A number; whether it is a fit number of seconds is for the request's own checks to say."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a number of seconds") from None


def one_of(*allowed: str) -> Callable[[str], str]:
    """One of a few words."""

    def check(text: str) -> str:
        if text not in allowed:
            raise argparse.ArgumentTypeError(f"must be {' or '.join(allowed)}")
        return text

    return check


json_lines_or_pretty = one_of("jsonl", "pretty")
form_of_a_run = one_of("jsonl", "pretty", "text")
