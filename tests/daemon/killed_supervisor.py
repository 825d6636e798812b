"""Run a supervisor that tests kill; it stores each line of its daemon before it reads the next one.

    python killed_supervisor.py PLACE

`plan.json` in PLACE contains the argv and environment of the daemon and the lines for it. The program writes two files
to PLACE: `heard` contains the received lines. `ends` contains a line `NAME STATUS` for each of `supervisor` and
`daemon`, with the status from waitpid. SIGUSR1 makes the program close the daemon's stdin. The program ends only when
all its descendants have ended, even those whose parents have died.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
BLOCK = 65_536


def main(place: Path) -> None:
    """Be the one who sees the ends of all, and start the supervisor."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    supervisor = os.fork()
    if not supervisor:
        _supervise(place)
        os._exit(0)
    (place / "supervisor.pid").write_text(str(supervisor))
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return
        _tell_end(place, "supervisor" if pid == supervisor else str(pid), status)


def _supervise(place: Path) -> None:
    plan = json.loads((place / "plan.json").read_bytes())
    closing, close = os.pipe()
    os.set_blocking(close, False)
    signal.set_wakeup_fd(close, warn_on_full_buffer=False)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    theirs_in, to_daemon = os.pipe()
    from_daemon, theirs_out = os.pipe()
    daemon = os.posix_spawn(
        plan["argv"][0],
        plan["argv"],
        plan["env"],
        file_actions=[(os.POSIX_SPAWN_DUP2, theirs_in, 0), (os.POSIX_SPAWN_DUP2, theirs_out, 1)],
        setsigdef=[signal.SIGUSR1, signal.SIGPIPE],
    )
    os.close(theirs_in)
    os.close(theirs_out)
    (place / "daemon.pid").write_text(str(daemon))
    heard = os.open(place / "heard", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    with suppress(BrokenPipeError):  # it may have been killed before it reads
        os.write(to_daemon, "".join(f"{line}\n" for line in plan["lines"]).encode())
    rest = b""
    while True:
        ready = select.select([from_daemon, closing], [], [])[0]
        if closing in ready:
            os.read(closing, BLOCK)
            os.close(to_daemon)
        if from_daemon not in ready:
            continue
        data = os.read(from_daemon, BLOCK)
        if not data:
            break
        whole, newline, torn = (rest + data).rpartition(b"\n")
        rest = torn
        if newline:
            os.write(heard, whole + newline)
    _tell_end(place, "daemon", os.waitpid(daemon, 0)[1])


def _tell_end(place: Path, who: str, status: int) -> None:
    end = f"{who} {os.waitstatus_to_exitcode(status)}\n".encode()
    file = os.open(place / "ends", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.write(file, end)
    os.close(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
