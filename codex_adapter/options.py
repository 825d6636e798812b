"""Define the choices that an agent offers: in a request, in a configuration, and on a command line (C6).

An agent lists its choices once, as a sequence of `Option`. The command line, its help, its errors and the JSON Schema
of requests are built from that list. Options that several agents offer are defined here: those with a common key as
constants, and others as functions of the agent's key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from codex_adapter.core import extension_keys as keys

__all__ = [
    "ADD_DIRS",
    "FORK",
    "MODEL",
    "RESUME",
    "Group",
    "Option",
    "concatenate",
    "home",
    "images",
    "output_schema",
    "override",
    "program",
    "sandbox_mode",
    "tool_payloads",
    "tools",
    "trust_project",
]

Group: TypeAlias = Literal["run", "agent", "records"]
"""The group of an option in the help: the limits of a run, the choices of its agent, or its records.

Every command that starts agents has the options of the group `run`. Only the command `run` has all groups.
"""


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


def _select_session(word: str) -> dict[str, str]:
    """Return the value for a session id, or for the word `last`."""
    return {"selector": "last"} if word == "last" else {"selector": "id", "id": word}


def _add_directories(requested: Any, option: Any) -> Any:
    """Merge two objects of `_DIRECTORIES_SCHEMA`, the lists of their directories joined."""
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


_SESSION_SCHEMA: Final[Mapping[str, Any]] = {
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
_DIRECTORIES_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"dirs": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 16}},
    "required": ["dirs"],
    "additionalProperties": False,
}
"""The schema of additional directories."""

MODEL: Final = Option(
    key=keys.MODEL,
    schema={"type": "string", "minLength": 1},
    field="model",
    names=("--model",),
    metavar="ID",
    help="the model to use",
    group="run",
)
"""The option for the model."""
RESUME: Final = Option(
    key=keys.RESUME,
    schema=_SESSION_SCHEMA,
    names=("--resume",),
    metavar="ID|last",
    help="continue a session",
    convert=_select_session,
)
"""The option to continue a session."""
FORK: Final = Option(
    key=keys.FORK,
    schema=_SESSION_SCHEMA,
    names=("--fork",),
    metavar="ID",
    help="continue a copy of a session",
    convert=_select_session,
)
"""The option to continue a copy of a session."""
ADD_DIRS: Final = Option(
    key=keys.ADD_DIRS,
    schema=_DIRECTORIES_SCHEMA,
    names=("--add-dir",),
    metavar="DIR",
    help="an additional directory that the agent may write to; repeatable",
    takes="words",
    convert=lambda directories: {"dirs": directories},
    merge=_add_directories,
)
"""The option for additional directories."""


def program(name: str, option: str, variable: str, *, wheel: bool) -> Option:
    """Return the option for the path of the program; `wheel` is whether a wheel can have it."""
    places = f"${variable}, the wheel, PATH" if wheel else f"${variable}, PATH"
    return Option(
        field="binary",
        names=(option,),
        metavar="BINARY",
        help=f"the path of {name} (default: {places})",
        group="run",
        place="program",
        variable=variable,
    )


def home(field: str, option: str, variable: str) -> Option:
    """Return the option for the directory of login and settings."""
    return Option(
        field=field,
        names=(option,),
        metavar="DIR",
        help=f"set {variable} (default: unchanged)",
        group="run",
        place="home",
        variable=variable,
    )


def sandbox_mode(key: str, modes: Sequence[str], default: str, note: str = "") -> Option:
    """Return the option for the sandbox mode. `note` follows the default in the help."""
    return Option(
        key=key,
        schema={"enum": list(modes), "default": default},
        names=("--sandbox",),
        metavar="MODE",
        help=f"{', '.join(modes)} (default: {default}{note})",
    )


def trust_project(key: str, used: str) -> Option:
    """Return the option for trust in the project. `used` is what the agent then uses of it."""
    return Option(
        key=key,
        schema={"type": "boolean", "default": False},
        names=("--trust-project",),
        help=f"let the agent use {used} (default: it does not)",
        flag=True,
    )


def images(key: str) -> Option:
    """Return the option for images."""
    return Option(
        key=key,
        schema={"type": "array", "items": {"type": "string"}},
        names=("--image",),
        metavar="FILE",
        help="an image for the prompt; repeatable",
        takes="words",
        merge=concatenate,
    )


def output_schema(key: str) -> Option:
    """Return the option for the schema of the last message."""
    return Option(
        key=key,
        schema={"type": "object"},
        names=("--output-schema",),
        metavar="FILE",
        help="a JSON Schema for the last message",
        takes="json_file",
    )


def tools(key: str) -> Option:
    """Return the option for a run without tools. It has no name on a command line."""
    return Option(key=key, schema={"enum": ["all", "none"]})


def tool_payloads(key: str) -> Option:
    """Return the option for the input and output of tools in events."""
    return Option(
        key=key,
        schema={"enum": ["metadata", "full"], "default": "metadata"},
        field="tool_payloads",
        names=("--tool-payloads",),
        metavar="WHICH",
        help="metadata, or full: also the input and output of tools",
        group="records",
    )
