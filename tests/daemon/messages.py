"""Define the messages of a supervisor as values."""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ["CANCELLED", "Message", "Refused", "decode", "encode", "run"]

Message = dict[str, Any]

CANCELLED: Final = {
    "outcome": "failed",
    "ok": False,
    "error": {"kind": "backend", "message": "cancelled", "failure": "cancelled"},
}


class Refused(Exception):
    """The answer to a request was an error."""

    def __init__(self, error: Message) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Message = error.get("data", {})


def encode(value: Any) -> bytes:
    """A message as a line, without its newline."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def decode(line: bytes | bytearray) -> Any:
    """A message of a line; a number that Python would not read is its text."""
    return json.loads(line, parse_int=lambda text: int(text) if len(text) < 4000 else text)


def run(run_id: str | None = None, *, credit: int | None = None, **request: Any) -> Message:
    """The params of a `run/start`."""
    given = {"runId": run_id, "agentKind": "codex", "request": {"prompt": "Hi.", **request}, "credit": credit}
    return {name: value for name, value in given.items() if value is not None}
