"""Check the values of extension keys that agents have in common (Q2, Q3, Q4).

An agent has a table of its keys: each with the check of its value and the name of the field that gets the result. The
caller passes a `FileSystem`, so this module does no I/O.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from codex_adapter.core.checks import is_json, is_plain_text, is_short_text, printable, refuse
from codex_adapter.core.extension_keys import FORK, RESUME
from codex_adapter.core.request_checks import FileSystem, check_model, check_tool_payloads
from codex_adapter.errors import InvalidRequestError, UnsupportedCapabilityError
from codex_adapter.request import RunConfig

__all__ = [
    "Check",
    "CommonOptions",
    "Extension",
    "SessionSelector",
    "check_add_dirs",
    "check_boolean",
    "check_extensions",
    "check_files",
    "check_images",
    "check_json_schema",
    "check_model_id",
    "check_payloads",
    "check_session",
    "one_of",
    "only_true",
    "with_defaults",
]

_Options = TypeVar("_Options", bound="CommonOptions")

Check: TypeAlias = Callable[[str, Any, FileSystem], Any]

_MAX_SESSION_ID_BYTES: Final = 1024
_UUID: Final = re.compile(
    r"\{?([0-9A-Fa-f]{8})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{12})\}?"
)
_MAX_DIRECTORY_BYTES: Final = 1024
_MAX_ADD_DIRS: Final = 16


class SessionSelector(msgspec.Struct, frozen=True):
    """The session to continue: the session with this `id`, or the last session if `id` is None."""

    id: str | None = None

    @property
    def last(self) -> bool:
        """Return whether the last session is selected."""
        return self.id is None


class CommonOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The checked extensions that agents have in common. `tool_payloads` None means `metadata`."""

    model: str | None = None
    resume: SessionSelector | None = None
    fork: SessionSelector | None = None
    tool_payloads: Literal["metadata", "full"] | None = None
    tools: Literal["all", "none"] = "all"
    trust_project: bool = False


class Extension(NamedTuple):
    """One extension key of an agent: the field that its checked value becomes, and the check."""

    field: str
    check: Check


def check_extensions(
    agent_kind: str, extensions: Any, table: Mapping[str, Extension], facts: FileSystem
) -> dict[str, Any]:
    """Check all keys, then all values, then that only one session is continued. Return the values by their fields.

    Raise `UnsupportedCapabilityError` with the smallest unknown key, or `InvalidRequestError` with the key and the
    allowed values. If several values are wrong, the error names the smallest key (Q2, Q3).
    """
    if not isinstance(extensions, Mapping) or not all(isinstance(key, str) for key in extensions):
        refuse("extensions", "an object with string keys")
    unknown = extensions.keys() - table.keys()
    if unknown:
        raise UnsupportedCapabilityError(agent_kind, printable(min(unknown)))
    fields = {table[key].field: table[key].check(key, value, facts) for key, value in sorted(extensions.items())}
    if RESUME in extensions and FORK in extensions:
        raise InvalidRequestError(f"{RESUME} and {FORK} contradict each other. Pass only one of them.")
    return fields


def with_defaults(options: _Options, config: RunConfig) -> _Options:
    """Return the options, with the model and the payloads of the configuration unless the request sets them (Q4)."""
    if options.model is None and config.model is not None:
        options = replace(options, model=check_model("config.model", config.model))
    if options.tool_payloads is None and config.tool_payloads is not None:
        payloads = check_tool_payloads("config.tool_payloads", config.tool_payloads)
        options = replace(options, tool_payloads=payloads)
    return options


def check_boolean(key: str, value: Any, _facts: FileSystem) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        refuse(key, "true or false")
    return value


def only_true(reason: str) -> Check:
    """Return a check that allows only true, because of `reason`."""

    def check(key: str, value: Any, _facts: FileSystem) -> bool:
        if value is not True:
            refuse(key, f"true: {reason}")
        return True

    return check


def one_of(*allowed: str) -> Check:
    """Return a check that allows these strings only."""

    def check(key: str, value: Any, _facts: FileSystem) -> str:
        for choice in allowed:
            if isinstance(value, str) and value == choice:
                return choice
        refuse(key, "one of " + ", ".join(f"'{choice}'" for choice in allowed))

    return check


def check_model_id(key: str, value: Any, _facts: FileSystem) -> str:
    """Return a model id without surrounding white space."""
    return check_model(key, value)


def check_payloads(key: str, value: Any, _facts: FileSystem) -> Literal["metadata", "full"]:
    """Return how much of a tool's input and output is shown (M7)."""
    return check_tool_payloads(key, value)


def check_add_dirs(key: str, value: Any, facts: FileSystem) -> tuple[str, ...]:
    """Return the absolute paths of additional directories."""
    if not isinstance(value, dict) or value.keys() != {"dirs"}:
        refuse(key, "an object with only `dirs`")
    dirs = value["dirs"]
    if not isinstance(dirs, list | tuple) or not 1 <= len(dirs) <= _MAX_ADD_DIRS:
        refuse(f"{key}: dirs", f"a list of 1 to {_MAX_ADD_DIRS} directories")
    return tuple(dict.fromkeys(_directory(f"{key}: dirs[{n}]", item, facts) for n, item in enumerate(dirs)))


def check_images(key: str, value: Any, facts: FileSystem) -> tuple[str, ...]:
    """Return the absolute paths of images."""
    return check_files(key, value, facts, "has no control character", lambda _: True)


def check_files(key: str, value: Any, facts: FileSystem, rule: str, fits: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the absolute paths of existing files. `rule` says in words which paths fit."""
    if not isinstance(value, list | tuple):
        refuse(key, "a list of existing files")
    paths = [posixpath.join(facts.cwd, item) if is_plain_text(item) else "" for item in value]
    for n, path in enumerate(paths):
        if not fits(path) or not facts.is_file(path):
            refuse(f"{key}[{n}]", f"an existing file whose absolute path {rule}")
    return tuple(paths)


def check_session(key: str, value: Any, _facts: FileSystem) -> SessionSelector:
    """Return the session to resume or fork."""
    if value == {"selector": "last"}:
        return SessionSelector()
    if not isinstance(value, dict) or value.keys() != {"selector", "id"} or value["selector"] != "id":
        refuse(key, "{'selector': 'last'}, or {'selector': 'id', 'id': ...}")
    session = value["id"]
    if not is_short_text(session, _MAX_SESSION_ID_BYTES) or session.isspace() or session.startswith("-"):
        refuse(
            f"{key}: id",
            f"a string of 1 to {_MAX_SESSION_ID_BYTES} bytes, not blank, without control characters or a leading '-'",
        )
    return SessionSelector(_canonical(session))


def check_json_schema(key: str, value: Any, _facts: FileSystem) -> dict[str, Any]:
    """Return a JSON Schema."""
    if not isinstance(value, dict) or not is_json(value):
        refuse(key, "a JSON Schema object")
    return value


def _directory(field: str, value: Any, facts: FileSystem) -> str:
    path = value.strip() if isinstance(value, str) else ""
    if not is_short_text(path, _MAX_DIRECTORY_BYTES):
        refuse(field, f"a string of 1 to {_MAX_DIRECTORY_BYTES} bytes without control characters")
    # posixpath keeps two leading slashes; on Linux, they mean the same as one.
    folded = "/" + posixpath.normpath(posixpath.join(facts.cwd, path)).lstrip("/")
    if not facts.is_dir(folded):
        refuse(field, "an existing directory")
    return folded


def _canonical(session: str) -> str:
    """Return a UUID in the form that the CLIs print; they accept other forms."""
    found = _UUID.fullmatch(session)
    return session if found is None else "-".join(found.groups()).lower()
