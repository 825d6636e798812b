"""Copy skills in a form that every CLI accepts: some releases silently omit others (U9)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

from codex_adapter.durable import write_new
from codex_adapter.spaces import Skill

__all__ = ["copy_skill"]

_FILE: Final = "SKILL.md"
_FENCE: Final = "---"


def copy_skill(skill: Skill, skills: Path) -> None:
    """Copy a skill into the directory `skills`, with only its name and description in the front matter.

    Releases of CLIs differ in what they accept. Other keys of the front matter can extend the agent's permissions.
    Block on files, and raise OSError.
    """
    copy = skills / skill.name
    _copy(Path(skill.directory), copy)
    file = copy / _FILE
    lines = file.read_bytes().decode("utf-8-sig").split("\n")
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), -1)
    body = "\n".join(lines[end + 1 :])
    # A JSON string is a YAML string.
    keys = (("name", skill.name), ("description", skill.description))
    front = "".join(f"{key}: {json.dumps(text, ensure_ascii=False)}\n" for key, text in keys)
    file.unlink()
    write_new(file, f"{_FENCE}\n{front}{_FENCE}\n{body}".encode())


def _copy(source: Path, target: Path) -> None:
    """Copy a directory. Make the copy removable, whatever the permissions of the source."""
    target.mkdir(mode=0o700)
    for entry in source.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            _copy(entry, target / entry.name)
        else:
            shutil.copy(entry, target / entry.name)
