"""Copies of spaces by their digests, each whole or not there (Z7)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codex_adapter.durable import write_all
from codex_adapter.spaces.content import Content, NewFile, read_content
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.removal import remove
from codex_adapter.spaces.retention import aside, mark_used, remove_unused
from codex_adapter.spaces.state import State, make_private, unwritable

__all__ = ["Store"]

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Store:
    """What a turn is given lies here, so that nobody changes it under a turn's feet (Z7)."""

    def __init__(self, state: State) -> None:
        self._state = state

    def directory(self, digest: str) -> Path:
        """Where the copy of this content is, or would be."""
        return self._state.store / digest

    def content(self, digest: str) -> Content | None:
        """What the copy holds, looked at again; None where there is none, or one that somebody changed (Z7)."""
        try:
            content = read_content(self.directory(digest))
        except SpaceError:
            return None
        return content if content.digest == digest else None

    def keep(self, source: Path, digest: str) -> Path:
        """Have a copy of a directory with this content, and its place (Z7).

        Raises `SpaceError`, also where the directory has other content by now.
        """
        may_go = mark_used(self.directory(digest))
        if may_go or self.content(digest) is None:
            with self._state.for_ourselves():
                copied = self.content(digest) or self._copied(source)
            if copied.digest != digest:
                raise SpaceError("it changes while it is read; try again")
        return self.directory(digest)

    def _copied(self, source: Path) -> Content:
        remove_unused(self._state)
        new = aside(self._state.store, "new")
        with _in_our_words():
            make_private(new)
        try:
            content = read_content(source, _new_files(new))
            if self.content(content.digest) is None:
                with _in_our_words():
                    self._put(new, self.directory(content.digest))
        finally:
            with suppress(OSError):
                remove(new)
        return content

    def _put(self, new: Path, place: Path) -> None:
        if not os.path.lexists(place):
            new.rename(place)
            return
        old = place.rename(aside(self._state.store, "old"))
        new.rename(place)
        with suppress(OSError):
            remove(old)


def _new_files(root: Path) -> NewFile:
    @contextmanager
    def new_file(path: str, executable: bool) -> Iterator[Callable[[bytes], None]]:
        with _in_our_words():
            _make_parents(root, (root / path).parent)
            fd = os.open(root / path, _NEW_FILE, 0o600)

        def write(chunk: bytes) -> None:
            with _in_our_words():
                write_all(fd, chunk)

        try:
            yield write
            with _in_our_words():
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
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(error) from None
