"""Test every operation on hostile trees and names: nothing outside is read or changed."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace

from ..needs import missing
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
            missing("root")

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
                "workspace",
                "A relative link points to a file outside",
                "Access is refused as outside; the link itself can be deleted",
            ),
        ),
        pytest.param(
            link("x", "ROOT/../outside/secret.txt"),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace",
                "An absolute link points to a file outside",
                "Access is refused as outside; the link itself can be deleted",
            ),
        ),
        pytest.param(
            link("x", "ROOT/file"),
            "x",
            OUT,
            marks=pytest.mark.fault("workspace", "An absolute link points back inside", "Access is refused as outside"),
        ),
        pytest.param(
            link("x", "../outside"),
            "x/secret.txt",
            WHOLLY_OUT,
            marks=pytest.mark.fault(
                "workspace", "A directory on the path is a link to outside", "Access is refused as outside"
            ),
        ),
        pytest.param(
            link("x", "../outside"),
            "x",
            OUT | {"directory": "outside"},
            marks=pytest.mark.fault(
                "workspace", "The working directory is a link to a directory outside", "Access is refused as outside"
            ),
        ),
        pytest.param(
            link("x", "../outside/inner"),
            "x/new/deep/file",
            WHOLLY_OUT,
            marks=pytest.mark.fault(
                "workspace",
                "An operation creates a file and directories below a link to a directory outside",
                "It is refused as outside and creates nothing",
            ),
        ),
        pytest.param(
            link("x", "../outside/absent.txt"),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace",
                "A dangling link points to a new name outside",
                "A write is refused as outside and creates nothing",
            ),
        ),
        pytest.param(
            both(link("a", "b"), link("b", "c"), link("c", "../outside/secret.txt")),
            "a",
            OUT,
            marks=pytest.mark.fault("workspace", "A chain of links ends outside", "Access is refused as outside"),
        ),
        pytest.param(
            both(directory("d/e"), link("d/e/x", "../../../outside/secret.txt")),
            "d/e/x",
            OUT,
            marks=pytest.mark.fault(
                "workspace", "A link in a deep directory leaves the root through `..`", "Access is refused as outside"
            ),
        ),
        pytest.param(
            both(directory("d"), link("d/up", ".."), link("x", "d/up/../outside/secret.txt")),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace",
                "A link leads through a link to the parent and then out through `..`",
                "Access is refused as outside",
            ),
        ),
        pytest.param(
            both(directory("d"), link("up", "d/../..")),
            "up/outside/secret.txt",
            WHOLLY_OUT,
            marks=pytest.mark.fault(
                "workspace", "A directory on the path is a link to above the root", "Access is refused as outside"
            ),
        ),
        pytest.param(
            link("x", ".."),
            "x/root/file",
            WHOLLY_OUT,
            marks=pytest.mark.fault(
                "workspace", "A link leads out of the root and back into it", "Access is refused as outside"
            ),
        ),
        pytest.param(
            both(directory("a/b"), file("real"), link("a/b/x", "../../real")),
            "a/b/x",
            INSIDE,
            marks=pytest.mark.fault("workspace", "A link with `..` stays inside", "The link is followed"),
        ),
        pytest.param(
            both(directory("a"), link("d", "a"), link("x", "d/../real"), file("real")),
            "x",
            INSIDE,
            marks=pytest.mark.fault(
                "workspace",
                "A link has `..` after a linked directory inside",
                "The link is followed in the same way as by the kernel",
            ),
        ),
        pytest.param(
            both(directory("a"), file("a/real"), link("d", "a/")),
            "d/real",
            INSIDE,
            marks=pytest.mark.fault(
                "workspace", "A link with a trailing slash points to a directory inside", "The link is followed"
            ),
        ),
        pytest.param(
            both(file("real"), link("x", "real/")),
            "x",
            dict.fromkeys(OUT, "not_a_directory"),
            marks=pytest.mark.fault(
                "workspace", "A link with a trailing slash points to a file", "Access is refused as not a directory"
            ),
        ),
        pytest.param(
            link("x", "."),
            "x",
            dict.fromkeys(OUT, "is_directory"),
            marks=pytest.mark.fault(
                "workspace", "A file operation names a link to its own directory", "Access is refused as a directory"
            ),
        ),
        pytest.param(
            link("x", "gone/absent"),
            "x",
            {"read": "not_found", "overwrite": WRITTEN, "create": WRITTEN, "delete": None},
            marks=pytest.mark.fault("workspace", "A dangling link points inside", "A write creates its target"),
        ),
        pytest.param(
            link("x", "x"),
            "x",
            LOOP,
            marks=pytest.mark.fault(
                "workspace", "A link points to itself", "Access is refused; the link can be deleted"
            ),
        ),
        pytest.param(
            both(link("a", "b"), link("b", "a")),
            "a/file",
            LOOP | {"delete": "too_many_links"},
            marks=pytest.mark.fault(
                "workspace", "A directory on the path is one of two links to each other", "Access is refused"
            ),
        ),
        pytest.param(
            link("x", "x/x"),
            "x/y",
            LOOP | {"delete": "too_many_links"},
            marks=pytest.mark.fault("workspace", "A link grows with every step", "Access is refused after 40 links"),
        ),
        pytest.param(
            chain(40),
            "l0",
            INSIDE,
            marks=pytest.mark.fault("workspace", "A chain has 40 links inside", "The links are followed"),
        ),
        pytest.param(
            chain(41),
            "l0",
            LOOP,
            marks=pytest.mark.fault("workspace", "A chain has 41 links inside", "Access is refused"),
        ),
        pytest.param(
            link("x", "/proc/self/root"),
            "x/etc/passwd",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "A link points to `/proc/self/root`", "Access is refused as outside"),
        ),
        pytest.param(
            link("x", "/proc/self/cwd"),
            "x/file",
            WHOLLY_OUT,
            marks=pytest.mark.fault("workspace", "A link points to `/proc/self/cwd`", "Access is refused as outside"),
        ),
        pytest.param(
            link("x", "/proc/self/fd"),
            "x/0",
            WHOLLY_OUT,
            marks=pytest.mark.fault(
                "workspace", "A link points to the descriptors of the adapter", "Access is refused as outside"
            ),
        ),
        pytest.param(
            link("x", "/dev/fd/0"),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace", "A link points to the standard input of the adapter", "Access is refused as outside"
            ),
        ),
        pytest.param(
            link("x", "/proc/self/environ"),
            "x",
            OUT,
            marks=pytest.mark.fault(
                "workspace", "A link points to the environment of the adapter", "Access is refused as outside"
            ),
        ),
        pytest.param(
            link("x", "/dev/zero"),
            "x",
            OUT,
            marks=pytest.mark.fault("workspace", "A link points to an endless device", "Access is refused as outside"),
        ),
        pytest.param(
            link("x", "//proc/self/root"),
            "x/etc/passwd",
            WHOLLY_OUT,
            marks=pytest.mark.fault(
                "workspace", "An absolute link starts with two slashes", "Access is refused as outside"
            ),
        ),
        pytest.param(
            hard_link("x"),
            "x",
            dict.fromkeys(("read", "digest", "replace"), "hard_linked")
            | {"overwrite": WRITTEN, "create": "exists", "delete": None, "directory": "not_a_directory"},
            marks=pytest.mark.fault(
                "workspace",
                "A file is a hard link to a file outside",
                "Reading is refused; writing and deleting change only this name",
            ),
        ),
        pytest.param(
            both(hard_link("y"), link("x", "y")),
            "x",
            dict.fromkeys(("read", "digest", "replace"), "hard_linked"),
            marks=pytest.mark.fault(
                "workspace", "A link points to a hard link to a file outside", "Reading is refused"
            ),
        ),
        pytest.param(
            fifo("x"),
            "x",
            SPECIAL,
            marks=pytest.mark.fault(
                "workspace", "A FIFO has no writer", "Access is refused at once; the FIFO can be deleted"
            ),
        ),
        pytest.param(
            both(fifo("y"), link("x", "y")),
            "x",
            SPECIAL,
            marks=pytest.mark.fault("workspace", "A link points to a FIFO inside", "Access is refused at once"),
        ),
        pytest.param(
            unix_socket("x"),
            "x",
            SPECIAL,
            marks=pytest.mark.fault(
                "workspace", "The path names a socket", "Access is refused; the socket can be deleted"
            ),
        ),
        pytest.param(
            device("x"),
            "x",
            SPECIAL,
            marks=pytest.mark.fault(
                "workspace", "The path names a device", "The device is refused and never opened; it can be deleted"
            ),
        ),
        pytest.param(
            directory("x/y"),
            "x",
            IS_DIRECTORY,
            marks=pytest.mark.fault(
                "workspace", "A file operation names a directory", "Access is refused as a directory"
            ),
        ),
        pytest.param(
            file("x"),
            "x/y",
            NOT_A_DIRECTORY,
            marks=pytest.mark.fault(
                "workspace", "A directory on the path is a file", "Access is refused as not a directory"
            ),
        ),
        pytest.param(
            fifo("x"),
            "x/y",
            NOT_A_DIRECTORY,
            marks=pytest.mark.fault(
                "workspace", "A directory on the path is a FIFO", "Access is refused as not a directory"
            ),
        ),
        pytest.param(
            nothing,
            "/etc/passwd",
            BAD,
            marks=pytest.mark.fault("workspace", "A path is absolute", "The path is refused as a bad name"),
        ),
        pytest.param(
            nothing,
            "../outside/secret.txt",
            BAD,
            marks=pytest.mark.fault("workspace", "A path starts with `..`", "The path is refused as a bad name"),
        ),
        pytest.param(
            directory("a"),
            "a/../b",
            BAD,
            marks=pytest.mark.fault(
                "workspace", "A path contains `..` in the middle", "The path is refused as a bad name"
            ),
        ),
        pytest.param(
            directory("a"),
            "a/..",
            BAD,
            marks=pytest.mark.fault("workspace", "A path ends with `..`", "The path is refused as a bad name"),
        ),
        pytest.param(
            nothing,
            "a\0b",
            BAD,
            marks=pytest.mark.fault("workspace", "A path contains NUL", "The path is refused as a bad name"),
        ),
        pytest.param(
            nothing,
            "a\udcffb",
            BAD,
            marks=pytest.mark.fault(
                "workspace", "A path contains a lone surrogate", "The path is refused as a bad name"
            ),
        ),
        pytest.param(
            nothing,
            "x" * 256,
            BAD,
            marks=pytest.mark.fault("workspace", "A name has 256 bytes", "The path is refused as a bad name"),
        ),
        pytest.param(
            nothing,
            "ü" * 128,
            BAD,
            marks=pytest.mark.fault(
                "workspace", "A name has 128 characters and 256 bytes", "The path is refused as a bad name"
            ),
        ),
        pytest.param(
            nothing,
            "x" * 255,
            ABSENT,
            marks=pytest.mark.fault("workspace", "A name has 255 bytes", "The file is written like any other"),
        ),
        pytest.param(
            nothing,
            "x/" * 2048 + "y",
            BAD,
            marks=pytest.mark.fault("workspace", "A path has 4097 bytes", "The path is refused as a bad name"),
        ),
        pytest.param(
            nothing,
            "x/" * 129 + "y",
            {"read": "not_found", "overwrite": "bad_name", "create": "bad_name"},
            marks=pytest.mark.fault(
                "workspace", "A path has 129 directories", "The path is refused as a bad name and no directory remains"
            ),
        ),
        pytest.param(
            nothing,
            "",
            BAD_FILE | {"directory": []},
            marks=pytest.mark.fault(
                "workspace", "The path is empty", "It is refused for a file and means the root for a directory"
            ),
        ),
        pytest.param(
            nothing,
            ".",
            BAD_FILE | {"directory": []},
            marks=pytest.mark.fault(
                "workspace", "The path is `.`", "It is refused for a file and means the root for a directory"
            ),
        ),
        pytest.param(
            directory("a"),
            "a/",
            BAD_FILE | {"directory": []},
            marks=pytest.mark.fault("workspace", "A path ends with a slash", "It is refused for a file"),
        ),
        pytest.param(
            directory("a"),
            "a/.",
            BAD_FILE | {"directory": []},
            marks=pytest.mark.fault("workspace", "A path ends with `/.`", "It is refused for a file"),
        ),
        pytest.param(
            both(directory("a"), file("a/x")),
            "./a//./x",
            INSIDE,
            marks=pytest.mark.fault(
                "workspace", "A path contains `./` and `//`", "The path is equivalent to the path without them"
            ),
        ),
        pytest.param(
            nothing,
            ".codex-adapter-0123456789abcdef-0123456789abcdef",
            BAD,
            marks=pytest.mark.fault(
                "workspace", "The path names a temporary file of the adapter", "The path is refused as a bad name"
            ),
        ),
        pytest.param(
            file("e\u0301"),
            "\u00e9",
            ABSENT,
            marks=pytest.mark.fault(
                "workspace", "A name differs from a file's only in its Unicode normalization", "It names another file"
            ),
        ),
        pytest.param(
            file("README"),
            "readme",
            ABSENT,
            marks=pytest.mark.fault(
                "workspace", "A name differs from a file's only in its case", "It names another file"
            ),
        ),
        pytest.param(
            file("a\nb"),
            "a\nb",
            INSIDE,
            marks=pytest.mark.fault("workspace", "A name contains a line feed", "It is an ordinary name"),
        ),
        pytest.param(
            file("..."),
            "...",
            INSIDE,
            marks=pytest.mark.fault("workspace", "A name is three dots", "It is an ordinary name"),
        ),
        pytest.param(
            file("a\\..\\b"),
            "a\\..\\b",
            INSIDE,
            marks=pytest.mark.fault("workspace", "A name contains backslashes", "It is an ordinary name"),
        ),
        pytest.param(
            nothing,
            "%2e%2e/outside/secret.txt",
            ABSENT,
            marks=pytest.mark.fault("workspace", "A name contains percent-encoded dots", "It is an ordinary name"),
        ),
        pytest.param(
            nothing,
            "~/x",
            ABSENT,
            marks=pytest.mark.fault("workspace", "A directory is named `~`", "It is an ordinary name"),
        ),
        pytest.param(
            file("x", 0o6755),
            "x",
            INSIDE,
            marks=pytest.mark.fault("workspace", "A file has set-id bits", "Its replacement has none"),
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
