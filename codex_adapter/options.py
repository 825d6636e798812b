"""Describe what a caller can choose for an agent: in a request, in a configuration, and on a command line (C6).

An agent lists its choices once, as a sequence of `Option`. The command line, its help, the words of its errors and the
JSON Schema of requests are built from that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

__all__ = ["Group", "Option", "concatenate", "override"]

Group: TypeAlias = Literal["run", "agent", "records"]
"""Where the help lists an option: with the limits of a run, the choices of its agent, or its records.

Every command that starts agents takes the options of `run`. Only `run` itself takes all.
"""


def _same(value: Any) -> Any:
    return value


def _replace(_requested: Any, chosen: Any) -> Any:
    return chosen


def concatenate(requested: Any, chosen: Any) -> Any:
    """Join two lists; a value of another shape is returned as it is, and refused later."""
    if not isinstance(requested, list):
        return requested
    return [*requested, *chosen] if isinstance(chosen, list) else chosen


def override(requested: Any, chosen: Any) -> Any:
    """Put the members of one object over those of another; a value of another shape is returned, and refused later."""
    if not isinstance(requested, dict):
        return requested
    if not isinstance(chosen, dict):
        return chosen
    return {name: value for name, value in requested.items() if name not in chosen} | chosen


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One choice that an agent offers.

    `key` is its extension key in a request, and `schema` the JSON Schema of the value there. `field` is its field in
    the agent's configuration, for programs that configure many runs at once. Either may be None.

    `names` are its names on a command line, the long one last; an option without a name can be set by its key alone.
    `flag` is the value that the name sets by itself. Otherwise the name `takes` one word, one word each time (`words`),
    or the name of a file with JSON. `convert` makes the value of a word, of all words as a list, or of the JSON; it
    raises ValueError with the rest of a sentence that begins with the name. `merge(requested, chosen)` joins the value
    of a request file and that of the option; by default the option replaces the other.

    `place` says that the value is the agent's program, or the directory of its login and settings. `variable` is the
    environment variable of the same meaning.
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
        """The long name, as `--add-dir`; empty where the option has none."""
        return self.names[-1] if self.names else ""

    @property
    def attribute(self) -> str:
        """The long name as Python spells it, as `add_dir`."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def adds(self) -> bool:
        """Whether the option adds to what a request file has of the same."""
        return self.merge is not _replace

    @property
    def members(self) -> frozenset[str]:
        """The names of the members of its value, which errors mention beside the key."""
        return frozenset(_members(self.schema))


def _members(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema.get("properties", ())
        schema = schema.values()
    if not isinstance(schema, str):
        for below in schema if hasattr(schema, "__iter__") else ():
            yield from _members(below)
