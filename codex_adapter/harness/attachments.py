"""Sort the attachments of a prompt into images for the model and paths of other files for the agent (U10)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from codex_adapter.own_directories import remove_tree
from codex_adapter.turn_errors import TurnError

__all__ = ["Attachments", "Image", "link_images", "sort_attachments"]

_HEAD: Final = 16
_LARGEST_IMAGE: Final = 50 * 1024 * 1024
_SIGNATURES: Final = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}


class Image(NamedTuple):
    """The path of an image, and its format: `png`, `jpeg`, `gif` or `webp`."""

    path: str
    format: str


class Attachments(NamedTuple):
    """The images and the paths of other files."""

    images: tuple[Image, ...]
    files: tuple[str, ...]

    def prompt(self, prompt: str) -> str:
        """Return the prompt with the other files listed at its end."""
        if not self.files:
            return prompt
        named = "\n".join(f"- {path}" for path in self.files)
        return f"{prompt}\n\nAttached files:\n{named}\n"


def sort_attachments(paths: Sequence[str]) -> Attachments:
    """Sort files by their content. Block on files. Raise `TurnError` if a path is not a readable file. (U10)"""
    images: list[Image] = []
    files: list[str] = []
    for number, path in enumerate(paths):
        what = f"attachments[{number}]"
        if not path.startswith("/"):
            raise TurnError(f"{what} must be an absolute path")
        head, size = _head(path, what)
        kind = _image_kind(head)
        if kind is not None:
            if size > _LARGEST_IMAGE:
                raise TurnError(f"{what} is an image of more than {_LARGEST_IMAGE >> 20} MiB. Make it smaller.")
            images.append(Image(path, kind))
        elif path.isprintable():
            files.append(path)
        else:
            raise TurnError(f"{what} must have only printable characters in its path")
    return Attachments(tuple(images), tuple(files))


def link_images(images: Sequence[Image], directory: Path, is_readable: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the paths of images for the CLI. Replace a path that is not readable for it with a link in `directory`.

    The name of a link is a number, with the format as its extension. Remove the links of earlier turns. Block on files,
    and raise OSError.
    """
    remove_tree(directory)
    directory.mkdir(mode=0o700)
    paths: list[str] = []
    for number, image in enumerate(images):
        if is_readable(image.path):
            paths.append(image.path)
        else:
            link = directory / f"{number}.{image.format}"
            link.symlink_to(image.path)
            paths.append(str(link))
    return tuple(paths)


def _head(path: str, what: str) -> tuple[bytes, int]:
    """Return the first bytes of a file, and its size. Do not block on a path that is not a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        raise TurnError(f"{what} does not exist or cannot be read") from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise TurnError(f"{what} must be a regular file")
        return os.read(descriptor, _HEAD), facts.st_size
    except OSError:
        raise TurnError(f"{what} cannot be read") from None
    finally:
        os.close(descriptor)


def _image_kind(head: bytes) -> str | None:
    """Return the image format of a file's content, or None if it is not an image."""
    for signature, kind in _SIGNATURES.items():
        if head.startswith(signature):
            return kind
    return "webp" if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else None
