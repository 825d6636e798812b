"""Run the command line in one fork for each number of bytes after which its stdout fails.

`left FILE STEP` replays the recording from a pipe, line by line, to a reader that reads this number of bytes and
leaves. `full FILE STEP` replays it to a disk with room for this number of bytes. Each fork prints one line of JSON: the
number of bytes, the exit status, stderr, and stdout.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

from codex_adapter.cli import main

__all__ = ["Fork"]

Fork = tuple[int, int, str, str]


def fork(words: list[str], stdin: int, stdout: int, before: Callable[[], None] = lambda: None) -> tuple[int, int]:
    """The command line in a child; its pid, and the other end of its stderr."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        for number, fd in enumerate((stdin, stdout, writer)):
            os.dup2(fd, number)
        os.closerange(3, 64)
        before()
        os._exit(main(["replay", "--exit-status", "7", *words]))
    os.close(writer)
    return pid, reader


def end(pid: int, stderr: int) -> tuple[int, str]:
    """Its exit status and what it has said."""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with os.fdopen(stderr, "rb") as said:
        return status, said.read().decode()


def left(lines: list[bytes], count: int, ends: list[int]) -> Fork:
    """A reader that takes `count` bytes and leaves; `ends` says where the record of each line ends."""
    (stdin, feed), (reader, stdout) = os.pipe(), os.pipe()
    for fd in (feed, reader):
        os.set_inheritable(fd, False)
    pid, stderr = fork(["-"], stdin, stdout)
    os.close(stdin)
    os.close(stdout)
    fed, taken = 0, b""
    while len(taken) < count:
        if fed < len(lines) and len(taken) == (ends[fed - 1] if fed else 0):
            os.write(feed, lines[fed])
            fed += 1
        elif fed == len(lines) and len(taken) == ends[-1]:
            os.close(feed)
            feed = -1
        taken += os.read(reader, min(count, ends[fed - 1] if feed >= 0 else count) - len(taken))
    os.close(reader)
    if feed >= 0:
        os.write(feed, b"".join(lines[fed:]))
        os.close(feed)
    return count, *end(pid, stderr), taken.decode()


def full(path: Path, count: int) -> Fork:
    """A disk that has room for `count` bytes."""
    out = path.with_suffix(".out")
    with out.open("wb") as stdout, Path("/dev/null").open("rb") as stdin:

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (count, count))

        pid, stderr = fork([str(path)], stdin.fileno(), stdout.fileno(), limit)
    status, said = end(pid, stderr)
    return count, status, said, out.read_text()


def forks(how: str, path: Path, step: int) -> Iterator[Fork]:
    """One for every number of bytes that is a multiple of `step` or about the end of a line; the first is whole."""
    whole = full(path, 10**6)
    yield whole
    lines = path.read_bytes().splitlines(keepends=True)
    ends = list(accumulate(map(len, whole[3].encode().splitlines(keepends=True))))[: len(lines)]
    last = len(whole[3].encode())
    for count in sorted({*range(0, last, step), *(end + near for end in ends for near in (-1, 0, 1)), last - 1, last}):
        yield full(path, count) if how == "full" else left(lines, count, ends)


if __name__ == "__main__":
    for done in forks(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])):
        # At once: a child would inherit what is still in the buffer.
        print(json.dumps(done), flush=True)
