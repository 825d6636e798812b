"""Describe the lines of an agent to the suites that every agent must pass.

The suites use the lines that each agent has in some form: a session, a turn with its end, a message, a tool call, an
error. `tests/agents/table.py` has one row for each agent.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from codex_adapter import Pipeline
from codex_adapter.agents import agent_of
from codex_adapter.core.bad_lines import BadLine
from codex_adapter.core.decoder import Decoder
from codex_adapter.core.framing import Line
from codex_adapter.core.masking.masker import Masker

__all__ = ["SESSION", "AgentLines", "Fact", "Shape", "as_line"]

SESSION = "01a20018-057d-7ce3-b0c7-a173a1ba2c6a"
FIXTURES = Path(__file__).parents[2] / "fixtures"

Shape = tuple[str, str | None]
"""Kind of an event, and its text or the beginning of its message."""

Fact = tuple[str, Any]
"""What an event of a line means: its name, and its text, id, usage or None."""


class AgentLines(ABC):
    """The lines of one agent. A line is bytes with its newline, a sample is the object of a line.

    Where an agent needs several lines for one fact, these are all of them. `turn` starts a turn, and `failed` fails it.
    `trouble` reports in mid-turn that a request failed: no progress.
    Its event has `trouble_shape`, and that of the session `session_shape`.
    `samples` are one line of each type, with every field that a rule names. `names` are names and values that random
    lines are made of, `types` the types of those lines. `fields` are the fields that an error about a line may name.
    `older` are streams of releases without recordings. `recorded` is a real turn with three commands. The first
    `beginning` bytes of a recording show the fuzzer enough kinds of lines.
    """

    kind: ClassVar[str]
    turn: ClassVar[bytes]
    failed: ClassVar[bytes]
    trouble: ClassVar[bytes]
    trouble_shape: ClassVar[Shape]
    session_shape: ClassVar[Shape] = ("status", None)
    samples: ClassVar[Sequence[dict[str, Any]]]
    names: ClassVar[Sequence[str]]
    types: ClassVar[Sequence[str]]
    fields: ClassVar[frozenset[str]]
    known: ClassVar[Sequence[dict[str, Any]]]
    older: ClassVar[Sequence[bytes]] = ()
    recording: ClassVar[str]
    beginning: ClassVar[int] = 2_048

    @abstractmethod
    def session(self, session_id: str = SESSION) -> bytes:
        """Return a line that names the session and starts no turn."""

    @abstractmethod
    def completed(self, input_tokens: int = 3) -> bytes:
        """Return the end of a completed turn, with its usage."""

    @abstractmethod
    def message(self, text: str, number: int = 0) -> bytes:
        """Return a whole message of the model. Messages with different numbers have different ids."""

    @abstractmethod
    def tool(self, phase: str, number: int = 1) -> bytes:
        """Return the start (`started`) or the result (`completed`) of a command, with an id for each number."""

    @abstractmethod
    def parse(self, data: Iterable[Line]) -> Sequence[object | BadLine]:
        """Parse lines as the decoder does."""

    @abstractmethod
    def reader(self) -> Callable[[dict[str, Any]], Sequence[Fact]]:
        """Return a function that returns what each line of one stream means, if it is a line of these methods.

        A line has a fact for each of its events: `session`, `turn`, `completed`, `failed`, `trouble`, `message`,
        `opened` or `closed`.
        """

    @abstractmethod
    def seeds(self, grown: str, secret: str) -> Sequence[dict[str, Any]]:
        """Return lines with a text that grows in different places, one of them with a secret behind it."""

    @abstractmethod
    def huge(self) -> Sequence[dict[str, Any]]:
        """Return lines with 100,000 counts, 50,000 entries of a plan or of changes, or a name or text of 1 MB."""

    def pipeline(self, *, full_payloads: bool = False, **options: Any) -> Pipeline:
        """Return a pipeline with the agent's decoder."""

        def decoder(masker: Masker) -> Decoder:
            return agent_of(self.kind).decoder(masker, full_payloads=full_payloads)

        return Pipeline(decoder, **options)

    @property
    def recorded(self) -> bytes:
        """The output of a real turn with three commands."""
        return (FIXTURES / self.kind / self.recording).read_bytes()

    def recordings(self) -> list[Path]:
        """Return the files of all recordings."""
        return sorted(path for path in (FIXTURES / self.kind).glob("*/*.jsonl") if ".events" not in path.name)


def as_line(value: Any) -> bytes:
    """Return one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
