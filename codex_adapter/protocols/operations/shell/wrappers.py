"""List programs that run another program, with the options between their name and the command.

The options are those of the manuals (POSIX, GNU, util-linux). An option that is not in the table makes a command
unclear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from codex_adapter.protocols.operations.shell.text import UnclearError, Word, names

__all__ = ["NOT_KNOWN", "SHELLS", "WRAPPERS", "Wrapped", "Wrapper"]

SHELLS = names("sh ash bash bosh dash ksh lksh loksh mksh oksh osh pbosh pdksh posh rbash rksh rzsh yash zsh")
ASSIGNMENT = re.compile(r"([^=]+)=")
NUMBER = re.compile(r"[-+]+[0-9]+")


class Wrapped(NamedTuple):
    """The command that a wrapper runs, with the variables that it sets and the values of its options."""

    words: tuple[Word, ...]
    assigned: tuple[str, ...]
    options: dict[str, Word]


class Wrapper(NamedTuple):
    """The rules for finding the command in the words after a wrapper's name."""

    flags: str = ""
    """Options of one letter without a value."""
    valued: str = ""
    """Options of one letter with a value, in the same or the next word."""
    attached: str = ""
    """Options of one letter whose value, if any, is in the same word."""
    long: frozenset[str] = frozenset()
    """Long options whose value, if any, is after `=`."""
    long_valued: frozenset[str] = frozenset()
    """Long options with a value, in the same or the next word."""
    inert: str = ""
    """Options of one letter with which no command runs."""
    operands: int = 0
    """The number of words between the options and the command."""
    sets_variables: bool = False
    numbers: bool = False
    """Whether a number with a hyphen is an option."""
    directory: frozenset[str] = frozenset()
    """Options whose value is the directory in which the command runs."""
    or_shell: bool = False
    """Whether it runs a shell, which executes its input, if it has no command."""

    def unwrap(self, words: Sequence[Word]) -> Wrapped:
        """Return the command in the words after the name. Raises UnclearError for an unknown option."""
        options: dict[str, Word] = {}
        rest = list(words)
        while rest and rest[0].may_be_an_option:
            option = rest.pop(0).text
            if option is None:
                raise UnclearError("an option is unknown before it runs")
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
            raise UnclearError("an option is unknown to codex-adapter")

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
                raise UnclearError("an option is unknown to codex-adapter")


def _value(rest: list[Word]) -> Word:
    if not rest:
        raise UnclearError("an option has no value")
    _require_one(rest[0])
    return rest.pop(0)


def _require_one(word: Word) -> None:
    if not word.stays_one:
        raise UnclearError("the beginning of the command is unknown before it runs")


_PROJECT = Wrapper(flags="nqv", valued="pC", long=names("no-sync frozen locked quiet verbose isolated"))


_PRIVILEGE = Wrapper("AbBeEHiKklnNPsSvVL", "acCDghpRrtTUu", sets_variables=True)

_ARCHITECTURE = Wrapper("BFILRSTXZ3v", long=names("4gb uname-2.6 verbose"), or_shell=True)

NOT_KNOWN = names(
    """
    abduco bwrap capsh csh cpulimit dtach ed elvish emacs entr envdir envuidgid ex expect fakechroot faketime firejail
    fish gdb ld.so lldb ltrace newgrp nsenter nu nvim parallel perf prlimit proot proxychains proxychains4 pwsh rlwrap
    rvim rview schroot script setarch setlock setpriv setuidgid sg softlimit ssh-agent start-stop-daemon systemd-run
    tcsh torify torsocks tsocks unbuffer unshare vi view vim vimdiff xonsh ysh zargs
    """
)
"""Programs that run others by rules that this module does not have."""

WRAPPERS: dict[str, Wrapper] = {
    "-": Wrapper(sets_variables=True),
    "builtin": Wrapper(),
    "bundle exec": Wrapper(),
    "busybox": Wrapper(),
    "chroot": Wrapper(long=names("skip-chdir"), long_valued=names("userspec groups"), operands=1),
    "chpst": Wrapper("vVP012", "uUbeonmdlLcfprst/"),
    "choom": Wrapper(valued="np", long_valued=names("adjust pid")),
    "chrt": Wrapper("abdfioRrv", "TPD", operands=1),
    "command": Wrapper("p", inert="vV"),
    "dbus-run-session": Wrapper(long_valued=names("config-file dbus-daemon")),
    "doas": _PRIVILEGE,
    "eatmydata": Wrapper(),
    "env": Wrapper(
        "i0v",
        "uC",
        long=names("ignore-environment null debug"),
        long_valued=names("unset chdir"),
        sets_variables=True,
        directory=names("C chdir"),
    ),
    "exec": Wrapper("cl", "a"),
    "fakeroot": Wrapper("hv", or_shell=True),
    "flock": Wrapper(
        "eFnosux",
        "wE",
        long=names("exclusive nonblock shared close unlock no-fork nb"),
        long_valued=names("wait timeout conflict-exit-code"),
        operands=1,
    ),
    "gosu": Wrapper(operands=1),
    "hatch run": _PROJECT,
    "ionice": Wrapper("t", "cn", long=names("ignore"), long_valued=names("class classdata"), inert="pPu"),
    "nice": Wrapper(valued="n", long_valued=names("adjustment"), numbers=True),
    "nocorrect": Wrapper(sets_variables=True),
    "noglob": Wrapper(sets_variables=True),
    "nohup": Wrapper(),
    "numactl": Wrapper(
        "al",
        "CNipmPw",
        long=names("all localalloc balancing"),
        long_valued=names("cpunodebind interleave membind physcpubind preferred weighted-interleave"),
        inert="Hs",
    ),
    "pdm run": _PROJECT,
    "pipx run": Wrapper(long_valued=names("spec python pip-args index-url")),
    "pnpm exec": Wrapper("r", "C", long=names("recursive parallel"), long_valued=names("dir filter")),
    "pipenv run": _PROJECT,
    "pkexec": Wrapper(long=names("disable-internal-agent keep-cwd"), long_valued=names("user")),
    "poetry run": _PROJECT,
    "repeat": Wrapper(operands=1, sets_variables=True),
    "run0": _PRIVILEGE,
    "setsid": Wrapper("cfw", long=names("ctty fork wait")),
    "sshpass": Wrapper("ev", "dfpP"),
    "stdbuf": Wrapper(valued="ioe", long_valued=names("input output error")),
    "strace": Wrapper("cCdDfFhikqrtTvVwxyzZ", "abeEIoOpPsSuUX"),
    "su-exec": Wrapper(operands=1),
    "sudo": _PRIVILEGE,
    "systemd-inhibit": Wrapper(long=names("no-ask-password"), long_valued=names("what who why mode"), inert="l"),
    "taskset": Wrapper("ac", operands=1),
    "time": Wrapper(
        "pvqa",
        "fo",
        sets_variables=True,
        long=names("portability verbose quiet append"),
        long_valued=names("format output"),
    ),
    "timeout": Wrapper(
        "v", "ks", long=names("foreground preserve-status verbose"), long_valued=names("kill-after signal"), operands=1
    ),
    "toybox": Wrapper(),
    "uvx": Wrapper("q", "p", long=names("quiet isolated"), long_valued=names("from with python index-url")),
    "uv run": _PROJECT._replace(long_valued=names("with extra group project directory python env-file package")),
    "valgrind": Wrapper("qv", long=names("leak-check track-origins show-leak-kinds error-exitcode tool log-file")),
    "watch": Wrapper(
        "bcdegprtwx",
        "n",
        long=names("beep color differences errexit chgexit precise no-title exec"),
        long_valued=names("interval"),
    ),
    "xargs": Wrapper(
        "0oprtx",
        "aEdILnPs",
        attached="eil",
        long=names("null no-run-if-empty interactive verbose exit open-tty replace max-lines eof show-limits"),
        long_valued=names("arg-file delimiter max-args max-procs max-chars process-slot-var"),
    ),
    "xvfb-run": Wrapper(
        "al",
        "efnspw",
        long=names("auto-servernum auto-display listen-tcp"),
        long_valued=names("auth-file error-file server-num server-args xauth-protocol wait"),
    ),
    "yarn exec": Wrapper(),
    **dict.fromkeys(
        names(
            """
        aarch64 alpha arm armv7l armv8l athlon i386 i486 i586 i686 ia64 linux32 linux64 loongarch mips mips32 mips64
        parisc parisc32 parisc64 ppc ppc32 ppc32le ppc64 ppc64le ppcle riscv32 riscv64 s390 s390x sparc sparc32
        sparc32bash sparc64 uname26 x86_64
        """
        ),
        _ARCHITECTURE,
    ),
}
