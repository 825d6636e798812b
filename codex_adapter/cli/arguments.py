"""Parse the options of a command. No message repeats a value of the command line (E5)."""

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
    "alternatives",
    "form_of_a_run",
    "json_lines_or_pretty",
    "one_of",
    "path",
    "seconds",
    "whole_number",
]

# Only such a name is shown: any other word that begins with a dash can be a misplaced value.
_OPTION_NAME = re.compile(r"-[A-Za-z]|--[a-z]{2,16}(-[a-z]{2,16}){0,2}")
_OPTION_NAME_IN_TEXT = re.compile(r"(?<!\S)--[a-z][a-z-]+")


class Command(NamedTuple):
    """A command: `parser(words)` returns the parser of its command line, `perform` returns the exit status."""

    parser: Callable[[Sequence[str]], Parser]
    perform: Callable[[argparse.Namespace, Output, StopSignals], Awaitable[int]]


class Parser(argparse.ArgumentParser):
    """The parser of one command; `arguments` are for its usage line, `examples` for the end of its help.

    An example with an option that the command does not have is left out.
    """

    def __init__(self, command: str, arguments: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"codex-adapter {command}",
            usage=f"%(prog)s {arguments}",
            description=description,
            formatter_class=_HelpFormatter,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
        )
        self._examples = examples.splitlines()
        self.add_argument("-h", "--help", action=_Help, help="show this help and exit")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the options in `words`. Raise `UsageError` and `HelpRequested` (E5)."""
        try:
            options, rest = self.parse_known_args(list(words))
        except argparse.ArgumentError as error:
            message = _of_argparse(error.message)
            raise UsageError(f"{error.argument_name} {message}" if error.argument_name else message) from None
        unknown = [word for word in rest if word != "--"]
        if unknown:
            raise UsageError(self._unknown(unknown[0]))
        return options

    @override
    def format_help(self) -> str:
        examples = [line for line in self._examples if self._has_all_options(line)]
        return "\n".join([super().format_help(), "examples:", *examples, ""])

    def _has_all_options(self, example: str) -> bool:
        commands = example.partition(" -- ")[0].split("|")
        own = " ".join(command for command in commands if command.strip().startswith("codex-adapter"))
        return all(option in self._option_string_actions for option in _OPTION_NAME_IN_TEXT.findall(own))

    @override
    def error(self, message: str) -> NoReturn:
        raise UsageError(_of_argparse(message))

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return "There are too many arguments. Quote an argument that contains spaces"
        name = word.partition("=")[0]
        with_dashes = name.replace("_", "-")
        if name != with_dashes and with_dashes in self._option_string_actions:
            return f"The option {name} is unknown. Did you mean {with_dashes}?"
        if not _OPTION_NAME.fullmatch(name):
            return "An option is unknown. Put -- before an argument that begins with a dash"
        import difflib  # noqa: PLC0415 - for mistakes only

        near = difflib.get_close_matches(name, self._option_string_actions, n=1)
        return f"The option {name} is unknown." + (f" Did you mean {near[0]}?" if near else "")


def _of_argparse(message: str) -> str:
    """Return one of argparse's own messages in our words, without the value that one of them quotes."""
    if message.startswith("ignored explicit argument"):
        return "takes no value"
    missing = message.removeprefix("the following arguments are required: ")
    if missing != message:
        return f"{missing.replace(', ', ' and ')} must be specified"
    return "needs a value" if message == "expected one argument" else message


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
    """An option with one value that a command line has at most once."""

    @override
    def __call__(
        self, parser: argparse.ArgumentParser, options: argparse.Namespace, value: Any, name: str | None = None
    ) -> None:
        if getattr(options, self.dest) is not None:
            raise argparse.ArgumentError(self, "occurs twice. Specify it once")
        setattr(options, self.dest, value)


def whole_number(text: str) -> int:
    """Return a whole number, 1 or more; a type for argparse."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return int(text)


def path(text: str) -> str:
    """Return a path at which a file or directory can be created; a type for argparse.

    Refuse `~` at its start: a directory with that name would be created (C22).
    """
    if text.startswith("~"):
        raise argparse.ArgumentTypeError("begins with ~, which the shell did not expand. Use an absolute path, or ./~")
    return text


def seconds(text: str) -> float:
    """Return a number; a type for argparse. The request's own checks refuse a negative or infinite one."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a number of seconds") from None


def one_of(*allowed: str) -> Callable[[str], str]:
    """Return a type for argparse that accepts only these words."""

    def check(text: str) -> str:
        if text not in allowed:
            raise argparse.ArgumentTypeError(f"must be {alternatives(allowed)}")
        return text

    return check


def alternatives(words: Sequence[str]) -> str:
    """Return words as a list in text, such as `jsonl, pretty or text`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


json_lines_or_pretty = one_of("jsonl", "pretty")
form_of_a_run = one_of("jsonl", "pretty", "text")
