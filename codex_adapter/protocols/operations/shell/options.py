"""Find texts that a program executes because of an option: `tar --to-command='rm b'` (A3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codex_adapter.protocols.operations.shell.text import Word

__all__ = ["UNKNOWN", "executed_by_options", "option_values", "value_after"]

UNKNOWN = Word((None,), splits=True)
RUNNING = {
    **dict.fromkeys(("c++", "cc", "cpp", "g++", "gcc"), ("-wrapper",)),
    "git archive": ("--exec",),
    "git clone": ("-u", "--upload-pack"),
    "git difftool": ("-x", "--extcmd"),
    "git fetch": ("--upload-pack",),
    "git fetch-pack": ("--exec", "--upload-pack"),
    "git grep": ("-O", "--open-files-in-pager"),
    "git filter-branch": (
        *("--setup", "--env-filter", "--tree-filter", "--index-filter", "--parent-filter", "--msg-filter"),
        *("--commit-filter", "--tag-name-filter"),
    ),
    "git instaweb": ("-d", "--httpd", "-b", "--browser"),
    "git ls-remote": ("--exec", "--upload-pack"),
    "git pull": ("--upload-pack",),
    "git push": ("--exec", "--receive-pack"),
    "git rebase": ("-x", "--exec"),
    "git send-email": ("--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd"),
    "git send-pack": ("--exec", "--receive-pack"),
    "go": ("-exec", "-toolexec", "-vettool"),
    "install": ("--strip-program",),
    "man": ("-P", "--pager", "-H", "--html"),
    "rg": ("--pre", "--hostname-bin"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "sdiff": ("--diff-program",),
    "diff3": ("--diff-program",),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "tar": (
        *("-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script"),
        *("--to-command", "--rsh-command", "--rmt-command", "--checkpoint-action"),
    ),
    "wget": ("--use-askpass",),
    "zip": ("-TT", "--unzip-command"),
}
"""Options whose value is a text for a shell, or the name of a program."""
_APT = re.compile(r"-(?!-)[a-z]*[oc].*|--opt.*|--conf.*")
UNCLEAR = {
    **dict.fromkeys(("c++", "cc", "cpp", "g++", "gcc"), re.compile("--?wrapper(=.*)?")),
    **dict.fromkeys(("apt", "apt-cache", "apt-get", "aptitude"), _APT),
    "dpkg": re.compile("--(pre-invoke|post-invoke|status-logger).*"),
    "git clone": re.compile("--te.*"),
    "git daemon": re.compile("--access-hook.*"),
    "git init": re.compile("--te.*"),
    "wget": re.compile("-[bcdhnqrvxkmpKSENFHLV46]*e.*|--ex?e.*|--conf.*"),
    "zip": re.compile("-(?!-).*TT.*|--u.*"),
}
"""Options with which a program may execute other commands, which are not examined."""
NOT_ABBREVIATED = frozenset({"c++", "cc", "cpp", "g++", "gcc", "go", "rg", "rsync"})
"""Programs that do not accept abbreviations of long options."""
OPTIONAL = frozenset({("git grep", "-O"), ("git grep", "--open-files-in-pager"), ("man", "-H"), ("man", "--html")})
"""Options whose value, if any, is in the same word."""


def executed_by_options(name: str, words: Sequence[Word]) -> Iterator[Word]:
    """Yield the texts that a program, or its subcommand, executes because of options among `words` (A3)."""
    if name == "tar" and words and re.fullmatch(r"[A-Za-z]*[FI][A-Za-z]*", words[0].prefix):
        yield UNKNOWN  # without a hyphen, the values are further words
    for wanted in RUNNING.get(name, ()):
        for index, word in enumerate(words):
            if word.text == "--":
                break
            value = value_after(wanted, word, whole=name in NOT_ABBREVIATED)
            if value is not None and wanted == "-wrapper" and words[index + 1 :]:
                value = Word(tuple(part and part.replace(",", " ") for part in words[index + 1].parts))
            if value is not None and wanted == "--checkpoint-action":
                value = value if value.parts else words[index + 1] if words[index + 1 :] else UNKNOWN
                if value.text is not None and not value.prefix.startswith("exec="):
                    continue
                value = value._replace(parts=(value.prefix.removeprefix("exec="), *value.parts[1:]))
            if value is not None and value.parts:
                yield value
            elif value is not None and (name, wanted) not in OPTIONAL:
                yield words[index + 1] if words[index + 1 :] else UNKNOWN
    pattern = UNCLEAR.get(name)
    if pattern is not None and any(pattern.fullmatch(word.prefix) for word in words):
        yield UNKNOWN


def option_values(option: str, words: Sequence[Word]) -> Iterator[Word]:
    """Yield the values of an option among `words`, and an unknown value if it is missing."""
    for index, word in enumerate(words):
        value = value_after(option, word)
        if value is not None:
            yield value if value.parts else words[index + 1] if words[index + 1 :] else UNKNOWN


def value_after(option: str, word: Word, *, whole: bool = False) -> Word | None:
    """Return the value of an option in a word, or an empty word if the next word is the value.

    Return None for another word.
    """
    prefix = word.prefix
    if len(option) == 2:
        if not prefix.startswith("-") or prefix.startswith("--") or option[1] not in prefix[1:]:
            return None
        rest = prefix.partition(option[1])[2]
    else:
        name, equals, rest = prefix.partition("=")
        if option.startswith("--"):
            abbreviates = not whole and len(name) > 2 and name.startswith("--") and option.startswith(name)
            if name != option and not abbreviates:
                return None
        elif name not in (option, f"-{option}"):
            return None
        if equals and not rest and not word.parts[1:]:
            return Word(("",))
    return word._replace(parts=(*((rest,) if rest else ()), *word.parts[1:]))
