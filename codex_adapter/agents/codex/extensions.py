"""Check the extensions of a request with one table: key, check, field.

The checked value of a key becomes a field of `ExecOptions`. The caller passes a `FileSystem`, so this module does no
I/O.
"""

from __future__ import annotations

from typing import Any

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.settings import check_settings
from codex_adapter.core.extension_checks import (
    CommonOptions,
    Extension,
    check_add_dirs,
    check_boolean,
    check_extensions,
    check_files,
    check_json_schema,
    check_model_id,
    check_payloads,
    check_session,
    one_of,
)
from codex_adapter.core.request_checks import FileSystem
from codex_adapter.errors import InvalidRequestError

__all__ = [
    "APPROVAL_POLICIES",
    "CAPABILITIES",
    "SANDBOX_MODES",
    "ExecOptions",
    "read_extensions",
]

APPROVAL_POLICIES = ("untrusted", "on-failure", "on-request", "never")
SANDBOX_MODES = ("read-only", "workspace-write", "danger-full-access")


class ExecOptions(CommonOptions, frozen=True, kw_only=True):
    """The checked extensions of a request. Every value is safe in an argv.

    `approval_policy` None means the CLI's own default. `add_dirs` and `images` are absolute paths. `settings` has the
    settings of the configuration, of the request and of the adapter, in this order, each `KEY=TOML`. Later ones win.
    """

    approval_policy: str | None = "never"
    sandbox_mode: str = "workspace-write"
    add_dirs: tuple[str, ...] = ()
    output_schema: dict[str, Any] | None = None
    images: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


def read_extensions(extensions: Any, facts: FileSystem) -> ExecOptions:
    """Check all keys, then all values, then contradictions between them (Q2, Q3, Q4).

    Raise `UnsupportedCapabilityError` with the smallest unknown key, or `InvalidRequestError` with the key and the
    allowed values. If several values are wrong, the error names the smallest key.
    """
    fields = check_extensions(KIND, extensions, _EXTENSIONS, facts)
    if fields.pop("non_interactive", True):
        if fields.get("approval_policy", "never") != "never":
            raise InvalidRequestError(
                f"{keys.APPROVAL_POLICY} must be 'never' or absent unless {keys.NON_INTERACTIVE} is false"
            )
    else:
        fields.setdefault("approval_policy", None)
    return ExecOptions(**fields)


def _images(key: str, value: Any, facts: FileSystem) -> tuple[str, ...]:
    # The CLI splits the value of --image at commas, and a comma cannot be quoted.
    return check_files(key, value, facts, "has no comma and no control character", lambda path: "," not in path)


def _settings(key: str, value: Any, _facts: FileSystem) -> tuple[str, ...]:
    return check_settings(key, value, "run")


_EXTENSIONS: dict[str, Extension] = {
    keys.NON_INTERACTIVE: Extension("non_interactive", check_boolean),
    keys.APPROVAL_POLICY: Extension("approval_policy", one_of(*APPROVAL_POLICIES)),
    keys.SANDBOX_MODE: Extension("sandbox_mode", one_of(*SANDBOX_MODES)),
    keys.TRUST_PROJECT: Extension("trust_project", check_boolean),
    keys.MODEL: Extension("model", check_model_id),
    keys.ADD_DIRS: Extension("add_dirs", check_add_dirs),
    keys.RESUME: Extension("resume", check_session),
    keys.FORK: Extension("fork", check_session),
    keys.TOOL_PAYLOADS: Extension("tool_payloads", check_payloads),
    keys.OUTPUT_SCHEMA: Extension("output_schema", check_json_schema),
    keys.IMAGES: Extension("images", _images),
    keys.TOOLS: Extension("tools", one_of("all", "none")),
    keys.SETTINGS: Extension("settings", _settings),
}

CAPABILITIES: frozenset[str] = frozenset(_EXTENSIONS) | keys.WITHOUT_KEY
"""Every capability id of the agent: the extension keys, and the capabilities that need no key."""
