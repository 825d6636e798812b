"""An environment's skills as every release takes them: what the CLI does not like it leaves out in silence (U9)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

from codex_adapter.spaces import Skill

__all__ = ["copy_skill"]

_FILE: Final = "SKILL.md"
_FENCE: Final = "---"


def copy_skill(skill: Skill, skills: Path) -> None:
    """Copy a skill into a directory of them, with a front matter of nothing but its name and description.

    Old releases want a name, and all of them no byte order mark; what they want of other keys differs. Blocks; raises
    OSError.
    """
    copy = skills / skill.name
    _copy(Path(skill.directory), copy)
    file = copy / _FILE
    lines = file.read_bytes().decode("utf-8-sig").split("\n")
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), -1)
    body = "\n".join(lines[end + 1 :])
    # What JSON takes for a text between quotes, YAML does.
    told = (("name", skill.name), ("description", skill.description))
    front = "".join(f"{key}: {json.dumps(text, ensure_ascii=False)}\n" for key, text in told)
    file.chmod(0o600)
    file.write_bytes(f"{_FENCE}\n{front}{_FENCE}\n{body}".encode())


def _copy(source: Path, target: Path) -> None:
    """Copy a directory; what is copied can be removed again, whatever may be done with the source."""
    target.mkdir(mode=0o700)
    for entry in source.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            _copy(entry, target / entry.name)
        else:
            shutil.copy(entry, target / entry.name)
