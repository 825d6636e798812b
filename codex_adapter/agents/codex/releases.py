"""Know where releases of the Codex CLI differ: one table, and how a release is read (R1, S8).

The table was established by running the published binaries, 0.44.0 to 0.169.0. A boundary is the first of those
releases that behaves the new way. What every supported release does alike has no row, unless it has to be known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec
from typing_extensions import override

from codex_adapter.agents.codex.extensions import ExecOptions

__all__ = [
    "FEATURES",
    "MINIMUM",
    "NEEDS",
    "QUIRKS",
    "SHORT_DESCRIPTION",
    "Feature",
    "Need",
    "Quirk",
    "Version",
    "is_supported",
    "missing_feature",
    "need",
    "needs_version",
    "parse_version",
    "quirk",
    "quirks_of",
]


class Version(NamedTuple):
    """A release of the CLI; `pre` is the part after a dash, as in `0.170.0-alpha.3`, or empty."""

    major: int
    minor: int
    patch: int
    pre: str = ""

    @override
    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + (f"-{self.pre}" if self.pre else "")


MINIMUM: Final = Version(0, 44, 0)
"""The first release whose `--json` prints thread events (S8)."""

SHORT_DESCRIPTION: Final = 1024
"""Characters of a skill's description that every release takes."""


class _Row(msgspec.Struct, frozen=True):
    """Something that holds for the releases from `since` on and before `until`; None leaves that end open.

    Code and tests look a row up by `name`; `about` describes it to a person, in a clause.
    """

    name: str
    about: str
    since: Version | None = None
    until: Version | None = None

    def holds(self, version: Version) -> bool:
        """Return whether it holds for a release; a pre-release counts as its release (R1)."""
        return not self.is_before(version) and (self.until is None or version[:3] < self.until[:3])

    def is_before(self, version: Version) -> bool:
        """Return whether a release is older than the first for which it holds."""
        return self.since is not None and version[:3] < self.since[:3]


class Feature(_Row, frozen=True, kw_only=True):
    """Something that a request can ask for (S8); `used` returns whether its options do."""

    used: Callable[[ExecOptions], bool]


class Need(_Row, frozen=True):
    """Something that a turn can need of the release (U9)."""


class Quirk(_Row, frozen=True):
    """Anything else that the adapter, its probes or its tests have to know of a release."""


def _release(minor: int) -> Version:
    return Version(0, minor, 0)


_TABLE: Final[tuple[Feature | Need | Quirk, ...]] = (
    Feature(
        "approval_on_failure",
        "approval policy 'on-failure'",
        until=_release(143),
        used=lambda options: options.approval_policy == "on-failure",
    ),
    Feature(
        "approval_untrusted",
        "approval policy 'untrusted'",
        until=_release(149),
        used=lambda options: options.approval_policy == "untrusted",
    ),
    Feature("add_dirs", "additional directories", since=_release(59), used=lambda options: bool(options.add_dirs)),
    # before, the images were a turn of their own that raced the prompt's, and the run could hang for ever
    Feature("images", "images", since=_release(53), used=lambda options: bool(options.images)),
    # before, `resume --last` took no prompt
    Feature(
        "resume_last",
        "resuming the last session",
        since=_release(63),
        used=lambda options: options.resume is not None and options.resume.last,
    ),
    # before 0.66 the shell could not be taken from the model, from 0.92 to 0.146 not the tool that reads images
    Feature("no_tools", "a model without tools", since=_release(147), used=lambda options: options.tools == "none"),
    # 0.148 to 0.154 take `fork` too, but the promise begins here
    Feature("fork", "forking a session", since=_release(155), used=lambda options: options.fork is not None),
    Need("skills", "skills", since=_release(77)),
    Need("long_description", f"a skill's description of more than {SHORT_DESCRIPTION} characters", since=_release(147)),
    Need("hooks", "hooks", since=_release(125)),
    Need("mcp_servers", "MCP servers whose tools run unasked", since=_release(125)),
    Need("gif_and_webp", "images in GIF or WebP", since=_release(116)),
    # before, a conversation continued with the instructions and skills that it began with
    Need("other_instructions", "other instructions or skills within a conversation", since=_release(147)),
    Quirk("approval_before_exec", "`--ask-for-approval` is accepted only before `exec`"),
    Quirk("resume_takes_few_flags", "`resume` refuses `--sandbox`, `--add-dir` and `--cd` after it"),
    Quirk("sandbox_before_exec_ignored", "`--sandbox` before `exec` is accepted and ignored", until=_release(120)),
    Quirk("image_turn", "images are a turn of their own that races the prompt's", until=_release(53)),
    Quirk(
        "no_session_starts_a_thread",
        "resuming what is no UUID, and `last` without a session, starts a new thread with status 0",
    ),
    Quirk(
        "unknown_session_starts_a_thread",
        "resuming an unknown UUID starts a new thread with status 0; later releases exit with 1 and print nothing",
        until=_release(120),
    ),
    Quirk("usage_of_thread", "`usage` counts the whole thread, not the turn", since=_release(80)),
    Quirk("web_search_id_twice", "`web_search` has the key `id` twice, the last counts", since=_release(92)),
    Quirk("web_search_started", "a `web_search` is started before it is completed", since=_release(92)),
    Quirk("file_change_started", "a `file_change` is started before it is completed", since=_release(120)),
    Quirk("file_changes_unordered", "the changes of a `file_change` come in any order", until=_release(120)),
    Quirk("reasoning_parts_apart", "each part of a summary is a reasoning item of its own", until=_release(120)),
    Quirk(
        "command_completion_lost",
        "a command's completion may be missing, or come after the last message, when the model answers at once",
        since=_release(120),
        until=_release(147),
    ),
    Quirk(
        "command_output_lost",
        "`aggregated_output` may be empty though there was output",
        since=_release(147),
        until=_release(163),
    ),
    Quirk("output_cut", "output over 40 kB is cut", since=_release(98), until=_release(116)),
    Quirk("plan_not_offered", "the configuration cannot turn plans on", since=_release(45), until=_release(50)),
    Quirk("collab", "sub-agents are offered without being asked for", since=_release(116)),
    Quirk(
        "children_mixed_in",
        "sub-agents' turns and messages are mixed into stdout",
        since=_release(98),
        until=_release(107),
    ),
    Quirk(
        "child_failure_untold",
        "waiting for a sub-agent that failed may tell that it completed",
        since=_release(116),
        until=_release(120),
    ),
    Quirk("sigint_is_success", "SIGINT gives status 0; later releases exit with 1", until=_release(120)),
    Quirk(
        "mcp_failure_is_status_1",
        "status 1 after `turn.completed`, when an MCP server cannot start",
        until=_release(61),
    ),
    Quirk("mcp_required", "an MCP server can be required: without it nothing starts", since=_release(107)),
    Quirk("reconnects_for_ever", "without a network, reconnect notices without end", since=_release(155)),
    Quirk(
        "drops_what_is_not_read",
        "items are dropped, the last message among them, when many come at once or stdout is not read for long",
        since=_release(116),
        until=_release(147),
    ),
    Quirk("prompt_mark_taken_off", "a byte order mark at the start of a prompt is taken off", since=_release(98)),
    Quirk(
        "prompt_is_bounded",
        "a prompt over 1,048,576 characters ends the agent after `thread.started`, status 1",
        since=_release(116),
    ),
    Quirk("chat_refused", "a model provider with `wire_api` `chat` is refused at the start", since=_release(98)),
    Quirk(
        "outlives_its_turn",
        "the agent outlives its last turn while a background command runs",
        since=_release(61),
        until=_release(66),
    ),
    Quirk("project_settings", "the settings of a trusted project are used: `.codex/config.toml`", since=_release(98)),
    Quirk(
        "trusts_for_good",
        "in a directory of which nothing is known, a sandbox that may write makes it trusted in the user's settings",
        since=_release(120),
        until=_release(169),
    ),
    Quirk(
        "trusts_the_distrusted",
        "the same in a directory that is not to be trusted; the run itself does not trust it",
        since=_release(120),
        until=_release(125),
    ),
    Quirk(
        "distrust_hides_instructions",
        "`AGENTS.md` of a project that is not to be trusted is not read",
        since=_release(155),
    ),
    Quirk("reprints_after_reconnect", "items already printed are printed again, with new ids, after each reconnect"),
    Quirk(
        "asks_for_models",
        "without a network a start takes 3 seconds more, for a list of models that is kept nowhere",
        since=_release(92),
        until=_release(107),
    ),
    Quirk("lists_models", "`debug models --bundled` lists the models that the CLI knows", since=_release(125)),
    Quirk("snapshot_restores_excluded", "the snapshot of a shell brings excluded variables back", until=_release(158)),
)
"""All that is known of releases, and nowhere else; a row says nothing about any other (R1)."""

FEATURES: Final = tuple(row for row in _TABLE if isinstance(row, Feature))
NEEDS: Final = tuple(row for row in _TABLE if isinstance(row, Need))
QUIRKS: Final = tuple(row for row in _TABLE if isinstance(row, Quirk))
_NEEDS_BY_NAME: Final = {row.name: row for row in NEEDS}
_QUIRKS_BY_NAME: Final = {row.name: row for row in QUIRKS}


def need(name: str) -> Need:
    """Return what a turn can need, by its name. Raise KeyError if the table has no such row."""
    return _NEEDS_BY_NAME[name]


def quirk(name: str) -> Quirk:
    """Return a quirk by its name. Raise KeyError if the table has no such row."""
    return _QUIRKS_BY_NAME[name]


def quirks_of(version: Version) -> dict[str, Quirk]:
    """Return the quirks of a release by name (R1)."""
    return {row.name: row for row in QUIRKS if row.holds(version)}


def parse_version(text: str) -> Version | None:
    """Return the release in the output of `codex --version`, None if there is none.

    A build from source calls itself 0.0.0, which does not show what it can do: None as well.
    """
    found = _VERSION_LINE.search(text)
    if found is None:
        return None
    version = Version(int(found[1]), int(found[2]), int(found[3]), found[4] or "")
    return version if version[:3] != (0, 0, 0) else None


def needs_version(options: ExecOptions) -> bool:
    """Return whether some supported release cannot do what `options` ask for (S8)."""
    return any(feature.used(options) for feature in FEATURES)


def is_supported(version: Version) -> bool:
    """Return whether the adapter understands the output of a release (S8, R1)."""
    return version[:3] >= MINIMUM[:3]


def missing_feature(options: ExecOptions, version: Version | None) -> str | None:
    """Return why a release cannot do what `options` ask for, as a clause for a person; None if it can (S8, R1).

    A pre-release counts as its release. An unknown version (None) lacks only what every release lacks.
    """
    if options.fork is not None and options.fork.last:
        return "forking the last session is something that no release can do; give the id of the session"
    if version is None:
        return None
    if not is_supported(version):
        return f"release {version} is older than {MINIMUM}, the first one supported"
    for feature in FEATURES:
        if not feature.used(options) or feature.holds(version):
            continue
        if feature.is_before(version):
            return f"{feature.about} needs release {feature.since} or newer, and {version} is installed"
        return f"{feature.about} was removed in release {feature.until}, and {version} is installed"
    return None


_VERSION_LINE: Final = re.compile(
    r"^codex(?:-cli)? v?(\d{1,9})\.(\d{1,9})\.(\d{1,12})(?:-([0-9A-Za-z.-]{1,32}))?\s*$", re.ASCII | re.MULTILINE
)
