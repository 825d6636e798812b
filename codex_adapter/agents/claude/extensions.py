"""Check the extensions of a request with one table: key, check, field (Q2, Q3, Q4)."""

from __future__ import annotations

import re
from typing import Any, Final

from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.kind import KIND
from codex_adapter.core.checks import refuse
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
    only_true,
)
from codex_adapter.core.request_checks import FileSystem

__all__ = ["CAPABILITIES", "MOST_DOLLARS", "MOST_TURNS", "SANDBOX_MODES", "RunOptions", "read_extensions"]

SANDBOX_MODES: Final = ("read-only", "workspace-write", "danger-full-access")
MOST_TURNS: Final = 1_000_000
MOST_DOLLARS: Final = 1_000_000
_IMAGE: Final = re.compile(r"\.(?:png|jpe?g|gif|webp)\Z", re.IGNORECASE)
"""The CLI takes any other file as text."""


class RunOptions(CommonOptions, frozen=True, kw_only=True):
    """The checked extensions of a request. Every value is safe in an argv.

    `add_dirs` and `images` are absolute paths. `max_budget` is in US dollars, as the CLI estimates its cost. The launch
    finds out whether the working directory is in a git `repository`.
    """

    sandbox_mode: str = "workspace-write"
    add_dirs: tuple[str, ...] = ()
    output_schema: dict[str, Any] | None = None
    partial_messages: bool = False
    require_servers: bool = False
    max_turns: int | None = None
    max_budget: float | None = None
    images: tuple[str, ...] = ()
    repository: bool = False

    @property
    def sandboxed(self) -> bool:
        """Whether commands run in the CLI's sandbox."""
        return self.sandbox_mode != "danger-full-access" and self.tools != "none"


def read_extensions(extensions: Any, facts: FileSystem) -> RunOptions:
    """Return the options of a request's extensions.

    Raise `UnsupportedCapabilityError` or `InvalidRequestError` (Q2, Q3, Q4).
    """
    fields = check_extensions(KIND, extensions, _EXTENSIONS, facts)
    fields.pop("non_interactive", None)
    return RunOptions(**fields)


def _images(key: str, value: Any, facts: FileSystem) -> tuple[str, ...]:
    rule = "ends in .png, .jpg, .jpeg, .gif or .webp, and has no quote and no control character"
    return check_files(key, value, facts, rule, lambda path: bool(_IMAGE.search(path)) and '"' not in path)


def _turns(key: str, value: Any, _facts: FileSystem) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_TURNS:
        refuse(key, f"a whole number from 1 to {MOST_TURNS}")
    return value


def _dollars(key: str, value: Any, _facts: FileSystem) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MOST_DOLLARS:
        refuse(key, f"a number of US dollars over 0, at most {MOST_DOLLARS}")
    return float(value)


_EXTENSIONS: Final[dict[str, Extension]] = {
    keys.NON_INTERACTIVE: Extension("non_interactive", only_true("in a run, Claude Code never asks")),
    keys.SANDBOX_MODE: Extension("sandbox_mode", one_of(*SANDBOX_MODES)),
    keys.TRUST_PROJECT: Extension("trust_project", check_boolean),
    keys.MODEL: Extension("model", check_model_id),
    keys.ADD_DIRS: Extension("add_dirs", check_add_dirs),
    keys.RESUME: Extension("resume", check_session),
    keys.FORK: Extension("fork", check_session),
    keys.TOOL_PAYLOADS: Extension("tool_payloads", check_payloads),
    keys.IMAGES: Extension("images", _images),
    keys.OUTPUT_SCHEMA: Extension("output_schema", check_json_schema),
    keys.TOOLS: Extension("tools", one_of("all", "none")),
    keys.PARTIAL_MESSAGES: Extension("partial_messages", check_boolean),
    keys.REQUIRE_SERVERS: Extension("require_servers", check_boolean),
    keys.MAX_TURNS: Extension("max_turns", _turns),
    keys.MAX_BUDGET: Extension("max_budget", _dollars),
}

CAPABILITIES: Final = frozenset(_EXTENSIONS) | keys.WITHOUT_KEY
"""Every capability id of the agent: the extension keys, and the capabilities that need no key."""
