"""Measure operations on files, their speed and their memory: `python -m benchmarks.operations [--rounds N]`.

*Speed*: the command receives messages of 200 small operations, with and without a state. The operations create, read,
edit and remove a file. The table shows operations per second and CPU seconds for 1000 operations, as medians of the
rounds, without the start of the process. *Memory*: separate commands create and read a file of 10 MiB. The table shows
the peak memory above that of a command with a small message. It is a multiple of the file's size, and of its size in
JSON, where each character can be an escape.
"""

from __future__ import annotations

import argparse
import base64
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from benchmarks.processes import most_memory, thread_seconds

__all__ = ["MOST_TIMES", "contents", "create", "main", "read", "size_in_json"]

SIZE: Final = 10 * 1024 * 1024
_LEAST_A_SECOND: Final = 1_000
MOST_TIMES: Final = 3.0
_FILES: Final = 50
_MESSAGES: Final = 5
_SMALL: Final = {"type": "message", "content": "."}


class Command:
    """The command on a workspace of its own, spoken to message by message."""

    def __init__(self, folder: Path, *, kept: bool = False) -> None:
        (folder / "workspace").mkdir(exist_ok=True)
        words = [sys.executable, "-m", "codex_adapter", "operations", "--workspace", str(folder / "workspace")]
        words += ["--state", str(folder / "state.db")] if kept else []
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.send(_SMALL)

    def send(self, *operations: dict[str, Any]) -> bytes:
        """The answer to these operations, all of which must succeed."""
        return self.say(msgspec.json.encode({"protocolVersion": "1.0", "operations": operations}))

    def say(self, message: bytes) -> bytes:
        """The answer to a message, of which everything must succeed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(message + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if b'"success":false' in answer or b'"type":"error"' in answer or b'"status":"completed"' not in answer:
            raise SystemExit(f"this failed: {answer[:1000]!r}")
        return answer

    def close(self) -> None:
        """See that it ends in order."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self.process.wait(60) != 0:
            raise SystemExit("the command failed")


@contextmanager
def running(*, kept: bool = False) -> Iterator[tuple[Command, Path]]:
    """A command, and its workspace."""
    with tempfile.TemporaryDirectory() as folder:
        command = Command(Path(folder), kept=kept)
        with command.process:
            try:
                yield command, Path(folder) / "workspace"
                command.close()
            finally:
                command.process.kill()


def contents() -> dict[str, bytes]:
    """Files of 10 MiB: those that are easy, and those that are not."""
    escapes = b'"\\\n\x01' * (SIZE // 4)
    return {
        "ASCII": b"all work and no play\n" * (SIZE // 21),
        "escapes": escapes,
        "one emoji": "😀".encode() + b"x" * (SIZE - 4),
        "no text": bytes(range(256)) * (SIZE // 256),
    }


def speed(rounds: int, *, kept: bool) -> float:
    """Print the line; operations a second."""
    walls, processors = [], []
    with running(kept=kept) as (command, _):
        for _ in range(rounds + 1):
            spent, started = thread_seconds(command.process.pid), time.perf_counter()
            for _ in range(_MESSAGES):
                command.send(*_small_ones())
            walls.append(time.perf_counter() - started)
            processors.append(thread_seconds(command.process.pid) - spent)
    count = _MESSAGES * len(_small_ones())
    wall, processor = median(walls[1:]) / count, median(processors[1:]) / count
    print(f"{'with a state' if kept else 'without':>14}{1 / wall:>14.0f}{count / max(walls[1:]):>8.0f}", end="")
    print(f"{processor * 1000:>26.2f}", flush=True)
    return 1 / wall


def create(content: bytes) -> float:
    """The multiple of the size for a file that is made."""
    operation = {"type": "createFile", "path": "f", **_told(content)}
    message = msgspec.json.encode({"protocolVersion": "1.0", "operations": [operation]})
    return _measured(lambda command, _: command.say(message), len(content))


def read(content: bytes) -> float:
    """The multiple of the size for a file that is read."""

    def of(command: Command, workspace: Path) -> None:
        (workspace / "f").write_bytes(content)
        command.send({"type": "readFile", "path": "f", "encoding": _told(content)["encoding"]})

    return _measured(of, len(content))


def size_in_json(content: bytes) -> int:
    """The bytes of a file's content as a JSON string, of which a message is made."""
    return len(msgspec.json.encode(_told(content)["content"]))


def _measured(do: Callable[[Command, Path], object], size: int) -> float:
    with running() as (command, workspace):
        before = most_memory(command.process.pid)
        do(command, workspace)
        return (most_memory(command.process.pid) - before) * 1024 / size


def _told(content: bytes) -> dict[str, str]:
    try:
        return {"encoding": "utf-8", "content": content.decode()}
    except UnicodeDecodeError:
        return {"encoding": "base64", "content": base64.b64encode(content).decode()}


def _small_ones() -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = []
    for number in range(_FILES):
        path = {"path": f"d{number % 5}/f{number}.py"}
        operations.append({"type": "createFile", **path, "content": f"number = {number}\n" * 20})
        operations.append({"type": "readFile", **path})
        operations.append({"type": "editFile", **path, "edits": [{"oldContent": "number", "newContent": "n"}]})
        operations.append({"type": "deleteFile", **path})
    return operations


def main() -> int:
    """Measure, print, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operations", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of 1000 operations each (default: 5)")
    options = parser.parse_args()
    failures: list[str] = []
    print(f"{'state':>14}{'operations/s':>14}{'least':>8}{'CPU s / 1000 operations':>26}")
    for kept in (False, True):
        if (most := speed(options.rounds, kept=kept)) < _LEAST_A_SECOND:
            failures.append(f"{most:.0f} operations a second; {_LEAST_A_SECOND} are due")
    print(f"\n{'10 MiB':>14}{'made':>8}{'read':>8} times the size{'made':>9}{'read':>8} times that in JSON")
    for name, content in contents().items():
        times = create(content), read(content)
        in_json = [each * len(content) / size_in_json(content) for each in times]
        print(f"{name:>14}{times[0]:>8.2f}{times[1]:>8.2f}{in_json[0]:>24.2f}{in_json[1]:>8.2f}", flush=True)
        if max(in_json) > MOST_TIMES:
            failures.append(f"{name}: {max(in_json):.2f} times the size in JSON; {MOST_TIMES:.0f} are allowed")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
