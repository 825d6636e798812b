"""Replace extension keys and fields with options, in texts for a person (E5)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Final

from codex_adapter.options import Option

__all__ = ["OptionNames", "name_time_limits"]

_CONFIG_FIELD: Final = re.compile(r"(?<![.\w])config\.(?!toml\b)([a-z_]+)")
_REQUEST_FIELD: Final = re.compile(r"\A(working_dir|timeout|env|interval)(?=:? )")
_LIMIT: Final = re.compile(r"`(timeout|idle_timeout|tool_timeout)`")
_ADVICE: Final = re.compile(r"[;.] [Uu]se ")
"""The start of the next step in a message."""
_FIELDS: Final = {"default_timeout": "--timeout"}
"""Fields of every configuration whose option has another name."""


class OptionNames:
    """Names the options of an agent in messages of the library.

    `parsed` are the parsed options of a command that makes a request, None for other commands.
    """

    def __init__(self, options: Sequence[Option], parsed: argparse.Namespace | None = None) -> None:
        self._parsed = parsed
        self._of_field = _FIELDS | {option.field: option.name for option in options if option.field is not None}
        named = [option for option in options if option.key is not None and option.names]
        self._of_key = {option.key: option for option in named if option.key is not None}
        self._of_every_command = {key: option for key, option in self._of_key.items() if option.group == "run"}

    def for_fields(self, message: str) -> str:
        """Return a message with options in place of configuration fields, and of keys with the same meaning."""
        for key, option in self._of_every_command.items():
            message = message.replace(key, option.name)
        return self._for_config_fields(message)

    def __call__(self, message: str) -> str:
        """Return a message with options in place of all keys and fields that options have set.

        The subject of the message keeps its name if no option set it, because the caller wrote that name. The next
        step always names options, and so does the name of a time limit.
        """
        message = name_time_limits(message)
        if self._parsed is None:
            return self.for_fields(message)
        for key, option in self._of_key.items():
            if option.flag is not None:
                message = message.replace(f"{key} is {str(option.flag).lower()}", f"{option.name} is set")
        advice = _ADVICE.search(message)
        subject = len(message) if advice is None else advice.start()

        def in_key(found: re.Match[str]) -> str:
            option = self._of_key[found[1]]
            number = "" if found[2] is None else f": number {int(found[2]) + 1}"
            is_subject = found.end() <= subject
            return found[0] if is_subject and not self._is_set(option.attribute, option.adds) else option.name + number

        def in_field(found: re.Match[str]) -> str:
            name = found[1]
            return _option(name) if self._is_set(name, name == "env") else name

        if not self._of_key:
            return self._for_config_fields(_REQUEST_FIELD.sub(in_field, message))
        members = "|".join(sorted({name for option in self._of_key.values() for name in option.members}))
        keys = "|".join(map(re.escape, self._of_key))
        key = rf"({keys})(?::? (?:{members}))?(?:\[(\d+)\])?(?!\w|\.\w)"
        return self._for_config_fields(_REQUEST_FIELD.sub(in_field, re.sub(key, in_key, message)))

    def _for_config_fields(self, message: str) -> str:
        return _CONFIG_FIELD.sub(lambda field: self._of_field.get(field[1], _option(field[1])), message)

    def _is_set(self, attribute: str, adds: bool) -> bool:
        """Return whether an option set this. If the option adds to a request file, an error can be about either."""
        if getattr(self._parsed, attribute, None) is None:
            return False
        return not (adds and getattr(self._parsed, "request", None) is not None)


def name_time_limits(message: str) -> str:
    """Return a message with options in place of the fields of time limits (E5)."""
    return _LIMIT.sub(lambda limit: f"`{_option(limit[1])}`", message)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
