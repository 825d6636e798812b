"""Generate random batches of all operations for rounds of kills, with the verdicts of the policy."""

from __future__ import annotations

from random import Random
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from .workbench import Message, shell

__all__ = ["LARGE", "TRACE", "Batch", "Planned", "batches"]

TRACE: Final = "trace"
"""The file to which each command adds its mark."""
LARGE: Final = "large"
"""A file that is there, and whose content is never written at one stroke."""
_FREE: Final = ("a", "b.txt", "d/c", "d/e/é")
_HELD: Final = (".env", "d/.env")
_COMMANDS: Final = (
    "echo {mark} >> trace",
    "sleep 0.1; echo {mark} >> trace",
    "echo {mark} >> trace; sleep 0.3",
    "echo {mark} >> trace; head -c 100000 /dev/zero | tr '\\0' x",
    "echo {mark} >> trace; sleep 60 & setsid sleep 60 & sleep 0.1",
    "echo {mark} >> trace; exit 3",
    "echo {mark} >> trace; kill -9 $$",
)
_INVALID: Final[tuple[Any, ...]] = (
    {"type": "createFile", "path": "../x", "content": "."},
    {"type": "shell", "command": "echo >> trace", "timeout": 1},
    {"type": "rename"},
    {"type": "message"},
    None,
)


class Planned(NamedTuple):
    """An operation, and whether it is allowed, to be approved, denied, or none; `mark` is what its command traces."""

    operation: Any
    verdict: Literal["allowed", "approve", "denied", "invalid"] = "allowed"
    mark: str | None = None


Batch: TypeAlias = list[Planned]


def batches(random: Random) -> list[Batch]:
    """Those of a round, each mark in them once."""
    return [
        [_with_id(_planned(random, f"{number}.{place}"), random) for place in range(random.randint(1, 14))]
        for number in range(random.randint(1, 3))
    ]


def _planned(random: Random, mark: str) -> Planned:
    path = random.choice(_FREE)
    match random.choices(range(7), (9, 5, 4, 3, 4, 2, 2))[0]:
        case 0:
            return _change(random, path)
        case 1:
            return _change(random, random.choice(_HELD), "approve")
        case 2:
            path = random.choice((path, path, LARGE))
            return Planned({"type": "readFile", "path": path, "encoding": random.choice(("utf-8", "base64"))})
        case 3:
            return Planned({"type": "message", "content": "So far."})
        case 4:
            return Planned(shell(random.choice(_COMMANDS).format(mark=mark)), "allowed", mark)
        case 5:
            return Planned(shell(f"rm -rf scratch; echo {mark} >> trace"), "approve", mark)
    if random.random() < 0.5:
        return Planned(random.choice(_INVALID), "invalid")
    return Planned(shell(f"echo {mark} >> trace; sudo true"), "denied", mark)


def _change(random: Random, path: str, verdict: Literal["allowed", "approve"] = "allowed") -> Planned:
    operation: Message
    kind = random.choices(("createFile", "editFile", "deleteFile"), (4, 4, 1))[0]
    operation = {"type": kind, "path": path}
    if kind == "createFile":
        content = random.choice(("", "a", "a b\n", "ü a" * random.choice((10, 100_000))))
        operation |= {"content": content, "overwrite": random.random() < 0.6}
    elif kind == "editFile":
        edits = [("a", "b a"), ("", "a"), ("b", ""), ("a", "a")]
        chosen = random.choices(edits, k=random.randint(0, 3))
        operation["edits"] = [{"oldContent": old, "newContent": new} for old, new in chosen]
    return Planned(operation, verdict)


def _with_id(planned: Planned, random: Random) -> Planned:
    """With no id, one of its own, or one that others have too."""
    if planned.operation is None or random.random() < 0.3:
        return planned
    name = random.choice(("twice", f"op{random.randrange(10**6)}"))
    return planned._replace(operation={**planned.operation, "id": name})
