"""Check the extensions of a request with one table: key, check, field.

The checked value of a key becomes a field of `ExecOptions`. The caller passes a `FileSystem`, so this module does no
I/O.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.settings import check_settings
from codex_adapter.core.checks import is_json, is_plain_text, is_short_text, printable, refuse
from codex_adapter.core.request_checks import FileSystem, check_model, check_tool_payloads
from codex_adapter.errors import InvalidRequestError, UnsupportedCapabilityError

__all__ = [
    "APPROVAL_POLICIES",
    "CAPABILITIES",
    "SANDBOX_MODES",
    "ExecOptions",
    "SessionSelector",
    "read_extensions",
]

APPROVAL_POLICIES = ("untrusted", "on-failure", "on-request", "never")
SANDBOX_MODES = ("read-only", "workspace-write", "danger-full-access")

_MAX_SESSION_ID_BYTES = 1024
_UUID = re.compile(r"\{?([0-9A-Fa-f]{8})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{12})\}?")
_MAX_DIRECTORY_BYTES = 1024
_MAX_ADD_DIRS = 16


class SessionSelector(msgspec.Struct, frozen=True):
    """The session to continue: the session with this `id`, or the last session if `id` is None."""

    id: str | None = None

    @property
    def last(self) -> bool:
        """Return whether the last session is selected."""
        return self.id is None


class ExecOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The checked extensions of a request. Every value is safe in an argv.

    `approval_policy` None means the CLI's own default. `add_dirs` and `images` are absolute paths. `settings` has the
    settings of the configuration, of the request and of the adapter, in this order, each `KEY=TOML`. Later ones win.
    """

    approval_policy: str | None = "never"
    sandbox_mode: str = "workspace-write"
    trust_project: bool = False
    model: str | None = None
    add_dirs: tuple[str, ...] = ()
    resume: SessionSelector | None = None
    fork: SessionSelector | None = None
    tool_payloads: Literal["metadata", "full"] = "metadata"
    output_schema: dict[str, Any] | None = None
    images: tuple[str, ...] = ()
    tools: Literal["all", "none"] = "all"
    settings: tuple[str, ...] = ()


def read_extensions(extensions: Any, facts: FileSystem) -> ExecOptions:
    """Check all keys, then all values, then contradictions between them (Q2, Q3, Q4).

    Raise `UnsupportedCapabilityError` with the smallest unknown key, or `InvalidRequestError` with the key and the
    allowed values. If several values are wrong, the error names the smallest key.
    """
    if not isinstance(extensions, Mapping) or not all(isinstance(key, str) for key in extensions):
        refuse("extensions", "an object with string keys")
    unknown = extensions.keys() - _EXTENSIONS.keys()
    if unknown:
        raise UnsupportedCapabilityError(KIND, printable(min(unknown)))
    fields = {
        _EXTENSIONS[key].field: _EXTENSIONS[key].check(key, value, facts) for key, value in sorted(extensions.items())
    }
    if fields.pop("non_interactive", True):
        if fields.get("approval_policy", "never") != "never":
            raise InvalidRequestError(
                f"{keys.APPROVAL_POLICY} must be 'never' or absent unless {keys.NON_INTERACTIVE} is false"
            )
    else:
        fields.setdefault("approval_policy", None)
    if "resume" in fields and "fork" in fields:
        raise InvalidRequestError(f"{keys.RESUME} and {keys.FORK} contradict each other. Pass only one of them")
    return ExecOptions(**fields)


def _boolean(key: str, value: Any, _facts: FileSystem) -> bool:
    if not isinstance(value, bool):
        refuse(key, "true or false")
    return value


def _one_of(*allowed: str) -> Callable[[str, Any, FileSystem], str]:
    def check(key: str, value: Any, _facts: FileSystem) -> str:
        for choice in allowed:
            if isinstance(value, str) and value == choice:
                return choice
        refuse(key, "one of " + ", ".join(f"'{choice}'" for choice in allowed))

    return check


def _model(key: str, value: Any, _facts: FileSystem) -> str:
    return check_model(key, value)


def _tool_payloads(key: str, value: Any, _facts: FileSystem) -> str:
    return check_tool_payloads(key, value)


def _add_dirs(key: str, value: Any, facts: FileSystem) -> tuple[str, ...]:
    if not isinstance(value, dict) or value.keys() != {"dirs"}:
        refuse(key, "an object with only `dirs`")
    dirs = value["dirs"]
    if not isinstance(dirs, list | tuple) or not 1 <= len(dirs) <= _MAX_ADD_DIRS:
        refuse(f"{key}: dirs", f"a list of 1 to {_MAX_ADD_DIRS} directories")
    return tuple(dict.fromkeys(_directory(f"{key}: dirs[{n}]", item, facts) for n, item in enumerate(dirs)))


def _directory(field: str, value: Any, facts: FileSystem) -> str:
    path = value.strip() if isinstance(value, str) else ""
    if not is_short_text(path, _MAX_DIRECTORY_BYTES):
        refuse(field, f"a string of 1 to {_MAX_DIRECTORY_BYTES} bytes without control characters")
    # posixpath keeps two leading slashes; on Linux, they mean the same as one.
    folded = "/" + posixpath.normpath(posixpath.join(facts.cwd, path)).lstrip("/")
    if not facts.is_dir(folded):
        refuse(field, "an existing directory")
    return folded


def _session(key: str, value: Any, _facts: FileSystem) -> SessionSelector:
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


def _canonical(session: str) -> str:
    """Return a UUID in the form that the CLI prints; the CLI accepts other forms."""
    found = _UUID.fullmatch(session)
    return session if found is None else "-".join(found.groups()).lower()


def _json_schema(key: str, value: Any, _facts: FileSystem) -> dict[str, Any]:
    if not isinstance(value, dict) or not is_json(value):
        refuse(key, "a JSON Schema object")
    return value


def _images(key: str, value: Any, facts: FileSystem) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        refuse(key, "a list of existing files")
    return tuple(_image(f"{key}[{n}]", item, facts) for n, item in enumerate(value))


def _image(field: str, value: Any, facts: FileSystem) -> str:
    path = posixpath.join(facts.cwd, value) if is_plain_text(value) else ""
    # The CLI splits the value of --image at commas, and a comma cannot be quoted.
    if "," in path or not facts.is_file(path):
        refuse(field, "an existing file whose absolute path has no comma and no control character")
    return path


def _settings(key: str, value: Any, _facts: FileSystem) -> tuple[str, ...]:
    return check_settings(key, value, "run")


class _Extension(NamedTuple):
    field: str
    check: Callable[[str, Any, FileSystem], Any]


_EXTENSIONS: dict[str, _Extension] = {
    keys.NON_INTERACTIVE: _Extension("non_interactive", _boolean),
    keys.APPROVAL_POLICY: _Extension("approval_policy", _one_of(*APPROVAL_POLICIES)),
    keys.SANDBOX_MODE: _Extension("sandbox_mode", _one_of(*SANDBOX_MODES)),
    keys.TRUST_PROJECT: _Extension("trust_project", _boolean),
    keys.MODEL: _Extension("model", _model),
    keys.ADD_DIRS: _Extension("add_dirs", _add_dirs),
    keys.RESUME: _Extension("resume", _session),
    keys.FORK: _Extension("fork", _session),
    keys.TOOL_PAYLOADS: _Extension("tool_payloads", _tool_payloads),
    keys.OUTPUT_SCHEMA: _Extension("output_schema", _json_schema),
    keys.IMAGES: _Extension("images", _images),
    keys.TOOLS: _Extension("tools", _one_of("all", "none")),
    keys.SETTINGS: _Extension("settings", _settings),
}

CAPABILITIES: frozenset[str] = frozenset(_EXTENSIONS) | keys.WITHOUT_KEY
"""Every capability id of the agent: the extension keys, and the capabilities that need no key."""
