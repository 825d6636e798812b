"""Provide agents whose lines have time stamps, and readers that measure the delay of each line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import trio

from codex_adapter import CodexConfig, RunRequest, open_run

__all__ = ["PATHS", "flooding_agent", "stamping_agent"]

# Each line is written by itself when it is due; after a sleep that was too long, several are. The end is put off: it is
# work, and would be done on the processor on which the reader of the last line is woken.
_STAMPING: Final = """#!{python} -IS
import os, time
now = time.monotonic_ns
def line():
    os.write(1, b'{{"type":"item.completed","item":{{"id":"item_1","type":"agent_message","text":"%d"}}}}\\n' % now())
start = now() + {lead}
for number in range({count}):
    due = start + number * {interval}
    while (left := due - now()) > 0:
        time.sleep(left / 1e9)
    line()
time.sleep(0.02)
os.write(1, b'{{"type":"turn.completed","usage":{{}}}}\\n')
"""
_FLOODING: Final = """#!{python} -IS
import os
line = b'{{"type":"item.completed","item":{{"id":"item_1","type":"agent_message","text":"' + b"word " * 20 + b'"}}}}\\n'
block = memoryview(line * 512)
while True:
    sent = 0
    while sent < len(block):
        sent += os.write(1, block[sent:])
"""
_STAMP: Final = b'"text":"'


def stamping_agent(folder: Path, *, rate: int, count: int, lead: float = 0.0) -> Path:
    """A program that prints `count` lines, `rate` a second, the first after `lead` seconds."""
    text = _STAMPING.format(
        python=sys.executable, count=count, interval=1_000_000_000 // rate, lead=int(lead * 1_000_000_000)
    )
    return _program(folder / f"agent-{rate}-{count}", text)


def flooding_agent(folder: Path) -> Path:
    """A program that prints lines without end, as fast as they are read."""
    return _program(folder / "agent-flood", _FLOODING.format(python=sys.executable))


def _program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def _bare_pipe(agent: Path) -> list[int]:
    return _read([str(agent)])


def _command(agent: Path) -> list[int]:
    return _read([sys.executable, "-m", "codex_adapter", "run", "--codex", str(agent), "x"])


def _read(words: list[str]) -> list[int]:
    """The ages of a process's lines, in nanoseconds, each as of when all of it was there."""
    ages: list[int] = []
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        descriptor, rest = process.stdout.fileno(), b""
        while data := os.read(descriptor, 262_144):
            now = time.monotonic_ns()
            *lines, rest = (rest + data).split(b"\n")
            ages += [now - stamp for stamp in _stamps(lines)]
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(words)} failed with {process.returncode}")
    return ages


def _stamps(lines: list[bytes]) -> Iterator[int]:
    for line in lines:
        start = line.find(_STAMP) + len(_STAMP)
        if start >= len(_STAMP):
            yield int(line[start : line.index(b'"', start)])


def _library(agent: Path) -> list[int]:
    async def read() -> list[int]:
        ages: list[int] = []
        async with open_run(RunRequest(prompt="x"), config=CodexConfig(binary=str(agent))) as run:
            async for event in run.events:
                if event.text is not None:
                    ages.append(time.monotonic_ns() - int(event.text))
            await run.wait_completed()
        return ages

    return trio.run(read)


PATHS: Final[dict[str, Callable[[Path], list[int]]]] = {
    "bare pipe": _bare_pipe,
    "run": _command,
    "library": _library,
}
"""The ways from an agent to a supervisor, the floor first: what gives the ages, on arrival, of an agent's lines."""
