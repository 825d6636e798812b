"""Hostile trees and names: every operation is tried on each of them, and nothing outside is seen or changed."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace

from .outside import OPERATIONS, outcome, outside_tree, snapshot

Build = Callable[[Path], object]

WRITTEN = 14
"""Bytes that a write of these tests says it wrote."""


def link(name: str, target: str) -> Build:
    return lambda root: (root / name).symlink_to(target.replace("ROOT", str(root)))


def both(*builds: Build) -> Build:
    return lambda root: [build(root) for build in builds]


def directory(name: str) -> Build:
    return lambda root: (root / name).mkdir(parents=True)


def file(name: str, mode: int = 0o644) -> Build:
    def build(root: Path) -> None:
        (root / name).write_bytes(b"inside")
        (root / name).chmod(mode)

    return build


def hard_link(name: str) -> Build:
    return lambda root: (root / name).hardlink_to(root.parent / "outside" / "secret.txt")


def fifo(name: str) -> Build:
    return lambda root: os.mkfifo(root / name)


def unix_socket(name: str) -> Build:
    def build(root: Path) -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(root / name))

    return build


def device(name: str) -> Build:
    def build(root: Path) -> None:
        try:
            os.mknod(root / name, stat.S_IFCHR | 0o666, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("only root makes devices")

    return build


def chain(length: int) -> Build:
    """l0 leads over `length` links to a file inside."""
    return both(file("end"), *(link(f"l{n}", f"l{n + 1}" if n < length - 1 else "end") for n in range(length)))


def nothing(_: Path) -> None: ...


OUT: dict[str, object] = dict.fromkeys(("read", "digest", "replace", "overwrite", "create"), "outside")
"""The last name is a link that leads out: it can be removed, nothing else."""
WHOLLY_OUT = OUT | {"delete": "outside", "directory": "outside"}
"""A directory on the way leads out."""
BAD: dict[str, object] = dict.fromkeys(OPERATIONS.keys() - {"entries"}, "bad_name")
BAD_FILE: dict[str, object] = dict.fromkeys(OPERATIONS.keys() - {"entries", "directory"}, "bad_name")
SPECIAL: dict[str, object] = dict.fromkeys(OUT, "not_a_file") | {"delete": None, "directory": "not_a_directory"}
IS_DIRECTORY: dict[str, object] = dict.fromkeys([*OUT, "delete"], "is_directory")
NOT_A_DIRECTORY: dict[str, object] = dict.fromkeys([*OUT, "delete", "directory"], "not_a_directory")
LOOP: dict[str, object] = dict.fromkeys(OUT, "too_many_links")
INSIDE: dict[str, object] = {"read": b"inside", "overwrite": WRITTEN, "create": "exists", "delete": None}
ABSENT: dict[str, object] = {"read": "not_found", "digest": None, "create": WRITTEN, "delete": "not_found"}


@pytest.mark.rule("H1", "H2", "H3")
@pytest.mark.parametrize(
    ("build", "path", "expected"),
    [
        pytest.param(
            link("x", "../outside/secret.txt"),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace", "a relative link to a file outside", "refused as outside, the link itself can be deleted"
            ),
        ),
        pytest.param(
            link("x", "ROOT/../outside/secret.txt"),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace", "an absolute link to a file outside", "refused as outside, the link itself can be deleted"
            ),
        ),
        pytest.param(
            link("x", "ROOT/file"),
            "x",
            OUT,
            marks=pytest.mark.fault("workspace", "an absolute link that leads back inside", "refused as outside"),
        ),
        pytest.param(
            link("x", "../outside"),
            "x/secret.txt",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "a linked directory outside on the way", "refused as outside"),
        ),
        pytest.param(
            link("x", "../outside"),
            "x",
            OUT | {"directory": "outside"},
            marks=pytest.mark.fault(
                "workspace", "a link to a directory outside as working directory", "refused as outside"
            ),
        ),
        pytest.param(
            link("x", "../outside/inner"),
            "x/new/deep/file",
            WHOLLY_OUT,
            marks=pytest.mark.fault(
                "workspace",
                "a new file and directories below a linked directory outside",
                "refused as outside, nothing made",
            ),
        ),
        pytest.param(
            link("x", "../outside/absent.txt"),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace", "a dangling link to a new name outside", "refused as outside, nothing made"
            ),
        ),
        pytest.param(
            both(link("a", "b"), link("b", "c"), link("c", "../outside/secret.txt")),
            "a",
            OUT,
            marks=pytest.mark.fault("workspace", "a chain of links that ends outside", "refused as outside"),
        ),
        pytest.param(
            both(directory("d/e"), link("d/e/x", "../../../outside/secret.txt")),
            "d/e/x",
            OUT,
            marks=pytest.mark.fault("workspace", "a link from deep below out by ..", "refused as outside"),
        ),
        pytest.param(
            both(directory("d"), link("d/up", ".."), link("x", "d/up/../outside/secret.txt")),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace", "a link over a link to the parent, then out by ..", "refused as outside"
            ),
        ),
        pytest.param(
            both(directory("d"), link("up", "d/../..")),
            "up/outside/secret.txt",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "a link to above the root as a directory", "refused as outside"),
        ),
        pytest.param(
            link("x", ".."),
            "x/root/file",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "a link out that comes back into the root", "refused as outside"),
        ),
        pytest.param(
            both(directory("a/b"), file("real"), link("a/b/x", "../../real")),
            "a/b/x",
            INSIDE,
            marks=pytest.mark.fault("workspace", "a link with .. that stays inside", "followed"),
        ),
        pytest.param(
            both(directory("a"), link("d", "a"), link("x", "d/../real"), file("real")),
            "x",
            INSIDE,
            marks=pytest.mark.fault(
                "workspace", "a link with .. behind a linked directory inside", "followed as the system would"
            ),
        ),
        pytest.param(
            both(directory("a"), file("a/real"), link("d", "a/")),
            "d/real",
            INSIDE,
            marks=pytest.mark.fault("workspace", "a link with a slash at its end to a directory inside", "followed"),
        ),
        pytest.param(
            both(file("real"), link("x", "real/")),
            "x",
            dict.fromkeys(OUT, "not_a_directory"),
            marks=pytest.mark.fault("workspace", "a link with a slash at its end to a file", "refused as no directory"),
        ),
        pytest.param(
            link("x", "."),
            "x",
            dict.fromkeys(OUT, "is_directory"),
            marks=pytest.mark.fault("workspace", "a link to its own directory as a file", "refused as a directory"),
        ),
        pytest.param(
            link("x", "gone/absent"),
            "x",
            {"read": "not_found", "overwrite": WRITTEN, "create": WRITTEN, "delete": None},
            marks=pytest.mark.fault("workspace", "a dangling link inside", "a write makes its target"),
        ),
        pytest.param(
            link("x", "x"),
            "x",
            LOOP,
            marks=pytest.mark.fault("workspace", "a link to itself", "refused, can be deleted"),
        ),
        pytest.param(
            both(link("a", "b"), link("b", "a")),
            "a/file",
            LOOP | {"delete": "too_many_links"},
            marks=pytest.mark.fault("workspace", "two links to each other as a directory", "refused"),
        ),
        pytest.param(
            link("x", "x/x"),
            "x/y",
            LOOP | {"delete": "too_many_links"},
            marks=pytest.mark.fault("workspace", "a link that grows with every step", "refused after 40 links"),
        ),
        pytest.param(
            chain(40), "l0", INSIDE, marks=pytest.mark.fault("workspace", "a chain of 40 links inside", "followed")
        ),
        pytest.param(
            chain(41), "l0", LOOP, marks=pytest.mark.fault("workspace", "a chain of 41 links inside", "refused")
        ),
        pytest.param(
            link("x", "/proc/self/root"),
            "x/etc/passwd",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "a link to /proc/self/root", "refused as outside"),
        ),
        pytest.param(
            link("x", "/proc/self/cwd"),
            "x/file",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "a link to /proc/self/cwd", "refused as outside"),
        ),
        pytest.param(
            link("x", "/proc/self/fd"),
            "x/0",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "a link to the descriptors of our own process", "refused as outside"),
        ),
        pytest.param(
            link("x", "/dev/fd/0"),
            "x",
            OUT,
            marks=pytest.mark.fault("workspace", "a link to our standard input", "refused as outside"),
        ),
        pytest.param(
            link("x", "/proc/self/environ"),
            "x",
            OUT,
            marks=pytest.mark.fault("workspace", "a link to our environment", "refused as outside"),
        ),
        pytest.param(
            link("x", "/dev/zero"),
            "x",
            OUT,
            marks=pytest.mark.fault("workspace", "a link to a device without end", "refused as outside"),
        ),
        pytest.param(
            link("x", "//proc/self/root"),
            "x/etc/passwd",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "an absolute link with two slashes", "refused as outside"),
        ),
        pytest.param(
            hard_link("x"),
            "x",
            dict.fromkeys(("read", "digest", "replace"), "hard_linked")
            | {"overwrite": WRITTEN, "create": "exists", "delete": None, "directory": "not_a_directory"},
            marks=pytest.mark.fault(
                "workspace", "a hard link to a file outside", "not read; writing and deleting change this name alone"
            ),
        ),
        pytest.param(
            both(hard_link("y"), link("x", "y")),
            "x",
            dict.fromkeys(("read", "digest", "replace"), "hard_linked"),
            marks=pytest.mark.fault("workspace", "a link to a hard link to a file outside", "not read"),
        ),
        pytest.param(
            fifo("x"),
            "x",
            SPECIAL,
            marks=pytest.mark.fault("workspace", "a FIFO that nobody writes to", "refused at once, can be deleted"),
        ),
        pytest.param(
            both(fifo("y"), link("x", "y")),
            "x",
            SPECIAL,
            marks=pytest.mark.fault("workspace", "a link to a FIFO inside", "refused at once"),
        ),
        pytest.param(
            unix_socket("x"), "x", SPECIAL, marks=pytest.mark.fault("workspace", "a socket", "refused, can be deleted")
        ),
        pytest.param(
            device("x"),
            "x",
            SPECIAL,
            marks=pytest.mark.fault("workspace", "a device", "refused and never opened, can be deleted"),
        ),
        pytest.param(
            directory("x/y"),
            "x",
            IS_DIRECTORY,
            marks=pytest.mark.fault("workspace", "a directory where a file is named", "refused as a directory"),
        ),
        pytest.param(
            file("x"),
            "x/y",
            NOT_A_DIRECTORY,
            marks=pytest.mark.fault("workspace", "a file where a directory is named", "refused as no directory"),
        ),
        pytest.param(
            fifo("x"),
            "x/y",
            NOT_A_DIRECTORY,
            marks=pytest.mark.fault("workspace", "a FIFO where a directory is named", "refused as no directory"),
        ),
        pytest.param(
            nothing, "/etc/passwd", BAD, marks=pytest.mark.fault("workspace", "an absolute path", "refused as a name")
        ),
        pytest.param(
            nothing,
            "../outside/secret.txt",
            BAD,
            marks=pytest.mark.fault("workspace", "a path with .. at its beginning", "refused as a name"),
        ),
        pytest.param(
            directory("a"),
            "a/../b",
            BAD,
            marks=pytest.mark.fault("workspace", "a path with .. in its middle", "refused as a name"),
        ),
        pytest.param(
            directory("a"),
            "a/..",
            BAD,
            marks=pytest.mark.fault("workspace", "a path with .. at its end", "refused as a name"),
        ),
        pytest.param(nothing, "a\0b", BAD, marks=pytest.mark.fault("workspace", "NUL in a path", "refused as a name")),
        pytest.param(
            nothing,
            "a\udcffb",
            BAD,
            marks=pytest.mark.fault("workspace", "a lone surrogate in a path", "refused as a name"),
        ),
        pytest.param(
            nothing, "x" * 256, BAD, marks=pytest.mark.fault("workspace", "a name of 256 bytes", "refused as a name")
        ),
        pytest.param(
            nothing,
            "ü" * 128,
            BAD,
            marks=pytest.mark.fault("workspace", "a name of 128 characters and 256 bytes", "refused as a name"),
        ),
        pytest.param(
            nothing,
            "x" * 255,
            ABSENT,
            marks=pytest.mark.fault("workspace", "a name of 255 bytes", "written as any other"),
        ),
        pytest.param(
            nothing,
            "x/" * 2048 + "y",
            BAD,
            marks=pytest.mark.fault("workspace", "a path of 4097 bytes", "refused as a name"),
        ),
        pytest.param(
            nothing,
            "x/" * 129 + "y",
            {"read": "not_found", "overwrite": "bad_name", "create": "bad_name"},
            marks=pytest.mark.fault(
                "workspace", "a path of 129 directories", "refused as a name, no directory left behind"
            ),
        ),
        pytest.param(
            nothing,
            "",
            BAD_FILE | {"directory": []},
            marks=pytest.mark.fault("workspace", "the empty path", "refused for a file; the root for a directory"),
        ),
        pytest.param(
            nothing,
            ".",
            BAD_FILE | {"directory": []},
            marks=pytest.mark.fault(
                "workspace", "a path that is . alone", "refused for a file; the root for a directory"
            ),
        ),
        pytest.param(
            directory("a"),
            "a/",
            BAD_FILE | {"directory": []},
            marks=pytest.mark.fault("workspace", "a path with a slash at its end", "refused for a file"),
        ),
        pytest.param(
            directory("a"),
            "a/.",
            BAD_FILE | {"directory": []},
            marks=pytest.mark.fault("workspace", "a path with . at its end", "refused for a file"),
        ),
        pytest.param(
            both(directory("a"), file("a/x")),
            "./a//./x",
            INSIDE,
            marks=pytest.mark.fault("workspace", "a path with ./ and // in it", "taken as the path without them"),
        ),
        pytest.param(
            nothing,
            ".codex-adapter-0123456789abcdef-0123456789abcdef",
            BAD,
            marks=pytest.mark.fault("workspace", "the name of a temporary file of ours", "refused as a name"),
        ),
        pytest.param(
            file("e\u0301"),
            "\u00e9",
            ABSENT,
            marks=pytest.mark.fault("workspace", "another Unicode normalisation of a name", "another file"),
        ),
        pytest.param(
            file("README"),
            "readme",
            ABSENT,
            marks=pytest.mark.fault("workspace", "another case of a name", "another file"),
        ),
        pytest.param(
            file("a\nb"),
            "a\nb",
            INSIDE,
            marks=pytest.mark.fault("workspace", "a line feed in a name", "a name as any other"),
        ),
        pytest.param(
            file("..."),
            "...",
            INSIDE,
            marks=pytest.mark.fault("workspace", "a name of three dots", "a name as any other"),
        ),
        pytest.param(
            file("a\\..\\b"),
            "a\\..\\b",
            INSIDE,
            marks=pytest.mark.fault("workspace", "backslashes in a name", "a name as any other"),
        ),
        pytest.param(
            nothing,
            "%2e%2e/outside/secret.txt",
            ABSENT,
            marks=pytest.mark.fault("workspace", "percent signs for dots", "a name as any other"),
        ),
        pytest.param(
            nothing,
            "~/x",
            ABSENT,
            marks=pytest.mark.fault("workspace", "a tilde as a directory", "a name as any other"),
        ),
        pytest.param(
            file("x", 0o6755),
            "x",
            INSIDE,
            marks=pytest.mark.fault("workspace", "a file with set-id bits", "its replacement has none"),
        ),
    ],
)
def test_nothing_outside_is_seen_or_changed(
    build: Build, path: str, expected: dict[str, object], tmp_path: Path
) -> None:
    seen = {operation: attempt(operation, build, path, tmp_path / operation) for operation in OPERATIONS}
    assert {operation: seen[operation] for operation in expected} == expected


def attempt(operation: str, build: Build, path: str, place: Path) -> object:
    outside = outside_tree(place / "outside")
    root = place / "root"
    root.mkdir()
    build(root)
    before, inside = snapshot(outside), set(root.rglob("*"))
    with Workspace(root, agents=known_places()) as workspace:
        given = outcome(workspace, operation, path)
    assert snapshot(outside) == before
    if operation == "overwrite" and given == WRITTEN:
        assert stat.S_IMODE((root / path).stat().st_mode) in (0o644, 0o755)
    if isinstance(given, str):
        assert set(root.rglob("*")) == inside
    return given
