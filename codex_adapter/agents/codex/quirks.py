"""What the rest of the adapter bears of single releases of the Codex CLI, in one table.

Where releases differ in what a request may ask for is in `releases.py`. Established as that is, by running the
published binaries: a boundary is the first release of those tried that behaves the new way.
"""

from __future__ import annotations

from typing import NamedTuple

from codex_adapter.agents.codex.releases import Version, is_within

__all__ = ["FACTS", "Fact", "facts_of"]


class Fact(NamedTuple):
    """Something that holds for the releases from `since` on and before `until`; None leaves that end open (R1).

    `name` is how code and tests ask for it, `about` a sentence for a person.
    """

    name: str
    about: str
    since: Version | None = None
    until: Version | None = None

    def holds(self, version: Version) -> bool:
        """Whether it holds for this release; a pre-release counts as its release."""
        return is_within(version, self.since, self.until)


def _release(minor: int) -> Version:
    return Version(0, minor, 0)


FACTS = (
    Fact("approval_before_exec", "`--ask-for-approval` is accepted only before `exec`"),
    Fact("resume_takes_few_flags", "`resume` refuses `--sandbox`, `--add-dir` and `--cd` after it"),
    Fact("sandbox_before_exec_ignored", "`--sandbox` before `exec` is accepted and ignored", until=_release(120)),
    Fact("image_turn", "images are a turn of their own that races the prompt's", until=_release(53)),
    Fact(
        "no_session_starts_a_thread",
        "resuming what is no UUID, and `last` without a session, starts a new thread with status 0",
    ),
    Fact(
        "unknown_session_starts_a_thread",
        "resuming an unknown UUID starts a new thread with status 0; later releases exit with 1 and print nothing",
        until=_release(120),
    ),
    Fact("usage_of_thread", "`usage` counts the whole thread, not the turn", since=_release(80)),
    Fact("web_search_id_twice", "`web_search` has the key `id` twice, the last counts", since=_release(92)),
    Fact("web_search_started", "a `web_search` is started before it is completed", since=_release(92)),
    Fact("file_change_started", "a `file_change` is started before it is completed", since=_release(120)),
    Fact("file_changes_unordered", "the changes of a `file_change` come in any order", until=_release(120)),
    Fact("reasoning_parts_apart", "each part of a summary is a reasoning item of its own", until=_release(120)),
    Fact(
        "command_completion_lost",
        "a command's completion may be missing, or come after the last message, when the model answers at once",
        since=_release(120),
        until=_release(147),
    ),
    Fact(
        "command_output_lost",
        "`aggregated_output` may be empty though there was output",
        since=_release(147),
        until=_release(163),
    ),
    Fact("output_cut", "output over 40 kB is cut", since=_release(98), until=_release(116)),
    Fact("plan_not_offered", "the configuration cannot turn plans on", since=_release(45), until=_release(50)),
    Fact("collab", "sub-agents are offered without being asked for", since=_release(116)),
    Fact(
        "children_mixed_in",
        "sub-agents' turns and messages are mixed into stdout",
        since=_release(98),
        until=_release(107),
    ),
    Fact(
        "child_failure_untold",
        "waiting for a sub-agent that failed may tell that it completed",
        since=_release(116),
        until=_release(120),
    ),
    Fact("sigint_is_success", "SIGINT gives status 0; later releases exit with 1", until=_release(120)),
    Fact(
        "mcp_failure_is_status_1",
        "status 1 after `turn.completed`, when an MCP server cannot start",
        until=_release(61),
    ),
    Fact("mcp_required", "an MCP server can be required: without it nothing starts", since=_release(107)),
    Fact("reconnects_for_ever", "without a network, reconnect notices without end", since=_release(155)),
    Fact(
        "drops_what_is_not_read",
        "items are dropped, the last message among them, when many come at once or stdout is not read for long",
        since=_release(116),
        until=_release(147),
    ),
    Fact("prompt_mark_taken_off", "a byte order mark at the start of a prompt is taken off", since=_release(98)),
    Fact(
        "prompt_is_bounded",
        "a prompt over 1,048,576 characters ends the agent after `thread.started`, status 1",
        since=_release(116),
    ),
    Fact("chat_refused", "a model provider with `wire_api` `chat` is refused at the start", since=_release(98)),
    Fact(
        "outlives_its_turn",
        "the agent outlives its last turn while a background command runs",
        since=_release(61),
        until=_release(66),
    ),
    Fact("project_settings", "the settings of a trusted project are used: `.codex/config.toml`", since=_release(98)),
    Fact(
        "trusts_for_good",
        "in a directory of which nothing is known, a sandbox that may write makes it trusted in the user's settings",
        since=_release(120),
        until=_release(169),
    ),
    Fact(
        "trusts_the_distrusted",
        "the same in a directory that is not to be trusted; the run itself does not trust it",
        since=_release(120),
        until=_release(125),
    ),
    Fact(
        "distrust_hides_instructions",
        "`AGENTS.md` of a project that is not to be trusted is not read",
        since=_release(155),
    ),
    Fact("reprints_after_reconnect", "items already printed are printed again, with new ids, after each reconnect"),
    Fact(
        "asks_for_models",
        "without a network a start takes 3 seconds more, for a list of models that is kept nowhere",
        since=_release(92),
        until=_release(107),
    ),
)
"""Every fact by itself; facts that overlap say nothing about one another (R1)."""


def facts_of(version: Version) -> dict[str, Fact]:
    """The facts that hold for this release, by name (R1)."""
    return {fact.name: fact for fact in FACTS if fact.holds(version)}
