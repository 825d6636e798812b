"""Store copies of spaces by their digests, each complete or absent (Z7)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter.durable import write_all
from codex_adapter.own_directories import make_private, remove_tree
from codex_adapter.spaces.content import Content, NewFile, read_content
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.retention import make_unused_name, mark_used, remove_unused
from codex_adapter.spaces.state import State, unwritable

__all__ = ["Store"]

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Store:
    """The copies of one `aspHome`. A turn uses a copy, which does not change while the turn runs (Z7)."""

    def __init__(self, state: State) -> None:
        self._state = state

    def directory(self, digest: str) -> Path:
        """Return the directory for the copy of this content. It may not exist."""
        return self._state.store / digest

    def content(self, digest: str) -> Content | None:
        """Read the copy again. Return None if it does not exist or was changed (Z7)."""
        try:
            content = read_content(self.directory(digest))
        except SpaceError:
            return None
        return content if content.digest == digest else None

    def keep(self, source: Path, digest: str) -> Path:
        """Copy a directory with this content, unless the copy exists. Return the copy's directory.

        Raises `SpaceError`, also if the directory has other content by now (Z7).
        """
        may_be_removed = mark_used(self.directory(digest))
        if may_be_removed or self.content(digest) is None:
            with self._state.exclusive():
                copied = self.content(digest) or self._copy(source)
            if copied.digest != digest:
                raise SpaceError("it changes while it is read. Try again.")
        return self.directory(digest)

    def _copy(self, source: Path) -> Content:
        remove_unused(self._state)
        new = make_unused_name(self._state.store, "new")
        with _as_space_error():
            make_private(new)
        try:
            content = read_content(source, _make_new_file(new))
            if self.content(content.digest) is None:
                with _as_space_error():
                    self._put(new, self.directory(content.digest))
        finally:
            with suppress(OSError):
                remove_tree(new)
        return content

    def _put(self, new: Path, place: Path) -> None:
        if not os.path.lexists(place):
            new.rename(place)
            return
        old = place.rename(make_unused_name(self._state.store, "old"))
        new.rename(place)
        with suppress(OSError):
            remove_tree(old)


def _make_new_file(root: Path) -> NewFile:
    @contextmanager
    def new_file(path: str, executable: bool) -> Iterator[Callable[[bytes], None]]:
        with _as_space_error():
            _make_parents(root, (root / path).parent)
            fd = os.open(root / path, _NEW_FILE, 0o600)

        def write(chunk: bytes) -> None:
            with _as_space_error():
                write_all(fd, chunk)

        try:
            yield write
            with _as_space_error():
                os.fchmod(fd, 0o500 if executable else 0o400)
        finally:
            os.close(fd)

    return new_file


def _make_parents(root: Path, directory: Path) -> None:
    missing = []
    while directory != root and not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for parent in reversed(missing):
        make_private(parent)


@contextmanager
def _as_space_error() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(error) from None
