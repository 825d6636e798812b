"""Skip a test that needs what this machine does not have, and name each missing thing once at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NoReturn

import pytest

__all__ = ["NEEDS", "PROGRAMS", "has_no_such_case", "missing", "summary", "without"]

NEEDS: Final = {
    "bubblewrap": "a sandbox for commands: `apt-get install bubblewrap socat`, where users may make namespaces",
    "cgroup": "a cgroup of one's own: run as root, or below `systemd-run --user --scope -p Delegate=yes`",
    "chromium": "Chromium: `apt-get install chromium`",
    "claude": "Claude Code: `pip install '.[claude]'`",
    "codex": "the Codex CLI: `pip install '.[codex]'`",
    "fuse": "a FUSE file system: run as root, where /dev/fuse can be opened",
    "gcc": "a C compiler: `apt-get install gcc`",
    "go": "Go: `apt-get install golang-go`",
    "jq": "jq: `apt-get install jq`",
    "namespaces": "namespaces: `sysctl user.max_user_namespaces=15000`, or run as root outside of a container",
    "node": "Node.js and npm: `apt-get install nodejs npm`",
    "npm": "packages of npm: see that npm reaches its registry, and NODE_EXTRA_CA_CERTS",
    "pi": "pi: `npm install -g @earendil-works/pi-coding-agent`",
    "root": "the rights of root: run as root",
    "shells": "other shells: `apt-get install busybox mksh zsh bubblewrap`",
    "system": "what another kernel, file system or release has: nothing can be installed",
    "systemd": "systemd-analyze: `apt-get install systemd`",
    "user": "an ordinary user: do not run as root",
}
"""What some tests need, with the way to have it."""
PROGRAMS: Final = {"codex": "codex", "claude_code": "claude", "pi": "pi"}
"""What the program of each kind of agent needs."""
_PREFIX: Final = "needs "
_NO_CASE: Final = "no case: "


def missing(thing: str) -> NoReturn:
    """Skip the test, because this machine has no `thing` of `NEEDS`."""
    pytest.skip(f"{_PREFIX}{NEEDS[thing]}")


def without(thing: str, is_missing: bool = True) -> pytest.MarkDecorator:
    """Return a mark that skips a test where `thing` of `NEEDS` is missing."""
    return pytest.mark.skipif(is_missing, reason=f"{_PREFIX}{NEEDS[thing]}")


def has_no_such_case(reason: str) -> NoReturn:
    """Skip one combination of parameters that exists on no machine."""
    pytest.skip(f"{_NO_CASE}{reason}")


def summary(reasons: Iterable[str]) -> list[str]:
    """Return a line for each thing that was missing, and one for each skip that names none."""
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    lines = []
    for reason, count in sorted(counts.items()):
        if not reason.startswith(_NO_CASE):
            tests = "1 test needs" if count == 1 else f"{count} tests need"
            lines.append(f"{tests} {reason.removeprefix(_PREFIX)}")
    return lines
