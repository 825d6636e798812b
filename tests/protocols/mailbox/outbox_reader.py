"""Read an outbox file by the rules alone, as a reference for its writer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from codex_adapter.protocols.mailbox.messages import CommandResult

__all__ = ["Read", "read_outbox"]

SECTIONS = ("HEADER", "PROTOCOL", "CONTEXT", "PROMPT")
MARKER = "=== (?:HEADER|PROTOCOL|CONTEXT|PROMPT) ==="
NO_NEWLINE = "\\ No newline at end of file"


class Read(NamedTuple):
    """All that an outbox file says. Of a file that was asked for there is the content, or the remark without it."""

    session: str
    sequence: int
    task: str
    protocol: str
    files: list[tuple[str, int]]
    not_listed: str
    results: list[CommandResult] | None
    requested: list[tuple[str, str | None, str]]
    prompt: str


def read_outbox(text: str) -> Read:
    """Raises ValueError or IndexError for what is no outbox file."""
    lines = text.split("\n")
    if lines.pop():
        raise ValueError("the last line has no newline")
    marks = [place for place, line in enumerate(lines) if re.fullmatch(MARKER, line)]
    if [lines[place] for place in marks] != [f"=== {name} ===" for name in SECTIONS]:
        raise ValueError("the sections are not those four")
    header, protocol, context = (lines[one + 1 : other - 1] for one, other in pairwise(marks))
    if any(lines[place - 1] for place in marks[1:]):
        raise ValueError("no empty line before a section")
    prompt = [_unescaped(line, MARKER) for line in lines[marks[-1] + 1 :]]
    session, sequence, task = header[0], header[1], [header[2], *header[3:]]
    files, not_listed, rest = _files(context)
    results, rest = _results(rest)
    return Read(
        session=_behind("Session: ", session),
        sequence=int(_behind("Sequence: ", sequence)),
        task="\n".join([_behind("Task: ", task[0]), *(_behind("  ", line) for line in task[1:])]),
        protocol="\n".join(protocol),
        files=files,
        not_listed=not_listed,
        results=results,
        requested=_requested(rest),
        prompt="\n".join(prompt),
    )


def _behind(prefix: str, line: str) -> str:
    if not line.startswith(prefix):
        raise ValueError(f"no {prefix!r} in {line!r}")
    return line[len(prefix) :]


def _unescaped(line: str, ours: str) -> str:
    return (
        line.replace("\\", "", 1) if re.fullmatch(rf"[\s\ufeff\u200b]*\\+(?:{ours})[\s\ufeff\u200b]*", line) else line
    )


def _files(lines: Sequence[str]) -> tuple[list[tuple[str, int]], str, list[str]]:
    _behind("## Workspace Files", lines[0])
    files: list[tuple[str, int]] = []
    not_listed = ""
    for place, line in enumerate(lines[1:], 1):
        if not line:
            return files, not_listed, list(lines[place + 1 :])
        if found := re.fullmatch(r"  (.*) \(([0-9]+) bytes\)", line):
            files.append((found[1], int(found[2])))
        else:
            not_listed = line
    return files, not_listed, []


def _results(lines: list[str]) -> tuple[list[CommandResult] | None, list[str]]:
    if not lines or lines[0] != "## Previous Command Results":
        return None, lines
    results: list[CommandResult] = []
    for place, line in enumerate(lines[1:], 1):
        if not line:
            return results, lines[place + 1 :]
        if found := re.fullmatch(r"\[(OK|FAILED)\] (.*?): (.*)", line):
            results.append(CommandResult(found[2], success=found[1] == "OK", summary=found[3]))
        elif line.startswith("  Output: "):
            results[-1] = CommandResult(
                results[-1].command,
                success=results[-1].success,
                summary=results[-1].summary,
                output=_behind("  Output: ", line),
            )
        elif line != "(none)" or results:
            last = results[-1]
            output = f"{last.output}\n{_behind('    ', line)}"
            results[-1] = CommandResult(last.command, success=last.success, summary=last.summary, output=output)
    return results, []


def _requested(lines: list[str]) -> list[tuple[str, str | None, str]]:
    if not lines:
        return []
    _behind("## Requested File Contents", lines[0])
    found = []
    lines = lines[1:]
    while lines:
        path = lines[0].removeprefix("--- ").removesuffix(" ---")
        end = lines.index(f"--- end {path} ---")
        if lines[end + 1 : end + 2] not in ([], [""]):
            raise ValueError("no empty line behind a content")
        found.append((path, *_content(lines[1:end], path)))
        lines = lines[end + 2 :]
    return found


def _content(lines: list[str], path: str) -> tuple[str | None, str]:
    if len(lines) == 1 and re.fullmatch(r"\(.*\)", lines[0]):
        return None, lines[0][1:-1]
    if len(lines) == 1 and re.fullmatch(r"\\+\(.*\)", lines[0]):
        return lines[0][1:] + "\n", ""
    last = ""
    if lines and lines[-1] == NO_NEWLINE:
        lines, last = lines[:-1], NO_NEWLINE
    ours = rf"{MARKER}|--- end {re.escape(path)} ---|\\ No newline at end of file"
    content = "".join(f"{_unescaped(line, ours)}\n" for line in lines)
    return (content[:-1] if last else content), ""
