"""Generate random answers for rounds of kills, some of them malformed."""

from __future__ import annotations

import codecs
from random import Random
from typing import Final, NamedTuple

__all__ = ["LEDGER", "InboxFile", "Planned", "batches"]

LEDGER: Final = "ledger"
"""The file beside the workspace to which each command adds its mark."""
_PATHS: Final = ("a", "b.txt", "d/c", "d/e/é")
_MUCH: Final = f"{'x' * 2000}\n[... 96000 bytes left out ...]\n{'x' * 2000}"
_COMMANDS: Final = (
    ("echo {mark} >> ../ledger", 0, ""),
    ("sleep 0.1; echo {mark} >> ../ledger", 0, ""),
    ("echo {mark} >> ../ledger; sleep 0.3; echo out; echo {mark}", 0, "out\n{mark}"),
    ("echo {mark} >> ../ledger\nhead -c 100000 /dev/zero | tr '\\0' x", 0, _MUCH),
    ("echo {mark} >> ../ledger; sleep 60 & setsid sleep 60 & sleep 0.1", 0, ""),
    ("echo {mark} >> ../ledger; echo oops >&2; exit 3", 3, "[stderr]\noops"),
    ("echo {mark} >> ../ledger; kill -9 $$", 137, ""),
)
_RUN: Final = "[RUN_COMMAND]\necho {mark} >> ../ledger\n"
_MALFORMED: Final = (
    ("EDIT_FILE", '[EDIT_FILE path="a" start_line="x" end_line="1"]\nno\n[/EDIT_FILE]\n'),
    ("RUN_COMMAND", "[RUN_COMMAND]\n \n[/RUN_COMMAND]\n"),
    ("READ_FILE", '[READ_FILE file="a"]\n'),
    ("DELETE_FILE", '[DELETE_FILE path="a"] and more\n'),
    ("CREATE_FILE", '[CREATE_FILE path="../out"]\nno\n[/CREATE_FILE]\n'),
    ("RUN_COMMAND", f"{_RUN}{_RUN}[/RUN_COMMAND]\n[/RUN_COMMAND]\n"),
)
_NO_ANSWERS: Final = (b"I am thinking.\n", b"\xc3(\n")
_WORDS: Final = ("", "So far.\n", "```\n", "\n\n", "[create_file]\n")


class Planned(NamedTuple):
    """A command; `mark` is what it writes to the ledger, `status` its exit status, `output` what it prints."""

    name: str
    block: str
    path: str = ""
    content: str = ""
    lines: tuple[int, int] = (0, 0)
    mark: str = ""
    status: int = 0
    output: str = ""
    malformed: bool = False


class InboxFile(NamedTuple):
    """An answer as it is brought; `age` in seconds."""

    name: str
    data: bytes
    age: float
    commands: tuple[Planned, ...]


def batches(random: Random) -> list[list[InboxFile]]:
    """What is brought from time to time, each time some files, the oldest first; the last has `DONE`."""
    count = random.randint(2, 4)
    found: list[list[InboxFile]] = []
    everyone: list[InboxFile] = []
    for number in range(count):
        batch: list[InboxFile] = []
        done_in = random.randrange(3) if number == count - 1 else -1
        for place in range(max(random.choice((1, 1, 2, 3)), done_in + 1)):
            name = f"{random.randrange(100):02d} {number}.{place}{random.choice(('.txt', '.TXT', 'ä.txt'))}"
            age = 1000.0 - number * 100 - place
            again = random.random() < 0.15 and [it for it in everyone if it.commands[-1].name != "DONE"]
            if place == done_in or not again:
                batch.append(_answer(random, f"{number}.{place}", name, age, done=place == done_in))
            else:
                batch.append(random.choice(again)._replace(name=name, age=age))
            everyone.append(batch[-1])
        found.append(batch)
    return found


def _answer(random: Random, mark: str, name: str, age: float, *, done: bool) -> InboxFile:
    if not done and random.random() < 0.08:
        nothing = Planned("ANSWER", "", malformed=True)
        # Each mark makes bytes that no other answer has, as long as it is text.
        return InboxFile(name, mark.encode() + random.choice(_NO_ANSWERS), age, (nothing,))
    commands = [_planned(random, f"{mark}.{place}") for place in range(random.randint(1, 8))]
    if done:
        behind = commands[random.randint(0, len(commands)) :]
        commands = [
            *commands[: len(commands) - len(behind)],
            Planned("DONE", "[DONE]\nIt is done.\n[/DONE]\n"),
            *behind,
        ]
    elif random.random() < 0.1:
        commands.append(Planned("RUN_COMMAND", _RUN.format(mark=f"{mark}.open"), mark=f"{mark}.open", malformed=True))
    text = "".join(random.choice(_WORDS) + command.block for command in commands)
    return InboxFile(name, _encoded(random, f"Answer {mark}\n{text}"), age, tuple(commands))


def _planned(random: Random, mark: str) -> Planned:
    path = random.choice(_PATHS)
    match random.choices(range(7), (6, 5, 2, 3, 6, 2, 2))[0]:
        case 0:
            content = random.choice(
                ("", "a\n", "a b\n \tc\n", f"{mark}\n" * 3, "ü a\n" * random.choice((20_000, 200_000)))
            )
            block = f'[CREATE_FILE path="{path}"]\n{content}[/CREATE_FILE]\n'
            return Planned("CREATE_FILE", block, path, content)
        case 1:
            first = random.choice((1, 1, 1, 2))
            last = first + random.choice((0, 0, 1))
            content = random.choice(("", "a\n", f"{mark}\nz\n"))
            tag = f'[EDIT_FILE path="{path}" start_line="{first}" end_line="{last}"]'
            return Planned("EDIT_FILE", f"{tag}\n{content}[/EDIT_FILE]\n", path, content, (first, last))
        case 2:
            return Planned("DELETE_FILE", f'[DELETE_FILE path="{path}"]\n', path)
        case 3:
            return Planned("READ_FILE", f'[READ_FILE path="{path}"]\n', path)
        case 4:
            command, status, output = random.choice(_COMMANDS)
            block = f"[RUN_COMMAND]\n{command.format(mark=mark)}\n[/RUN_COMMAND]\n"
            return Planned("RUN_COMMAND", block, mark=mark, status=status, output=output.format(mark=mark))
        case 5:
            return Planned("MESSAGE", f"[MESSAGE]\nIt is {mark}.\n[/MESSAGE]\n")
    name, block = random.choice(_MALFORMED)
    return Planned(name, block.format(mark=mark), mark=mark, malformed=True)


def _encoded(random: Random, text: str) -> bytes:
    """In one of the ways in which an answer may be written."""
    match random.choices(range(4), (7, 1, 1, 1))[0]:
        case 0:
            return text.encode()
        case 1:
            return text.replace("\n", "\r\n").encode()
        case 2:
            return codecs.BOM_UTF16_LE + text.encode("utf-16-le")
    return codecs.BOM_UTF8 + text.removesuffix("\n").encode()
