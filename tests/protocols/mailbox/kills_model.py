"""Predict each result of a session's answers, independent of kills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..operations.kills_model import check
from .kills_answers import InboxFile, Planned
from .kills_records import Came

__all__ = ["Due", "Model", "due"]

UNKNOWN: Final = "was running when the adapter was killed"
_MOST_SHOWN: Final = 262_144


class Due(NamedTuple):
    """A command that must have one result, at its place in a round; `said` is what an error of an answer tells."""

    position: int
    place: int
    planned: Planned
    said: str = ""


def due(answers: Sequence[InboxFile]) -> list[Due]:
    """The commands of a round, in their order: nothing of what is the same twice, or stands behind `DONE`."""
    refused = Planned("ANSWER", "", malformed=True)
    found: list[Due] = []
    seen: set[bytes] = set()
    over = False
    for position, answer in enumerate(answers, 1):
        if over or answer.data in seen:
            found.append(Due(position, 0, refused, "after DONE" if over else "the same as another"))
            continue
        seen.add(answer.data)
        for index, planned in enumerate(answer.commands):
            if over:
                left = len(answer.commands) - index
                found.append(Due(position, index, refused, f"{left} more commands after DONE"))
                break
            found.append(Due(position, index, planned))
            over = planned.name == "DONE"
    return found


class Model:
    """The files of a workspace, and the marks of its commands: how often each may be in the ledger."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.unknown = 0
        self.commands = 0
        self._most: Counter[str] = Counter()
        self._least: Counter[str] = Counter()

    def take(self, round_: Sequence[Due], came: Sequence[Came]) -> list[str]:
        """See that the results of a round are those that are due, and do what they say: the files that are asked for.

        Raises Broken.
        """
        places = [(it.position, it.place) for it in round_]
        check([(it.position, it.place) for it in came] == places, f"results of {came}, due are {places}")
        asked: list[str] = []
        for each, result in zip(round_, came, strict=True):
            planned = each.planned
            self.commands += 1
            check(result.command == planned.name and each.said in result.summary, f"{result}; due was {each}")
            check(
                result.requested == (planned.path if planned.name == "READ_FILE" and result.success else None), result
            )
            if planned.malformed:
                check(not result.success, result)
            elif planned.name == "RUN_COMMAND":
                self._ran(planned, result)
            else:
                success = self._succeeds(planned)
                said = "It is done." if planned.name == "DONE" else ""
                check((result.success, result.output) == (success, said), f"{result}; due was success: {success}")
            if result.requested:
                asked.append(result.requested)
        return list(dict.fromkeys(asked))

    def look_at(self, root: Path, ledger: Path) -> None:
        """See that a workspace and a ledger have what the results say, and nothing else. Raises Broken."""
        there = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        check(there == self.files, f"files: {sorted(there)}, due are {sorted(self.files)}")
        marks = Counter(ledger.read_text().split() if ledger.exists() else ())
        wrong = {mark: count for mark, count in marks.items() if count > self._most[mark]}
        missing = [mark for mark, count in self._least.items() if marks[mark] < count]
        check(not wrong and not missing, f"run too often: {wrong}, not run: {missing}")

    def shown(self, path: str) -> str | None:
        """The text of a file that was asked for; None where it is not shown."""
        content = self.files.get(path)
        return None if content is None or len(content) > _MOST_SHOWN else content.decode()

    def _ran(self, planned: Planned, result: Came) -> None:
        self._most[planned.mark] += 1
        if UNKNOWN in result.summary:
            self.unknown += 1
            check(not result.success and not result.output, result)
            return
        self._least[planned.mark] += 1
        check(f"(exit code {planned.status})" in result.summary, result)
        check((result.success, result.output) == (planned.status == 0, planned.output), result)

    def _succeeds(self, planned: Planned) -> bool:
        """Whether a command does what it is to do; it does it."""
        before = self.files.get(planned.path)
        match planned.name:
            case "CREATE_FILE":
                self.files[planned.path] = planned.content.encode()
            case "EDIT_FILE":
                lines = (before or b"").splitlines(keepends=True)
                first, last = planned.lines
                if before is None or last > len(lines):
                    return False
                lines[first - 1 : last] = [planned.content.encode()]
                self.files[planned.path] = b"".join(lines)
            case "DELETE_FILE":
                return self.files.pop(planned.path, None) is not None
            case "READ_FILE":
                return self.shown(planned.path) is not None
        return True
