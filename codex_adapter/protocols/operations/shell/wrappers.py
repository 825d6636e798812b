"""Programs that run another one, as data: what stands between their name and the command that they run.

Written as `name: Wrapper(flags, valued, ...)` after their manuals (POSIX, GNU, util-linux); an option that is not here
makes a command unclear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from codex_adapter.protocols.operations.shell.text import UnclearError, Word

__all__ = ["NOT_KNOWN", "SHELLS", "WRAPPERS", "Wrapped", "Wrapper"]

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "rbash"})
ASSIGNMENT = re.compile(r"([^=]+)=")
NUMBER = re.compile(r"[-+]+[0-9]+")


class Wrapped(NamedTuple):
    """What a wrapper runs, with the variables that it sets and the values of its options."""

    words: tuple[Word, ...]
    assigned: tuple[str, ...]
    options: dict[str, Word]


class Wrapper(NamedTuple):
    """How to find the command in the words after a wrapper's name."""

    flags: str = ""
    """Options of one letter without a value."""
    valued: str = ""
    """Options of one letter with a value, here or in the next word."""
    attached: str = ""
    """Options of one letter whose value, if any, is in the same word."""
    long: frozenset[str] = frozenset()
    """Long options whose value, if any, is after `=`."""
    long_valued: frozenset[str] = frozenset()
    """Long options with a value, here or in the next word."""
    inert: str = ""
    """Options of one letter with which nothing is run."""
    operands: int = 0
    """Words between the options and the command."""
    sets_variables: bool = False
    numbers: bool = False
    """A number with a hyphen is an option."""

    def unwrap(self, words: Sequence[Word]) -> Wrapped:
        """The command in the words after the name. Raises UnclearError for an option that is not here."""
        options: dict[str, Word] = {}
        rest = list(words)
        while rest and rest[0].may_be_an_option:
            option = rest.pop(0).text
            if option is None:
                raise UnclearError("an option is not known before it runs")
            if option == "--":
                break
            if option == "-":
                continue
            if self.numbers and NUMBER.fullmatch(option):
                continue
            if option.startswith("--"):
                self._long(option, rest, options)
            else:
                self._short(option[1:], rest, options)
        assigned = []
        while self.sets_variables and rest and (match := ASSIGNMENT.match(rest[0].prefix)):
            assigned.append(match[1])
            _require_one(rest.pop(0))
        for operand in rest[: self.operands]:
            _require_one(operand)
        inert = any(letter in self.inert for letter in options)
        return Wrapped(() if inert else tuple(rest[self.operands :]), tuple(assigned), options)

    def _long(self, option: str, rest: list[Word], options: dict[str, Word]) -> None:
        name, equals, value = option[2:].partition("=")
        if name in self.long_valued:
            options[name] = Word((value,)) if equals else _value(rest)
        elif name in self.long:
            options[name] = Word((value,))
        else:
            raise UnclearError("an option is not known here")

    def _short(self, letters: str, rest: list[Word], options: dict[str, Word]) -> None:
        for index, letter in enumerate(letters):
            following = letters[index + 1 :]
            if letter in self.valued:
                options[letter] = Word((following,)) if following else _value(rest)
                return
            options[letter] = Word((following,))
            if letter in self.attached:
                return
            if letter not in self.flags and letter not in self.inert:
                raise UnclearError("an option is not known here")


def _value(rest: list[Word]) -> Word:
    if not rest:
        raise UnclearError("an option has no value")
    _require_one(rest[0])
    return rest.pop(0)


def _require_one(word: Word) -> None:
    if not word.stays_one:
        raise UnclearError("where the command begins is not known before it runs")


def _long(names: str) -> frozenset[str]:
    return frozenset(names.split())


_PROJECT = Wrapper(flags="nqv", valued="pC", long=_long("no-sync frozen locked quiet verbose isolated"))
_PRIVILEGE = Wrapper("AbBeEHiKklnNPsSvVL", "acCDghpRrtTUu", sets_variables=True)

NOT_KNOWN = (
    "csh",
    "dbus-run-session",
    "fish",
    "gdb",
    "ld.so",
    "linux32",
    "linux64",
    "parallel",
    "perf",
    "prlimit",
    "script",
    "setarch",
    "setpriv",
    "ssh-agent",
    "start-stop-daemon",
    "tcsh",
)
"""Programs that run others, by rules that are not known here."""

WRAPPERS: dict[str, Wrapper] = {
    "builtin": Wrapper(),
    "bundle exec": Wrapper(),
    "busybox": Wrapper(),
    "chroot": Wrapper(long=_long("skip-chdir"), long_valued=_long("userspec groups"), operands=1),
    "chrt": Wrapper("abdfioRrv", "TPD", operands=1),
    "command": Wrapper("p", inert="vV"),
    "doas": _PRIVILEGE,
    "env": Wrapper(
        "i0v",
        "uC",
        long=_long("ignore-environment null debug"),
        long_valued=_long("unset chdir"),
        sets_variables=True,
    ),
    "exec": Wrapper("cl", "a"),
    "fakeroot": Wrapper("hv"),
    "flock": Wrapper(
        "eFnosux",
        "wE",
        long=_long("exclusive nonblock shared close unlock no-fork nb"),
        long_valued=_long("wait timeout conflict-exit-code"),
        operands=1,
    ),
    "hatch run": _PROJECT,
    "ionice": Wrapper("t", "cn", long=_long("ignore"), long_valued=_long("class classdata"), inert="pPu"),
    "nice": Wrapper(valued="n", long_valued=_long("adjustment"), numbers=True),
    "nohup": Wrapper(),
    "pdm run": _PROJECT,
    "pipx run": Wrapper(long_valued=_long("spec python pip-args index-url")),
    "pnpm exec": Wrapper("r", "C", long=_long("recursive parallel"), long_valued=_long("dir filter")),
    "pipenv run": _PROJECT,
    "pkexec": Wrapper(long=_long("disable-internal-agent keep-cwd"), long_valued=_long("user")),
    "poetry run": _PROJECT,
    "setsid": Wrapper("cfw", long=_long("ctty fork wait")),
    "stdbuf": Wrapper(valued="ioe", long_valued=_long("input output error")),
    "strace": Wrapper("cCdDfFhikqrtTvVwxyzZ", "abeEIoOpPsSuUX"),
    "sudo": _PRIVILEGE,
    "taskset": Wrapper("ac", operands=1),
    "time": Wrapper("pvqa", "fo", long=_long("portability verbose quiet append"), long_valued=_long("format output")),
    "timeout": Wrapper(
        "v", "ks", long=_long("foreground preserve-status verbose"), long_valued=_long("kill-after signal"), operands=1
    ),
    "toybox": Wrapper(),
    "uvx": Wrapper("q", "p", long=_long("quiet isolated"), long_valued=_long("from with python index-url")),
    "uv run": _PROJECT._replace(long_valued=_long("with extra group project directory python env-file package")),
    "valgrind": Wrapper("qv", long=_long("leak-check track-origins show-leak-kinds error-exitcode tool log-file")),
    "watch": Wrapper(
        "bcdegprtwx",
        "n",
        long=_long("beep color differences errexit chgexit precise no-title exec"),
        long_valued=_long("interval"),
    ),
    "xargs": Wrapper(
        "0oprtx",
        "aEdILnPs",
        attached="eil",
        long=_long("null no-run-if-empty interactive verbose exit open-tty replace max-lines eof show-limits"),
        long_valued=_long("arg-file delimiter max-args max-procs max-chars process-slot-var"),
    ),
    "yarn exec": Wrapper(),
}
