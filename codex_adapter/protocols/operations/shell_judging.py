"""Judge each command and file of a shell text by a policy (A3 to A6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from itertools import islice

from codex_adapter.protocols.operations.command_rules import is_allowed, match
from codex_adapter.protocols.operations.findings import (
    Access,
    Finding,
    path_findings,
    quoted,
    safe_text,
    variable_findings,
)
from codex_adapter.protocols.operations.path_rules import plain
from codex_adapter.protocols.operations.policy import FileRules, Policy, ShellPolicy, ShellRule
from codex_adapter.protocols.operations.possible_commands import MOST_POSSIBLE, possible_commands
from codex_adapter.protocols.operations.shell.text import Word, known
from codex_adapter.protocols.operations.shell.words import Command, ShellWords, shell_words

__all__ = ["command_findings"]

HARMLESS = ("/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty")
"""Files that a redirection may use under any policy."""
CHANGING_DIRECTORY = frozenset({"cd", "chdir", "pushd", "popd"})
MOST_DIRECTORIES = 32
"""The limit of directories in which a command may run. With more, the directory is unknown."""


def command_findings(policy: Policy, text: str, directory: str, variables: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the findings for a text that the shell executes in a directory below the root (A3 to A6)."""
    words = shell_words(text, variables.values())
    for command in dict.fromkeys(words.commands):
        yield from _word_findings(policy.shell, command)
    for command in words.counts:
        yield from _rule_findings(policy.shell, command)
    for command in words.runners:
        yield from _possible_findings(policy.shell, command, words)
    if policy.shell.unclear != "allow":
        for command in words.unknown:
            yield from _unknown_findings(policy.shell, command, words)
    for name in words.assigned:
        yield from variable_findings(policy.variables, name)
    doubts = list(words.unclear)
    directories = _directories(words.commands, words.directories, directory)
    yield from _file_findings("read", policy.files.read, words.reads, directories, doubts)
    yield from _file_findings("write", policy.files.write, words.writes, directories, doubts)
    for doubt in doubts:
        yield from _doubt_findings(policy.shell, doubt)


def _word_findings(shell: ShellPolicy, command: Command) -> Iterator[Finding]:
    listed = any(is_allowed(rule, command) for rule in shell.allow)
    for finding in _rule_findings(shell, command):
        listed = listed or finding.rule == "shell.approve"
        yield finding
    if not listed and shell.default != "allow":
        ends = "requires approval" if shell.default == "approve" else "is not allowed"
        suggestion = "Use a command that the policy allows" if shell.default == "deny" else None
        yield Finding(
            shell.default,
            f"Command {_describe(command)} {ends}: it is not in a list of the policy",
            "shell.default",
            suggestion,
        )


def _rule_findings(shell: ShellPolicy, command: Command) -> Iterator[Finding]:
    described = _describe(command)
    maybe: list[str] = []
    for rule in shell.deny:
        matches = match(rule.words, command)
        if matches == "yes":
            suggestion = rule.suggestion or f"Remove {rule.words} from the command"
            yield Finding("deny", _reason(rule.reason, described, "is blocked", rule.words), "shell.deny", suggestion)
        elif matches == "maybe":
            maybe.append(rule.words)
    for rule in shell.approve:
        matches = match(rule.words, command)
        if matches == "yes":
            yield Finding("approve", _reason(rule.reason, described, "requires approval", rule.words), "shell.approve")
        elif matches == "maybe":
            maybe.append(rule.words)
    if maybe:
        yield from _doubt_findings(
            shell, f"Command {described} may be '{maybe[0]}': some of its words are unknown before it runs"
        )


def _unknown_findings(shell: ShellPolicy, command: Command, words: ShellWords) -> Iterator[Finding]:
    """Yield a doubt about an unknown program if one of its arguments names a command of a rule (A11)."""
    for finding in _possible_findings(shell, command, words):
        doubt = f"program {quoted(command.program)} may run its arguments: {finding.reason}"
        yield from _doubt_findings(shell, doubt)
        return


def _possible_findings(shell: ShellPolicy, command: Command, words: ShellWords) -> Iterator[Finding]:
    """Yield the findings for commands that a program may run (A11)."""
    possible = possible_commands(command, words, partial(_restricted_names, shell))
    for inner in islice(possible, MOST_POSSIBLE):
        if inner.words[0].text is None:
            yield from _doubt_findings(
                shell, f"program {quoted(command.program)} may run a command that is unknown before it runs"
            )
        yield from _rule_findings(shell, inner)
    if next(possible, None) is not None:
        yield from _doubt_findings(shell, f"program {quoted(command.program)} may run many of its arguments")


def _restricted_names(shell: ShellPolicy, word: Word) -> list[Word]:
    """Return the programs of `shell.deny` and `shell.approve` that a word names, or may name by its known parts."""
    names, patterns = _names_rule_findings(shell.deny, shell.approve)
    if word.text is not None:
        program = word.program or ""
        is_restricted = program in names or word.text in names or any(fnmatchcase(program, name) for name in patterns)
        return [word] if is_restricted else []
    last = "".join("\0" if part is None else part for part in word.parts).rpartition("/")[2]
    shape = re.compile(".*".join(map(re.escape, last.split("\0"))))
    return [known(name) for name in names if last.strip("\0") and shape.fullmatch(name)]


@lru_cache(maxsize=16)
def _names_rule_findings(*lists: tuple[ShellRule, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of programs in rules, and the names that are patterns."""
    names = frozenset(rule.words.split()[0] for rules in lists for rule in rules)
    return names, tuple(name for name in names if "*" in name or "?" in name)


def _file_findings(
    access: Access, rules: FileRules, files: Sequence[Word], directories: Sequence[str | None], doubts: list[str]
) -> Iterator[Finding]:
    if not (rules.deny or rules.approve):
        return
    for word in files:
        if word.text is None:
            doubts.append(f"the name of a file to {access} is unknown before it runs")
        elif word.text in HARMLESS:
            continue
        elif None in directories and not word.text.startswith("/"):
            doubts.append(f"the directory of a file to {access} is unknown before it runs")
        else:
            for directory in directories:
                yield from path_findings(access, rules, plain(word.text, directory or ""))


def _doubt_findings(shell: ShellPolicy, doubt: str) -> Iterator[Finding]:
    if shell.unclear != "allow":
        reason = safe_text(f"{doubt[0].upper()}{doubt[1:]}", longest=300)
        yield Finding(
            shell.unclear, reason, "shell.unclear", "Write plain commands with literal words, one command at a time"
        )


def _directories(commands: Sequence[Command], targets_of_options: Sequence[Word], start: str) -> list[str | None]:
    """Return the directories in which a command may run: the start, and targets of `cd` and options; None for any."""
    directories: list[str | None] = [start]
    changes = [command.words for command in commands if command.program in CHANGING_DIRECTORY]
    targets = [words[-1].text if len(words) == 2 else None for words in changes]
    for target in (*targets, *(word.text for word in targets_of_options)):
        leads = target is not None and not target.startswith("-")
        directories += [plain(target or "", base) if leads and base is not None else None for base in directories]
        if len(directories) > MOST_DIRECTORIES:
            return [None]
    return list(dict.fromkeys(directories))


def _describe(command: Command) -> str:
    name = quoted(command.program)
    return f"{name} (run by {' '.join(command.via)})" if command.via else name


def _reason(reason: str | None, command: str, ends: str, rule: str) -> str:
    by_rule = f" by the rule '{rule}'" if " " in rule else ""
    return f"Command {command} {ends}{by_rule}" + (f": {reason}" if reason else "")
