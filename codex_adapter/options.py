"""Define the choices that an agent offers: in a request, in a configuration, and on a command line (C6).

An agent lists its choices once, as a sequence of `Option`. The command line, its help, its errors and the JSON Schema
of requests are built from that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

__all__ = [
    "DIRECTORIES_SCHEMA",
    "SESSION_SCHEMA",
    "Group",
    "Option",
    "add_directories",
    "concatenate",
    "override",
    "select_session",
]

Group: TypeAlias = Literal["run", "agent", "records"]
"""The group of an option in the help: the limits of a run, the choices of its agent, or its records.

Every command that starts agents has the options of the group `run`. Only the command `run` has all groups.
"""

SESSION_SCHEMA: Final[Mapping[str, Any]] = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"selector": {"const": "last"}},
            "required": ["selector"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"selector": {"const": "id"}, "id": {"type": "string", "pattern": r"^(?!-)", "minLength": 1}},
            "required": ["selector", "id"],
            "additionalProperties": False,
        },
    ]
}
"""The schema of a session to continue: the last session, or the session with an id."""
DIRECTORIES_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"dirs": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 16}},
    "required": ["dirs"],
    "additionalProperties": False,
}
"""The schema of additional directories."""


def _same(value: Any) -> Any:
    return value


def _replace(_requested: Any, option: Any) -> Any:
    return option


def concatenate(requested: Any, option: Any) -> Any:
    """Join two lists. A value of another type is returned unchanged, and refused later."""
    if not isinstance(requested, list):
        return requested
    return [*requested, *option] if isinstance(option, list) else option


def override(requested: Any, option: Any) -> Any:
    """Merge two objects; `option` wins. A value of another type is returned unchanged, and refused later."""
    if not isinstance(requested, dict):
        return requested
    if not isinstance(option, dict):
        return option
    return {name: value for name, value in requested.items() if name not in option} | option


def select_session(word: str) -> dict[str, str]:
    """Return the value for a session id, or for the word `last`."""
    return {"selector": "last"} if word == "last" else {"selector": "id", "id": word}


def add_directories(requested: Any, option: Any) -> Any:
    """Merge two objects of `DIRECTORIES_SCHEMA`, the lists of their directories joined."""
    merged = override(requested, option)
    if isinstance(requested, dict) and isinstance(option, dict):
        merged["dirs"] = concatenate(requested.get("dirs"), option.get("dirs"))
    return merged


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One choice that an agent offers.

    `key` is its extension key in a request, and `schema` the JSON Schema of the value. `field` is its field in the
    agent's configuration, for programs that configure many runs at once. Each can be `None`.

    `names` are its names on a command line, the long name last. An option without a name can be set only by its key.
    `flag` is the value of an option that takes no word. Otherwise the option `takes` one word, one word each time
    (`words`), or the name of a JSON file. `convert` returns the value of a word, of all words as a list, or of the
    JSON. It raises ValueError; the message is the rest of a sentence that begins with the name. `merge(requested,
    option)` returns the value for a request file and an option that set the same; by default the option wins.

    `place` is set if the value is the agent's program, or the directory of its login and settings. `variable` is the
    environment variable with the same meaning.
    """

    key: str | None = None
    schema: Mapping[str, Any] = {}
    field: str | None = None
    names: tuple[str, ...] = ()
    metavar: str | None = None
    help: str = ""
    group: Group = "agent"
    flag: bool | None = None
    takes: Literal["word", "words", "json_file"] = "word"
    convert: Callable[[Any], Any] = _same
    merge: Callable[[Any, Any], Any] = _replace
    place: Literal["program", "home"] | None = None
    variable: str | None = None

    @property
    def name(self) -> str:
        """The long name, such as `--add-dir`; empty for an option without a name."""
        return self.names[-1] if self.names else ""

    @property
    def attribute(self) -> str:
        """The long name as a Python identifier, such as `add_dir`."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def adds(self) -> bool:
        """Whether the option adds to the value of a request file."""
        return self.merge is not _replace

    @property
    def members(self) -> frozenset[str]:
        """The names of the members of its value, which errors can contain."""
        return frozenset(_members(self.schema))


def _members(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema.get("properties", ())
        schema = schema.values()
    if not isinstance(schema, str):
        for below in schema if hasattr(schema, "__iter__") else ():
            yield from _members(below)
