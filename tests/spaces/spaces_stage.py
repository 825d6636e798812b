"""Build an `aspHome` with spaces, file by file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

__all__ = ["Home", "everything", "make_space", "write_files"]


def write_files(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their paths below a directory."""
    for path, content in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content.encode() if isinstance(content, str) else content)


def make_space(
    directory: Path,
    id_: str,
    version: str | None = None,
    deps: Iterable[str] = (),
    more: str = "",
    files: Mapping[str, str | bytes] = {},
) -> Path:
    """Write a space; `more` are lines at the end of its space.toml."""
    lines = ["schema = 1", f'id = "{id_}"', *([f'version = "{version}"'] if version else [])]
    lines += [f"deps = [{', '.join(map(repr, deps))}]", more]
    write_files(directory, {"space.toml": "\n".join(lines), **files})
    return directory


class Home:
    """An `aspHome`, and a project beside it."""

    def __init__(self, root: Path) -> None:
        self.path: Final = root / "home"
        self.project: Final = root / "project"
        self.path.mkdir()
        self.project.mkdir()

    @property
    def registry(self) -> Path:
        return self.path / "registry"

    @property
    def store(self) -> Path:
        return self.path / "state" / "store"

    def publish(
        self,
        id_: str,
        version: str,
        deps: Iterable[str] = (),
        more: str = "",
        files: Mapping[str, str | bytes] = {},
    ) -> Path:
        """Put a version, or `dev`, into the registry at one stroke."""
        place = self.registry / id_ / version
        new = place.with_name(f".{version}.{os.getpid()}")
        make_space(new, id_, None if version == "dev" else version, deps, more, files)
        new.rename(place)
        return place

    def targets(self, text: str) -> None:
        """Write the project's asp-targets.toml."""
        (self.project / "asp-targets.toml").write_text(f"schema = 1\n{text}")


def everything(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """All below a directory: modes, times of change, and contents of files."""
    return {
        str(path): (status.st_mode, status.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
        for status in [path.lstat()]
    }
