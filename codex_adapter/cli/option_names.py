"""Put command line options in the place of extension keys and fields, in texts for a person (E5)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Final

from codex_adapter.options import Option

__all__ = ["OptionNames"]

_CONFIG_FIELD: Final = re.compile(r"(?<![.\w])config\.(?!toml\b)([a-z_]+)")
_REQUEST_FIELD: Final = re.compile(r"\A(working_dir|timeout|env)(?=:? )")
_FIELDS: Final = {"default_timeout": "--timeout"}
"""Fields of every configuration whose option has another name."""


class OptionNames:
    """Names the options of an agent in messages of the library.

    `chosen` are the parsed options of a command that makes a request, None for other commands.
    """

    def __init__(self, options: Sequence[Option], chosen: argparse.Namespace | None = None) -> None:
        self._chosen = chosen
        self._of_field = _FIELDS | {option.field: option.name for option in options if option.field is not None}
        named = [option for option in options if option.key is not None and option.names]
        self._of_key = {option.key: option for option in named if option.key is not None}
        self._of_every_command = {key: option for key, option in self._of_key.items() if option.group == "run"}

    def for_fields(self, message: str) -> str:
        """Return a message with options in the place of configuration fields, and of keys with the same meaning."""
        for key, option in self._of_every_command.items():
            message = message.replace(key, option.name)
        return _CONFIG_FIELD.sub(lambda field: self._of_field.get(field[1], "--" + field[1].replace("_", "-")), message)

    def __call__(self, message: str) -> str:
        """Return a message with options in the place of all keys and fields that options have set.

        What the message is about keeps its name where no option has set it, since the caller wrote that name; what it
        says to use is an option always.
        """
        if self._chosen is None:
            return self.for_fields(message)
        for key, option in self._of_key.items():
            if option.flag is not None:
                message = message.replace(f"{key} is {str(option.flag).lower()}", f"{option.name} is given")
        subject = len(message.partition("; use ")[0])

        def in_key(found: re.Match[str]) -> str:
            option = self._of_key[found[1]]
            number = "" if found[2] is None else f": number {int(found[2]) + 1}"
            is_subject = found.end() <= subject
            return found[0] if is_subject and not self._is_set(option.attribute, option.adds) else option.name + number

        def in_field(found: re.Match[str]) -> str:
            name = found[1]
            return f"--{name.replace('_', '-')}" if self._is_set(name, name == "env") else name

        if not self._of_key:
            return self.for_fields(_REQUEST_FIELD.sub(in_field, message))
        members = "|".join(sorted({name for option in self._of_key.values() for name in option.members}))
        keys = "|".join(map(re.escape, self._of_key))
        key = rf"({keys})(?::? (?:{members}))?(?:\[(\d+)\])?(?![\w.])"
        return self.for_fields(_REQUEST_FIELD.sub(in_field, re.sub(key, in_key, message)))

    def _is_set(self, attribute: str, adds: bool) -> bool:
        """Return whether an option has set this; where it adds to a request file, an error may be about either."""
        chosen = self._chosen
        if chosen is None or getattr(chosen, attribute) is None:
            return False
        return not (adds and chosen.request is not None)
