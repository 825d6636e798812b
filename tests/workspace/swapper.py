"""Swap files in a workspace for links to outside, as fast as possible, until the input ends.

`python -m tests.workspace.swapper KIND ROOT` prints `ready`, and at its end the number of swaps.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

AT_FDCWD = -100
RENAME_EXCHANGE = 2
LIBC = ctypes.CDLL(None, use_errno=True)


def file(path: Path) -> None:
    path.write_bytes(b"inside")


def honest_directory(root: Path, name: str = "d") -> None:
    (root / name).mkdir()
    file(root / name / "other.txt")


def honest_file(root: Path) -> None:
    (root / "d").mkdir(exist_ok=True)
    file(root / "new")
    (root / "new").rename(root / "d/other.txt")


def honest_link(root: Path) -> None:
    shutil.rmtree(root / "real", ignore_errors=True)
    honest_directory(root, "real")
    (root / "d").symlink_to("real")


def deep_directory(root: Path) -> None:
    """Its link leads inside as long as it stays where it is."""
    shutil.rmtree(root / "d", ignore_errors=True)
    honest_directory(root)
    (root / "p/q/d").mkdir(parents=True)
    (root / "p/q/d/up").symlink_to("../../../d")


KINDS: dict[str, tuple[str, Callable[[Path], object], Callable[[Path], object]]] = {
    "directory": ("d", honest_directory, lambda evil: evil.symlink_to("../outside")),
    "link": ("d", honest_link, lambda evil: evil.symlink_to("../outside")),
    "file": ("d/other.txt", honest_file, lambda evil: evil.symlink_to(evil.parents[1] / "outside/other.txt")),
    "fifo": ("d/other.txt", honest_file, os.mkfifo),
    "hard-link": ("d/other.txt", honest_file, lambda evil: evil.hardlink_to(evil.parents[1] / "outside/other.txt")),
    "depth": ("p/q", deep_directory, lambda evil: evil.mkdir()),
}
"""A name in the root, how it is made, and how the thing is made that changes places with it."""
USED_UP = {"file", "fifo", "hard-link"}
"""What the operations take away or put another thing in place of."""
PATHS = {"depth": "p/q/d/up/other.txt"}


def prepare(kind: str, root: Path) -> None:
    """Both anew: operations take away and put in place what they can. Goes wrong when one comes in between."""
    honest, make_honest, make_evil = KINDS[kind]
    for path in (root / honest, root / "evil"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    make_honest(root)
    make_evil(root / "evil")


def exchange(kind: str, root: Path) -> bool:
    """The two change places, at one stroke; says whether both were there."""
    honest, evil = os.fsencode(root / KINDS[kind][0]), os.fsencode(root / "evil")
    return bool(LIBC.renameat2(AT_FDCWD, honest, AT_FDCWD, evil, RENAME_EXCHANGE) == 0)


def swap(kind: str, root: Path, rng: random.Random) -> int:
    """A few times to and fro, with pauses so short that an operation can be met anywhere in its middle."""
    swaps = 0
    for _ in range(50):
        swaps += exchange(kind, root)
        for _ in range(rng.randrange(1000)):
            pass
    return swaps


def spoil_temporary_files(root: Path) -> int:
    """Every temporary file that can be caught becomes a link to outside."""
    caught = 0
    for name in os.listdir(root / "d"):  # noqa: PTH208
        if name.startswith(".codex-adapter-"):
            try:
                (root / "d" / name).unlink()
                (root / "d" / name).symlink_to("../../outside/other.txt")
            except OSError:
                continue
            caught += 1
    return caught


def main(kind: str, root: Path) -> None:
    end_of_input = threading.Thread(target=sys.stdin.read, daemon=True)
    end_of_input.start()
    if kind == "temporary":
        honest_directory(root)
    else:
        prepare(kind, root)
    print("ready", flush=True)
    swaps, rng = 0, random.Random(kind)
    while end_of_input.is_alive():
        if kind == "temporary":
            swaps += spoil_temporary_files(root)
            continue
        done = swap(kind, root, rng)
        swaps += done
        if kind in USED_UP or not done:
            with suppress(OSError):
                prepare(kind, root)
    print(swaps)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
