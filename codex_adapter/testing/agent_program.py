"""Execute the steps of a scripted agent, in a bare interpreter that starts quickly.

Import only the standard library: the program runs under `python -I -S`, which finds neither this package nor its
dependencies. The steps are those of `agent_steps`, as decoded JSON.
"""

# The import of pathlib would take most of the time.
# ruff: noqa: PTH103, PTH105, PTH109, PTH110, PTH116, PTH120, PTH123, PTH208

from __future__ import annotations

import itertools
import os
import resource
import stat
import sys
import time

TYPE_CHECKING = False  # these imports would take most of the time
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any, NoReturn

    Step = dict[str, Any]
else:
    import _signal as signal

__all__ = ["ACTIONS", "main"]

BLOCK = 64 * 1024
POLL_SECONDS = 0.005
BROKEN_PIPE_STATUS = 101


_prompt: list[str] = []


def main(script: list[Step], more: dict[str, Callable[[Step], None]]) -> None:
    """Execute the steps of `script` with `ACTIONS` and `more`, and exit (TK2)."""
    actions = {**ACTIONS, **more}
    # Die of SIGINT like a native program, without a traceback of KeyboardInterrupt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        for step in script:
            actions[step["step"]](step)
        os._exit(0)
    except BrokenPipeError:
        # The real CLI panics if its output is closed.
        os._exit(BROKEN_PIPE_STATUS)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _print_text(step: Step) -> None:
    _write(1, (step["text"] + step.get("end", "\n")).encode())


def _print_bytes(step: Step) -> None:
    import base64  # noqa: PLC0415 - few agents need it

    _write(1, base64.b64decode(step["data"]))


def _print_json(step: Step) -> None:
    import json  # noqa: PLC0415 - few agents need it

    _write(1, json.dumps(step["value"], ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _print_file(step: Step) -> None:
    piece = step.get("piece") or BLOCK
    with open(step["path"], "rb") as file:
        for data in iter(lambda: file.read(piece), b""):
            _write(1, data)


def _fill(step: Step) -> None:
    char = step.get("char", "x").encode()
    _write(1, step.get("before", "").encode())
    _write_over_and_over(1, char, step["size"] * len(char))
    _write(1, step.get("after", "").encode())


def _repeat(step: Step) -> None:
    line = (step["text"] + "\n").encode()
    count, rate = step.get("count"), step.get("per_second")
    start = time.monotonic()
    if rate is None and count is not None:
        _write_over_and_over(1, line, count * len(line))
    elif rate is None:
        while True:
            _write_over_and_over(1, line, BLOCK * len(line))
    else:
        for done in itertools.count() if count is None else range(count):
            time.sleep(max(0.0, start + done / rate - time.monotonic()))
            _write(1, line)


def _write_stderr(step: Step) -> None:
    text = step.get("text", "noise on standard error\n").encode()
    _write_over_and_over(2, text, step.get("size", len(text)))


def _write_over_and_over(fd: int, unit: bytes, size: int) -> None:
    block = unit * (BLOCK // len(unit) + 1)
    for _ in range(size // len(block)):
        _write(fd, block)
    _write(fd, block[: size % len(block)])


def _read_prompt(_step: Step) -> None:
    blocks = iter(lambda: os.read(0, BLOCK), b"")
    _prompt.append(b"".join(blocks).decode("utf-8", "surrogateescape"))


def _write_facts(step: Step) -> None:
    import json  # noqa: PLC0415 - few agents need it
    from signal import SIG_BLOCK, Signals, pthread_sigmask  # noqa: PLC0415 - the same

    facts = {
        "argv": sys.argv,
        "env": _environment(),
        "cwd": os.getcwd(),
        "prompt": "".join(_prompt) if _prompt else None,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "group": os.getpgrp(),
        "session": os.getsid(0),
        "blocked": sorted(Signals(number).name for number in pthread_sigmask(SIG_BLOCK, ())),
        "open_files": _open_files(),
    }
    _write_at_once(step["path"], json.dumps(facts))


def _environment() -> dict[str, str]:
    # Read the original environment: this interpreter may have changed the locale.
    with open("/proc/self/environ", "rb") as file:
        pairs = [os.fsdecode(pair).partition("=") for pair in file.read().split(b"\0") if pair]
    return {name: value for name, _, value in pairs}


def _open_files() -> list[int]:
    # The list includes the descriptor of the directory itself, which is closed now.
    names = os.listdir("/proc/self/fd")
    return sorted(int(name) for name in names if os.path.exists(f"/proc/self/fd/{name}"))


def _write_at_once(path: str, text: str) -> None:
    """Write a file atomically, so that a process that waits for it reads it complete."""
    draft = f"{path}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(draft, path)


def _write_file(step: Step) -> None:
    path = step["path"]
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(step.get("text", ""))


def _wait_for(step: Step) -> None:
    path = step["path"]
    while not os.path.exists(path):
        time.sleep(POLL_SECONDS)
    if stat.S_ISFIFO(os.stat(path).st_mode):
        with open(path, "rb") as fifo:
            fifo.read()


def _sleep(step: Step) -> None:
    time.sleep(step["seconds"])


def _hang(_step: Step) -> NoReturn:
    while True:
        signal.pause()


def _exit(step: Step) -> NoReturn:
    os._exit(step.get("status", 0))


def _die(step: Step) -> None:
    number = getattr(signal, step.get("signal", "SIGKILL"))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _ignore_signals(step: Step) -> None:
    for name in step["signals"]:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def _exit_on_signal(step: Step) -> None:
    status = step.get("status", 1)
    signal.signal(getattr(signal, step.get("signal", "SIGINT")), lambda *_: os._exit(status))


def _close_stdout(_step: Step) -> None:
    os.close(1)


ACTIONS: dict[str, Callable[[Step], None]] = {
    "print_text": _print_text,
    "print_bytes": _print_bytes,
    "print_json": _print_json,
    "print_file": _print_file,
    "fill": _fill,
    "repeat": _repeat,
    "write_stderr": _write_stderr,
    "read_prompt": _read_prompt,
    "write_facts": _write_facts,
    "write_file": _write_file,
    "wait_for": _wait_for,
    "sleep": _sleep,
    "hang": _hang,
    "exit": _exit,
    "die": _die,
    "ignore_signals": _ignore_signals,
    "exit_on_signal": _exit_on_signal,
    "close_stdout": _close_stdout,
}
"""The function that executes each step, by step name (TK2)."""
