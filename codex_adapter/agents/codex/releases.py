"""Describe the differences between releases of the Codex CLI in one table, and parse a release (R1, S8).

The table is the result of runs of the published binaries, 0.44.0 to 0.169.0. A boundary is the first of those releases
with the new behavior. A behavior that all supported releases share has a row only if the adapter needs to know it.
"""

from __future__ import annotations

import re
from typing import Final

from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import Feature, Need, Quirk, ReleaseTable

__all__ = [
    "FEATURES",
    "MINIMUM",
    "NEEDS",
    "QUIRKS",
    "RELEASES",
    "SHORT_DESCRIPTION",
    "is_supported",
    "missing_feature",
    "need",
    "needs_version",
    "parse_version",
    "quirk",
    "quirks_of",
]


MINIMUM: Final = Version(0, 44, 0)
"""The first release whose `--json` prints thread events (S8)."""

SHORT_DESCRIPTION: Final = 1024
"""Characters of a skill's description that every release accepts."""


def _impossible(options: ExecOptions) -> str | None:
    if options.fork is not None and options.fork.last:
        return "no release can fork the last session; pass the id of the session"
    return None


def _release(minor: int) -> Version:
    return Version(0, minor, 0)


_ROWS: Final[tuple[Feature | Need | Quirk, ...]] = (
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
    # Before, the images were a separate turn that raced with the prompt's turn, and the run could hang forever.
    Feature("images", "images", since=_release(53), used=lambda options: bool(options.images)),
    # Before, `resume --last` accepted no prompt.
    Feature(
        "resume_last",
        "resuming the last session",
        since=_release(63),
        used=lambda options: options.resume is not None and options.resume.last,
    ),
    # Before 0.66 the shell tool could not be disabled, and from 0.92 to 0.146 the tool that reads images.
    Feature("no_tools", "a model without tools", since=_release(147), used=lambda options: options.tools == "none"),
    # 0.148 to 0.154 accept `fork` too, but without the behavior that the rule promises.
    Feature("fork", "forking a session", since=_release(155), used=lambda options: options.fork is not None),
    Need("skills", "skills", since=_release(77)),
    Need("long_description", f"a skill's description of more than {SHORT_DESCRIPTION} characters", since=_release(147)),
    Need("hooks", "hooks", since=_release(125)),
    Need("mcp_servers", "MCP servers whose tools run without approval", since=_release(125)),
    Need("gif_and_webp", "images in GIF or WebP", since=_release(116)),
    # Before, a conversation kept the instructions and skills with which it began.
    Need("other_instructions", "changed instructions or skills in a conversation", since=_release(147)),
    Quirk("approval_before_exec", "`--ask-for-approval` is accepted only before `exec`"),
    Quirk("resume_takes_few_flags", "`resume` refuses `--sandbox`, `--add-dir` and `--cd` after it"),
    Quirk("sandbox_before_exec_ignored", "`--sandbox` before `exec` is accepted and ignored", until=_release(120)),
    Quirk("image_turn", "images are a separate turn that races with the prompt's turn", until=_release(53)),
    Quirk(
        "no_session_starts_a_thread",
        "`resume` with an id that is not a UUID, or `--last` without a session, starts a new thread with status 0",
    ),
    Quirk(
        "unknown_session_starts_a_thread",
        "`resume` with an unknown UUID starts a new thread with status 0; later releases print nothing and exit with 1",
        until=_release(120),
    ),
    Quirk("usage_of_thread", "`usage` counts the whole thread, not the turn", since=_release(80)),
    Quirk("web_search_id_twice", "`web_search` has the key `id` twice; the last one counts", since=_release(92)),
    Quirk("web_search_started", "a `web_search` has an `item.started` line", since=_release(92)),
    Quirk("file_change_started", "a `file_change` has an `item.started` line", since=_release(120)),
    Quirk("file_changes_unordered", "the changes of a `file_change` are in any order", until=_release(120)),
    Quirk("reasoning_parts_apart", "each part of a summary is a separate reasoning item", until=_release(120)),
    Quirk(
        "command_completion_lost",
        "the completion of a command may be missing, or follow the last message, if the model answers at once",
        since=_release(120),
        until=_release(147),
    ),
    Quirk(
        "command_output_lost",
        "`aggregated_output` may be empty although the command printed output",
        since=_release(147),
        until=_release(163),
    ),
    Quirk("output_cut", "output over 40 kB is cut", since=_release(98), until=_release(116)),
    Quirk("plan_not_offered", "the configuration cannot enable plans", since=_release(45), until=_release(50)),
    Quirk("collab", "sub-agents are enabled by default", since=_release(116)),
    Quirk(
        "children_mixed_in",
        "stdout also has the turns and messages of sub-agents",
        since=_release(98),
        until=_release(107),
    ),
    Quirk(
        "child_failure_untold",
        "a wait for a failed sub-agent may report that it completed",
        since=_release(116),
        until=_release(120),
    ),
    Quirk("sigint_is_success", "the exit status after SIGINT is 0; in later releases it is 1", until=_release(120)),
    Quirk(
        "mcp_failure_is_status_1",
        "if an MCP server cannot start, the exit status is 1 even after `turn.completed`",
        until=_release(61),
    ),
    Quirk("mcp_required", "an MCP server can be required: if it cannot start, the run fails", since=_release(107)),
    Quirk("reconnects_for_ever", "without a network, reconnect notices never end", since=_release(155)),
    Quirk(
        "drops_what_is_not_read",
        "items, even the last message, are lost if many arrive at once or stdout is not read for a long time",
        since=_release(116),
        until=_release(147),
    ),
    Quirk("prompt_mark_taken_off", "a byte order mark at the start of a prompt is removed", since=_release(98)),
    Quirk(
        "prompt_is_bounded",
        "a prompt over 1,048,576 characters ends the agent after `thread.started` with status 1",
        since=_release(116),
    ),
    Quirk("chat_refused", "a model provider with `wire_api` `chat` is refused at the start", since=_release(98)),
    Quirk(
        "outlives_its_turn",
        "the agent does not exit after its last turn while a background command runs",
        since=_release(61),
        until=_release(66),
    ),
    Quirk("project_settings", "`.codex/config.toml` of a trusted project is read", since=_release(98)),
    Quirk(
        "trusts_for_good",
        "a run with a writable sandbox records a directory without trust setting as trusted in the user's settings",
        since=_release(120),
        until=_release(169),
    ),
    Quirk(
        "trusts_the_distrusted",
        "the same for a directory that is set as untrusted, although the run itself does not trust it",
        since=_release(120),
        until=_release(125),
    ),
    Quirk(
        "distrust_hides_instructions",
        "`AGENTS.md` of an untrusted project is not read",
        since=_release(155),
    ),
    Quirk("reprints_after_reconnect", "after each reconnect, items are printed again with new ids"),
    Quirk(
        "asks_for_models",
        "without a network, a start takes 3 more seconds to look for a list of models",
        since=_release(92),
        until=_release(107),
    ),
    Quirk("lists_models", "`debug models --bundled` lists the models that the CLI knows", since=_release(125)),
    Quirk("snapshot_restores_excluded", "the snapshot of a shell restores excluded variables", until=_release(158)),
)

RELEASES: Final = ReleaseTable[ExecOptions](MINIMUM, _ROWS, impossible=_impossible)
"""The only place in the package with facts about releases of the CLI (R1)."""

FEATURES: Final = RELEASES.features
NEEDS: Final = RELEASES.needs
QUIRKS: Final = RELEASES.quirks
need = RELEASES.need
quirk = RELEASES.quirk
quirks_of = RELEASES.quirks_of
needs_version = RELEASES.needs_version
is_supported = RELEASES.is_supported
missing_feature = RELEASES.missing_feature


def parse_version(text: str) -> Version | None:
    """Return the release in the output of `codex --version`, or None.

    A build from source prints 0.0.0, which does not identify its features: the result is None too.
    """
    found = _VERSION_LINE.search(text)
    if found is None:
        return None
    version = Version(int(found[1]), int(found[2]), int(found[3]), found[4] or "")
    return version if version[:3] != (0, 0, 0) else None


_VERSION_LINE: Final = re.compile(
    r"^codex(?:-cli)? v?(\d{1,9})\.(\d{1,9})\.(\d{1,12})(?:-([0-9A-Za-z.-]{1,32}))?\s*$", re.ASCII | re.MULTILINE
)
