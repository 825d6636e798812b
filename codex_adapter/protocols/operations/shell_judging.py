"""What a policy says of a shell text, command by command and file by file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codex_adapter.protocols.operations.command_rules import is_allowed, match
from codex_adapter.protocols.operations.findings import Access, Finding, named, of_path, of_variable, printable
from codex_adapter.protocols.operations.path_rules import plain
from codex_adapter.protocols.operations.policy import FileRules, Policy, ShellPolicy
from codex_adapter.protocols.operations.shell.text import Word
from codex_adapter.protocols.operations.shell.words import Command, shell_words

__all__ = ["of_command"]

HARMLESS = ("/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty")
"""Files that a redirection may name under any policy."""
CHANGING_DIRECTORY = frozenset({"cd", "chdir", "pushd", "popd"})
MOST_DIRECTORIES = 32
"""Directories that a text may stand in, beyond which it is anywhere."""


def of_command(policy: Policy, text: str, directory: str) -> Iterator[Finding]:
    """What the policy says of a text that the shell executes in a directory below the root (A3, A4, A5, A6)."""
    words = shell_words(text)
    for command in dict.fromkeys(words.commands):
        yield from _of_words(policy.shell, command)
    for name in words.assigned:
        yield from of_variable(policy.variables, name)
    doubts = list(words.unclear)
    directories = _directories(words.commands, directory)
    yield from _of_files("read", policy.files.read, words.reads, directories, doubts)
    yield from _of_files("write", policy.files.write, words.writes, directories, doubts)
    for doubt in doubts:
        yield from _of_doubt(policy.shell, doubt)


def _of_words(shell: ShellPolicy, command: Command) -> Iterator[Finding]:
    told = _told(command)
    maybe: list[str] = []
    listed = any(is_allowed(rule, command) for rule in shell.allow)
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
            listed = True
            yield Finding("approve", _reason(rule.reason, told, "requires approval", rule.words), "shell.approve")
        elif met == "maybe":
            maybe.append(rule.words)
    if maybe:
        yield from _of_doubt(shell, f"Command {told} may be '{maybe[0]}' by words that are not known before it runs")
    if not listed and shell.default != "allow":
        ends = "requires approval" if shell.default == "approve" else "is not allowed"
        suggestion = "Use a command that the policy allows" if shell.default == "deny" else None
        yield Finding(
            shell.default, f"Command {told} {ends}: it is in no list of the policy", "shell.default", suggestion
        )


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
                yield from of_path(access, rules, plain(word.text, directory or ""))


def _of_doubt(shell: ShellPolicy, doubt: str) -> Iterator[Finding]:
    if shell.unclear != "allow":
        reason = printable(f"{doubt[0].upper()}{doubt[1:]}", longest=300)
        yield Finding(shell.unclear, reason, "shell.unclear", "Write the command out, one plain command at a time")


def _directories(commands: Sequence[Command], start: str) -> list[str | None]:
    """Where a command may stand: at the start, or where any `cd` before or after it leads; None for anywhere."""
    directories: list[str | None] = [start]
    for command in commands:
        if command.program in CHANGING_DIRECTORY:
            target = command.words[-1].text if len(command.words) == 2 else None
            known = target is not None and not target.startswith("-")
            directories += [plain(target or "", base) if known and base is not None else None for base in directories]
        if len(directories) > MOST_DIRECTORIES:
            return [None]
    return list(dict.fromkeys(directories))


def _told(command: Command) -> str:
    name = named(command.program)
    return f"{name} (run by {' '.join(command.via)})" if command.via else name


def _reason(given: str | None, told: str, ends: str, rule: str) -> str:
    by_rule = f" by the rule '{rule}'" if " " in rule else ""
    return f"Command {told} {ends}{by_rule}" + (f": {given}" if given else "")
