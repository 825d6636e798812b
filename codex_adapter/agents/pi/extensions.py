"""Check the extensions of a request with one table: key, check, field (Q2, Q3, Q4)."""

from __future__ import annotations

import posixpath
import re
from typing import Any, Final

from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.kind import KIND
from codex_adapter.core.checks import is_plain_text, refuse
from codex_adapter.core.extension_checks import (
    CommonOptions,
    Extension,
    SessionSelector,
    check_boolean,
    check_extensions,
    check_images,
    check_model_id,
    check_payloads,
    check_session,
    one_of,
    only_true,
)
from codex_adapter.core.request_checks import FileSystem

__all__ = ["CAPABILITIES", "SANDBOX_MODES", "THINKING_LEVELS", "RunOptions", "read_extensions"]

SANDBOX_MODES: Final = ("read-only", "danger-full-access")
THINKING_LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh")
_SESSION: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class RunOptions(CommonOptions, frozen=True, kw_only=True):
    """The checked extensions of a request. Every value is safe in an argv. `images` and `skills` are absolute paths."""

    sandbox_mode: str = "read-only"
    provider: str | None = None
    thinking: str | None = None
    images: tuple[str, ...] = ()
    skills: str | None = None


def read_extensions(extensions: Any, facts: FileSystem) -> RunOptions:
    """Return the options of a request's extensions.

    Raise `UnsupportedCapabilityError` or `InvalidRequestError` (Q2, Q3, Q4).
    """
    fields = check_extensions(KIND, extensions, _EXTENSIONS, facts)
    fields.pop("non_interactive", None)
    return RunOptions(**fields)


def _sandbox_mode(key: str, value: Any, facts: FileSystem) -> str:
    if isinstance(value, str) and value == "workspace-write":
        refuse(key, "'read-only' or 'danger-full-access', because pi has no sandbox for the working directory")
    mode: str = one_of(*SANDBOX_MODES)(key, value, facts)
    return mode


def _session(key: str, value: Any, facts: FileSystem) -> SessionSelector:
    session: SessionSelector = check_session(key, value, facts)
    # The CLI takes any other text as the path of a file, and creates a session there.
    named = session.id is None or (_SESSION.fullmatch(session.id) and not session.id.endswith(".jsonl"))
    if not named:
        refuse(f"{key}: id", "the id of a session: letters, digits, '.', '_' and '-'")
    return session


def _forked(key: str, value: Any, facts: FileSystem) -> SessionSelector:
    session = _session(key, value, facts)
    if session.last:
        refuse(key, "{'selector': 'id', 'id': ...}, because pi cannot fork its last session")
    return session


def _skills(key: str, value: Any, facts: FileSystem) -> str:
    path = posixpath.join(facts.cwd, value) if is_plain_text(value) else ""
    if not path or not facts.is_dir(path):
        refuse(key, "an existing directory whose path has no control character")
    return path


_EXTENSIONS: Final[dict[str, Extension]] = {
    keys.NON_INTERACTIVE: Extension("non_interactive", only_true("pi never asks")),
    keys.SANDBOX_MODE: Extension("sandbox_mode", _sandbox_mode),
    keys.TRUST_PROJECT: Extension("trust_project", check_boolean),
    keys.MODEL: Extension("model", check_model_id),
    keys.PROVIDER: Extension("provider", check_model_id),
    keys.THINKING: Extension("thinking", one_of(*THINKING_LEVELS)),
    keys.IMAGES: Extension("images", check_images),
    keys.SKILLS: Extension("skills", _skills),
    keys.RESUME: Extension("resume", _session),
    keys.FORK: Extension("fork", _forked),
    keys.TOOL_PAYLOADS: Extension("tool_payloads", check_payloads),
    keys.TOOLS: Extension("tools", one_of("all", "none")),
}

CAPABILITIES: Final = frozenset(_EXTENSIONS) | keys.WITHOUT_KEY
"""Every capability id of the agent: the extension keys, and the capabilities that need no key."""
