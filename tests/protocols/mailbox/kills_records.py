"""Read the journals, outboxes and answers of a session without the code of the product."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..operations.kills_model import check

__all__ = ["Came", "OutboxText", "read_journal", "read_outbox", "taken_up"]

_SECTIONS: Final = ("HEADER", "PROTOCOL", "CONTEXT", "PROMPT")
_RESULT: Final = re.compile(r"\[(OK|FAILED)\] (\w+): (.*)")
_KEPT: Final = re.compile(r"([0-9a-f]{8})_seq([0-9]{4,})_([0-9]{2,})_(.*)", re.DOTALL)


class Came(NamedTuple):
    """What came of a command."""

    position: int
    place: int
    command: str
    success: bool
    summary: str
    output: str
    requested: str | None = None


class OutboxText(NamedTuple):
    """What an outbox says."""

    header: dict[str, str]
    protocol: str
    prompt: str
    files: list[str]
    results: list[tuple[bool, str, str, str]]
    """Success, command, summary, output."""
    requested: dict[str, str]
    """By its path, the lines of a file."""


def read_journal(path: Path) -> list[Came]:
    """The results of a round, in the order of their commands. Raises Broken where one has two, or was begun twice."""
    answers: list[int] = []
    begun: list[tuple[int, int]] = []
    finished: dict[tuple[int, int], Came] = {}
    for line in path.read_bytes().splitlines():
        record: dict[str, Any] = json.loads(line)
        place = (record["position"], record.get("index", -1))
        if record["type"] == "Answer":
            answers.append(place[0])
        elif record["type"] == "Begun":
            check(place[0] in answers and place not in finished, record)
            begun.append(place)
        else:
            check(place[0] in answers and place not in finished, record)
            finished[place] = came(place, record["result"], record.get("requested"))
    check(sorted(set(begun)) == sorted(begun) and begun == sorted(begun), f"begun: {begun}")
    check(answers == list(range(1, len(answers) + 1)), f"answers: {answers}")
    check(set(begun) <= set(finished), f"begun: {begun}, finished: {list(finished)}")
    return [finished[place] for place in sorted(finished)]


def came(place: tuple[int, int], result: dict[str, Any], requested: str | None = None) -> Came:
    """A result as a file or a line of output has it."""
    return Came(*place, result["command"], result["success"], result["summary"], result.get("output", ""), requested)


def read_outbox(text: str) -> OutboxText:
    """Raises Broken for what is no outbox."""
    lines = text.split("\n")
    marks = [f"=== {name} ===" for name in _SECTIONS]
    check([line for line in lines if line in marks] == marks and lines[0] == marks[0] and lines[-1] == "", text)
    places = [lines.index(mark) for mark in marks]
    header, protocol, context, prompt = (
        lines[first + 1 : last] for first, last in zip(places, [*places[1:], len(lines)], strict=True)
    )
    files, rest = _heading(context, "## Workspace Files", "## Previous Command Results")
    results, rest = _heading(rest, "## Previous Command Results", "## Requested File Contents")
    return OutboxText(
        dict(line.split(": ", 1) for line in header if ": " in line and not line.startswith("  ")),
        "\n".join(protocol),
        "\n".join(prompt).strip("\n"),
        [line for line in files if line],
        _results(results),
        _requested(rest[1:]),
    )


def taken_up(processed: Path, session: str) -> dict[int, list[tuple[str, bytes]]]:
    """The answers of each round, in their order, by the name that they came with. Raises Broken for others."""
    found: dict[int, dict[int, tuple[str, bytes]]] = {}
    for path in processed.iterdir():
        name = _KEPT.fullmatch(path.name)
        assert name is not None, path.name
        round_ = found.setdefault(int(name[2]), {})
        check(name[1] == session and int(name[3]) not in round_, path.name)
        round_[int(name[3])] = (name[4], path.read_bytes())
    for round_ in found.values():
        check(sorted(round_) == list(range(1, len(round_) + 1)), sorted(round_))
    return {sequence: [round_[place] for place in sorted(round_)] for sequence, round_ in found.items()}


def _heading(lines: list[str], heading: str, behind: str) -> tuple[list[str], list[str]]:
    """The lines below a heading, and those from the next one on; there may be neither."""
    if not lines or heading not in lines:
        return [], lines
    first = lines.index(heading)
    last = lines.index(behind) if behind in lines else len(lines)
    return lines[first + 1 : last], lines[last:]


def _results(lines: list[str]) -> list[tuple[bool, str, str, str]]:
    found: list[tuple[bool, str, str, str]] = []
    for line in lines:
        result = _RESULT.fullmatch(line)
        if result is not None:
            found.append((result[1] == "OK", result[2], result[3], ""))
        elif line:
            check(line.startswith("  Output: ") if not found[-1][3] else line.startswith("    "), line)
            *before, output = found[-1]
            added = f"{output}\n{line[4:]}" if output else line.removeprefix("  Output: ")
            found[-1] = (*before, added)  # type: ignore[assignment]
    return found


def _requested(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    rest = iter(lines)
    for line in rest:
        if not line:
            continue
        check(line.startswith("--- ") and line.endswith(" ---") and line[4:-4] not in found, line)
        path = line[4:-4]
        content: list[str] = []
        for within in rest:
            if within == f"--- end {path} ---":
                break
            content.append(within)
        else:
            check(False, f"no end of {path}")
        found[path] = "".join(f"{it}\n" for it in content)
    return found
