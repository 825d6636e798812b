"""Check the command line of a scripted agent, as the Codex CLI does.

Import only the standard library, for the reasons in `agent_program`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # this import would take most of the time
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["answer_at_once", "complaint"]

LONG = {
    **{"-a": "--ask-for-approval", "-s": "--sandbox", "-m": "--model", "-i": "--image", "-c": "--config"},
    **{"-o": "--output-last-message", "-C": "--cd"},
}
SWITCHES = frozenset({"--json", "--skip-git-repo-check", "--ephemeral", "--last", "--all", "--search"})
REPEATABLE = frozenset({"--config", "--enable", "--disable", "--image", "--add-dir"})
POLICIES = ("untrusted", "on-failure", "on-request", "never")
ALLOWED = {
    "--sandbox": ("read-only", "workspace-write", "danger-full-access"),
    "--ask-for-approval": POLICIES,
    "--color": ("always", "never", "auto"),
}

ANYWHERE = frozenset({"--config", "--enable", "--disable", "--model", "--image"})
FIRST = ANYWHERE | {"--ask-for-approval", "--sandbox", "--cd", "--add-dir", "--search"}
AFTER_SESSION = ANYWHERE | {
    *("--json", "--skip-git-repo-check", "--ephemeral", "--output-schema", "--output-last-message", "--last", "--all")
}
AFTER_EXEC = (AFTER_SESSION - {"--last", "--all"}) | {"--sandbox", "--add-dir", "--cd", "--color"}


def answer_at_once(arguments: Sequence[str]) -> None:
    """Answer `--help` and `login` and refuse wrong arguments, then exit. Return for a run. (TK2)"""
    if list(arguments[:1]) == ["login"]:
        _leave(2, "Not logged in\n", 1)
    if "--help" in arguments or "-h" in arguments:
        _leave(1, _help(AFTER_EXEC if "exec" in arguments else FIRST), 0)
    wrong = complaint(arguments)
    if wrong is not None:
        _leave(2, f"error: {wrong}\n\nFor more information, try '--help'.\n", 2)


def complaint(arguments: Sequence[str]) -> str | None:
    """Return the CLI's error for these arguments, or None."""
    known, seen = FIRST, set[str]()
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            return None
        if word == "-" or not word.startswith("-"):
            known, seen = _after(word, known, seen)
            continue
        name, equals, value = word.partition("=")
        flag = LONG.get(name, name)
        if flag not in known:
            return f"unexpected argument '{name}' found"
        if flag in seen and flag not in REPEATABLE:
            return f"the argument '{name}' cannot be used multiple times"
        seen.add(flag)
        if flag in SWITCHES:
            continue
        if not equals:
            if not words or (words[0].startswith("-") and words[0] != "-"):
                return f"a value is required for '{name} <VALUE>' but none was supplied"
            value = words.pop(0)
        if value not in ALLOWED.get(flag, (value,)):
            return f"invalid value '{value}' for '{name} <VALUE>'"
        while flag == "--image" and words and not words[0].startswith("--"):
            # It consumes all words up to the next flag, even the dash for standard input.
            words.pop(0)
    return None


def _after(word: str, known: frozenset[str], seen: set[str]) -> tuple[frozenset[str], set[str]]:
    if known is FIRST and word in ("exec", "e"):
        return AFTER_EXEC, set()
    if known is AFTER_EXEC and word in ("resume", "fork"):
        return AFTER_SESSION, set()
    return known, seen


def _help(flags: frozenset[str]) -> str:
    lines = [f"      {flag}{'' if flag in SWITCHES else ' <VALUE>'}" for flag in sorted(flags)]
    return "\n".join(["Usage: codex [OPTIONS] exec [OPTIONS] [PROMPT]", "", "Options:", *lines, ""])


def _leave(fd: int, text: str, status: int) -> None:
    os.write(fd, text.encode("utf-8", "surrogateescape"))
    os._exit(status)
