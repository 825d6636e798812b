"""Define and read the log of messages, operations, results and decisions, without contents and outputs (A9)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

from codex_adapter.protocols.operations.events import OperationEvent
from codex_adapter.protocols.operations.operations import Operation
from codex_adapter.protocols.operations.state_file import StateError, as_state_errors
from codex_adapter.protocols.operations.text_pieces import Text

__all__ = ["AuditKind", "AuditRecord", "audit_data", "read_audit"]

AuditKind: TypeAlias = Literal["message", "refused", "begun", "event", "decision", "ended"]
_LARGE: Final = frozenset({"content", "stdout", "stderr"})


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry of the log."""

    time: str
    run_id: str
    position: int | None = None
    kind: AuditKind
    data: Raw


def audit_data(item: Operation | OperationEvent) -> dict[str, Any]:
    """Return an operation or an event as in the log: sizes in place of contents."""
    members: dict[str, Any] = {"type": item.__struct_config__.tag}
    for field, name in zip(item.__struct_fields__, item.__struct_encode_fields__, strict=True):
        value = getattr(item, field)
        match value:
            case msgspec.UnsetType():
                continue
            case Text():
                members[f"{name}Bytes"] = sum(map(len, value.pieces()))
            case str() if name in _LARGE:
                members[f"{name}Bytes"] = len(value.encode())
            case [*edits]:
                members[name] = len(edits)
            case dict() if name == "env":
                members[name] = sorted(value)
            case _:
                members[name] = value
    return members


def read_audit(path: Path) -> Iterator[AuditRecord]:
    """Yield the log of a state file from its beginning. An executor may use the file. Raises `StateError` (A9)."""
    if not path.is_file():
        raise StateError("the file is not a state. Name the file of an earlier --state")
    with as_state_errors(), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        for time, run_id, position, kind, data in database.execute(
            "SELECT time, run_id, position, kind, data FROM audit ORDER BY id"
        ):
            yield AuditRecord(time=time, run_id=run_id, position=position, kind=kind, data=Raw(data))
