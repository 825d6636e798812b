"""Compare the mailbox, workspace and ledger of a session with those of an undisturbed session."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Final

from .kills_records import Came, read_journal

__all__ = ["differences"]

_UNKNOWN: Final = "was running when the adapter was killed. Its outcome is unknown, and it was not run again"


def differences(due: Path, place: Path) -> list[str]:
    """What is not as in `due`, but for commands that were under way: of these it must be told, and none ran twice."""
    wrong: list[str] = []
    due_files, files = _files(due), _files(place)
    replaced: dict[bytes, bytes] = {}
    ran: Counter[str] = Counter()
    journals = [name for name in due_files if name.endswith(".jsonl")]
    for name in journals:
        results = _journal(place, name)
        for expected, came in zip(_journal(due, name), results, strict=False):
            if came != expected and came.command == "RUN_COMMAND" and came.summary.endswith(_UNKNOWN):
                replaced |= _replacements(expected, came)
                ran[_mark(came)] -= 1
            elif came != expected:
                wrong.append(f"{name}: {came}; due was {expected}")
        if len(results) != len(_journal(due, name)):
            wrong.append(f"{name}: {len(results)} results")
        del due_files[name]
        files.pop(name, None)
    for name in sorted(due_files.keys() | files.keys()):
        content = due_files.get(name)
        for before, after in replaced.items():
            content = content and content.replace(before, after)
        if name == "ledger":
            least = Counter((content or b"").decode().split())
            marks = Counter(files.get(name, b"").decode().split())
            if any(not least[mark] + ran[mark] <= marks[mark] <= least[mark] for mark in least | marks):
                wrong.append(f"ledger: {marks}; due was {least}, of which unknown are {list(ran)}")
        elif files.get(name) != content:
            wrong.append(f"{name}: {files.get(name)!r}; due was {content!r}")
    return wrong


def _files(place: Path) -> dict[str, bytes]:
    """All files by their names, each id of a session made the same; what a killed beginning leaves does not count."""
    (current,) = (path.stem for path in (place / "mailbox" / "sessions").glob("*.json"))
    found: dict[str, bytes] = {}
    for path in place.rglob("*"):
        name = str(path.relative_to(place))
        first = re.match(r"[0-9a-f]{8}(?=[._])", path.name)
        foreign = "mailbox/" in name and first is not None and first[0] != current
        if path.is_file() and path.name != "lock" and not foreign:
            content = path.read_bytes()
            if name.startswith("mailbox/"):
                content = content.replace(current.encode(), b"SESSION0")
            found[name.replace(current, "SESSION0")] = content
    return found


def _journal(place: Path, name: str) -> list[Came]:
    (current,) = (path.stem for path in (place / "mailbox" / "sessions").glob("*.json"))
    path = place / name.replace("SESSION0", current)
    return read_journal(path) if path.exists() else []


def _mark(came: Came) -> str:
    found = re.search(r"echo (\w+) >>", came.summary)
    assert found is not None, came
    return found[1]


def _replacements(expected: Came, came: Came) -> dict[bytes, bytes]:
    """What stands in the outbox and in the session's file in the place of a result."""
    status = "OK" if expected.success else "FAILED"
    output = "" if not expected.output else "  Output: " + expected.output.replace("\n", "\n    ") + "\n"
    shown = f"[{status}] RUN_COMMAND: {expected.summary}\n{output}".encode()
    return {shown: f"[FAILED] RUN_COMMAND: {came.summary}\n".encode(), _json(expected): _json(came)}


def _json(came: Came) -> bytes:
    """As in the session's file, where it is one of a list."""
    members: dict[str, Any] = {"command": came.command, "success": came.success, "summary": came.summary}
    if came.output:
        members["output"] = came.output
    text = json.dumps(members, indent=2, ensure_ascii=False).replace("\n", "\n    ")
    return text.encode()
