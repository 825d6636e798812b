"""Judge a shell text by a policy, command by command and file by file."""

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
"""Files that a redirection may name under any policy."""
CHANGING_DIRECTORY = frozenset({"cd", "chdir", "pushd", "popd"})
MOST_DIRECTORIES = 32
"""The limit of directories that a text may be in; with more, it may be anywhere."""


def command_findings(policy: Policy, text: str, directory: str, variables: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what the policy says about a text that the shell executes in a directory below the root (A3 to A6)."""
    words = shell_words(text, variables.values())
    for command in dict.fromkeys(words.commands):
        yield from _of_words(policy.shell, command)
    for command in words.counts:
        yield from _of_rules(policy.shell, command)
    for command in words.runners:
        yield from _of_possible(policy.shell, command, words)
    if policy.shell.unclear != "allow":
        for command in words.unknown:
            yield from _of_unknown(policy.shell, command, words)
    for name in words.assigned:
        yield from variable_findings(policy.variables, name)
    doubts = list(words.unclear)
    directories = _directories(words.commands, words.directories, directory)
    yield from _of_files("read", policy.files.read, words.reads, directories, doubts)
    yield from _of_files("write", policy.files.write, words.writes, directories, doubts)
    for doubt in doubts:
        yield from _of_doubt(policy.shell, doubt)


def _of_words(shell: ShellPolicy, command: Command) -> Iterator[Finding]:
    listed = any(is_allowed(rule, command) for rule in shell.allow)
    for finding in _of_rules(shell, command):
        listed = listed or finding.rule == "shell.approve"
        yield finding
    if not listed and shell.default != "allow":
        ends = "requires approval" if shell.default == "approve" else "is not allowed"
        suggestion = "Use a command that the policy allows" if shell.default == "deny" else None
        yield Finding(
            shell.default,
            f"Command {_told(command)} {ends}: it is in no list of the policy",
            "shell.default",
            suggestion,
        )


def _of_rules(shell: ShellPolicy, command: Command) -> Iterator[Finding]:
    told = _told(command)
    maybe: list[str] = []
    for rule in shell.deny:
        met = match(rule.words, command)
        if met == "yes":
            instead = rule.suggestion or f"Remove {rule.words} from the command"
            yield Finding("deny", _reason(rule.reason, told, "is blocked", rule.words), "shell.deny", instead)
        elif met == "maybe":
            maybe.append(rule.words)
    for rule in shell.approve:
        met = match(rule.words, command)
        if met == "yes":
            yield Finding("approve", _reason(rule.reason, told, "requires approval", rule.words), "shell.approve")
        elif met == "maybe":
            maybe.append(rule.words)
    if maybe:
        yield from _of_doubt(shell, f"Command {told} may be '{maybe[0]}' by words that are not known before it runs")


def _of_unknown(shell: ShellPolicy, command: Command, words: ShellWords) -> Iterator[Finding]:
    """Doubt a program that is not known to run none of its arguments, where one names a held command (A11)."""
    for finding in _of_possible(shell, command, words):
        told = f"program {quoted(command.program)} may run its arguments: {finding.reason}"
        yield from _of_doubt(shell, told)
        return


def _of_possible(shell: ShellPolicy, command: Command, words: ShellWords) -> Iterator[Finding]:
    """Judge what a program may run by the rules for it (A11)."""
    possible = possible_commands(command, words, partial(_held_names, shell))
    for inner in islice(possible, MOST_POSSIBLE):
        if inner.words[0].text is None:
            yield from _of_doubt(shell, f"program {quoted(command.program)} may run what is not known before it runs")
        yield from _of_rules(shell, inner)
    if next(possible, None) is not None:
        yield from _of_doubt(shell, f"program {quoted(command.program)} may run many of its arguments")


def _held_names(shell: ShellPolicy, word: Word) -> list[Word]:
    """Return the programs of rules that hold back which a word names, or may name by a part that is known."""
    names, patterns = _names_of_rules(shell.deny, shell.approve)
    if word.text is not None:
        program = word.program or ""
        is_held = program in names or word.text in names or any(fnmatchcase(program, name) for name in patterns)
        return [word] if is_held else []
    last = "".join("\0" if part is None else part for part in word.parts).rpartition("/")[2]
    shape = re.compile(".*".join(map(re.escape, last.split("\0"))))
    return [known(name) for name in names if last.strip("\0") and shape.fullmatch(name)]


@lru_cache(maxsize=16)
def _names_of_rules(*lists: tuple[ShellRule, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of programs in rules, and those of them that are patterns."""
    names = frozenset(rule.words.split()[0] for rules in lists for rule in rules)
    return names, tuple(name for name in names if "*" in name or "?" in name)


def _of_files(
    access: Access, rules: FileRules, files: Sequence[Word], directories: Sequence[str | None], doubts: list[str]
) -> Iterator[Finding]:
    if not (rules.deny or rules.approve):
        return
    for word in files:
        if word.text is None:
            doubts.append(f"the name of a file to {access} is not known before it runs")
        elif word.text in HARMLESS:
            continue
        elif None in directories and not word.text.startswith("/"):
            doubts.append(f"the directory of a file to {access} is not known before it runs")
        else:
            for directory in directories:
                yield from path_findings(access, rules, plain(word.text, directory or ""))


def _of_doubt(shell: ShellPolicy, doubt: str) -> Iterator[Finding]:
    if shell.unclear != "allow":
        reason = safe_text(f"{doubt[0].upper()}{doubt[1:]}", longest=300)
        yield Finding(shell.unclear, reason, "shell.unclear", "Write the command out, one plain command at a time")


def _directories(commands: Sequence[Command], given: Sequence[Word], start: str) -> list[str | None]:
    """Return the directories in which a command may run: the start, or where a `cd` or option leads; None for any."""
    directories: list[str | None] = [start]
    changes = [command.words for command in commands if command.program in CHANGING_DIRECTORY]
    targets = [words[-1].text if len(words) == 2 else None for words in changes]
    for target in (*targets, *(word.text for word in given)):
        leads = target is not None and not target.startswith("-")
        directories += [plain(target or "", base) if leads and base is not None else None for base in directories]
        if len(directories) > MOST_DIRECTORIES:
            return [None]
    return list(dict.fromkeys(directories))


def _told(command: Command) -> str:
    name = quoted(command.program)
    return f"{name} (run by {' '.join(command.via)})" if command.via else name


def _reason(given: str | None, told: str, ends: str, rule: str) -> str:
    by_rule = f" by the rule '{rule}'" if " " in rule else ""
    return f"Command {told} {ends}{by_rule}" + (f": {given}" if given else "")
