"""Keep the state of an executor in SQLite: batches, operations, decisions, and a log (O9, A8, A9).

A block `with store.change():` is one transaction, which is on stable storage after it. Without a file, the database
ends with the process.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from codex_adapter.protocols.operations.audit import AuditRecord
from codex_adapter.protocols.operations.messages import Status
from codex_adapter.protocols.operations.state_file import (
    NO_STATE,
    StateError,
    as_state_errors,
    locked,
    require_in_place,
)
from codex_adapter.protocols.operations.text_pieces import PIECE

__all__ = ["Batch", "Intent", "Step", "Store"]

_VERSION: Final = 1
# Large values have separate tables: SQLite rewrites a row when any column changes.
_SCHEMA: Final = """
CREATE TABLE about(version INTEGER NOT NULL, workspace TEXT NOT NULL);
CREATE TABLE batches(id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, status TEXT);
CREATE TABLE operations(
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL REFERENCES batches(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    operation_id TEXT, state TEXT, intent BLOB, UNIQUE(batch, position));
CREATE TABLE documents(id INTEGER PRIMARY KEY REFERENCES operations(id) ON DELETE CASCADE, body BLOB NOT NULL);
CREATE TABLE events(id INTEGER PRIMARY KEY REFERENCES operations(id) ON DELETE CASCADE, body BLOB NOT NULL);
CREATE TABLE decisions(run_id TEXT NOT NULL, operation_id TEXT NOT NULL, decision TEXT NOT NULL);
CREATE INDEX decided ON decisions(operation_id);
CREATE TABLE audit(
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, run_id TEXT NOT NULL, position INTEGER, kind TEXT NOT NULL,
    data BLOB NOT NULL)
"""

_TABLES: Final = frozenset(re.findall(r"CREATE TABLE (\w+)", _SCHEMA))


class Batch(NamedTuple):
    """The operations of one message; `status` is None until they are finished."""

    id: int
    run_id: str
    status: Status | None


class Intent(msgspec.Struct, frozen=True, array_like=True):
    """The digests of a file before and after an operation; None if the file does not exist."""

    was: bytes | None = None
    becomes: bytes | None = None


class Step(NamedTuple):
    """One operation of a batch.

    `state` is None before it is begun, then `waiting` for approval, `under_way`, `done`.
    """

    id: int
    position: int
    operation_id: str | None
    state: str | None
    intent: Intent | None


class Store:
    """The state of an executor in `path`, or without a file, for the workspace with this root.

    Every method raises `StateError` if it fails.
    """

    def __init__(self, path: Path | None, workspace: str) -> None:
        with ExitStack() as undo, as_state_errors():
            self._file = None if path is None else (path, undo.enter_context(locked(path)))
            # Without a name, SQLite uses a temporary file, which no other process can open.
            database = sqlite3.connect(path or "", isolation_level=None, check_same_thread=False, timeout=5)
            undo.enter_context(closing(database))
            self._database = database
            self.kept = path is not None
            """Whether the state has a file, so that it outlives the process."""
            tables = {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type='table'")}
            if tables:
                self._require_state(tables, workspace)
            database.execute(f"PRAGMA journal_mode={'WAL' if path else 'DELETE'}")
            database.execute(f"PRAGMA synchronous={'FULL' if path else 'OFF'}")
            database.execute("PRAGMA foreign_keys=ON")
            if not tables:
                self._create_tables(workspace)
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._undo.close()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Open a transaction."""
        with as_state_errors():
            if self._file is not None:
                require_in_place(*self._file)
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def add(self, run_id: str, documents: Sequence[msgspec.Raw]) -> Batch:
        """Add and return a batch of these operations."""
        batch = Batch(self._insert("INSERT INTO batches(run_id) VALUES (?)", run_id), run_id, None)
        for position, document in enumerate(documents):
            row = self._insert("INSERT INTO operations(batch, position) VALUES (?, ?)", batch.id, position)
            view = memoryview(document)
            self._put("documents", row, len(view), [view])
        return batch

    def batches(self) -> list[Batch]:
        """Return the batches with undelivered events, the oldest first."""
        return [Batch(*row) for row in self._rows("SELECT id, run_id, status FROM batches ORDER BY id")]

    def next_step(self, batch: Batch, after: int = -1) -> Step | None:
        """Return the first operation after a position that is not done; None if all are done."""
        query = """
            SELECT id, position, operation_id, state, intent FROM operations
            WHERE batch=? AND position>? AND state IS NOT 'done' ORDER BY position LIMIT 1"""
        for row, position, operation_id, state, intent in self._rows(query, batch.id, after):
            decoded = None if intent is None else msgspec.msgpack.decode(intent, type=Intent)
            return Step(row, position, operation_id, state, decoded)
        return None

    def document(self, step: Step) -> bytes:
        """Return an operation as it was sent."""
        return b"".join(self._body("documents", step.id))

    def count_after(self, batch: Batch, step: Step) -> int:
        """Return the number of operations of a batch after a step."""
        query = "SELECT count(*) FROM operations WHERE batch=? AND position>?"
        return int(next(self._rows(query, batch.id, step.position))[0])

    def begin(self, step: Step, intent: Intent | None) -> None:
        """Record that an operation is executed next."""
        encoded = None if intent is None else msgspec.msgpack.encode(intent)
        self._database.execute("UPDATE operations SET state='under_way', intent=? WHERE id=?", (encoded, step.id))
        if step.state == "waiting":
            self._database.execute("DELETE FROM events WHERE id=?", (step.id,))

    def wait(self, step: Step, operation_id: str, event: bytes) -> None:
        """Record that an operation waits for approval under this id."""
        query = "UPDATE operations SET state='waiting', operation_id=? WHERE id=?"
        self._database.execute(query, (operation_id, step.id))
        self._put("events", step.id, len(event), [event])

    def decide(self, batch: Batch, step: Step, decision: str) -> None:
        """Record that an operation was approved or denied."""
        self._database.execute("INSERT INTO decisions VALUES (?, ?, ?)", (batch.run_id, step.operation_id, decision))

    def finish(self, step: Step, pieces: Callable[[], Iterable[bytes]]) -> None:
        """Record that an operation is done, with its event. Each call of `pieces` returns the event in pieces."""
        self._database.execute("UPDATE operations SET state='done', intent=NULL WHERE id=?", (step.id,))
        self._database.execute("DELETE FROM documents WHERE id=?", (step.id,))
        self._put("events", step.id, sum(map(len, pieces())), pieces())

    def end(self, batch: Batch, status: Status) -> None:
        """Record that a batch is finished."""
        self._database.execute("UPDATE batches SET status=? WHERE id=?", (status, batch.id))

    def events(self, batch: Batch) -> Iterator[Iterator[bytes]]:
        """Yield the undelivered events of a batch in order, each in pieces."""
        query = "SELECT id FROM operations JOIN events USING (id) WHERE batch=? ORDER BY position"
        return (self._body("events", row) for (row,) in self._rows(query, batch.id))

    def deliver(self, batch: Batch) -> None:
        """Record that all events so far were delivered. Only the log of a finished batch remains."""
        if batch.status is None:
            done = "SELECT id FROM operations WHERE batch=? AND state='done'"
            self._database.execute(f"DELETE FROM events WHERE id IN ({done})", (batch.id,))  # noqa: S608 - constant text
            return
        # The foreign keys delete its operations and events.
        self._database.execute("DELETE FROM batches WHERE id=?", (batch.id,))

    def ids_decided(self, batch: Batch) -> set[str]:
        """Return the ids of the operations of a batch that were decided on."""
        return {row[0] for row in self._rows("SELECT operation_id FROM decisions WHERE run_id=?", batch.run_id)}

    def last_decision(self, operation_id: str) -> tuple[str, str] | None:
        """Return the run and the last decision on an operation with this id, if any."""
        query = "SELECT run_id, decision FROM decisions WHERE operation_id=? ORDER BY rowid DESC LIMIT 1"
        return next(self._rows(query, operation_id), None)

    def log(self, record: AuditRecord) -> None:
        """Add a record to the log."""
        self._database.execute(
            "INSERT INTO audit(time, run_id, position, kind, data) VALUES (?, ?, ?, ?, ?)",
            (record.time, record.run_id, record.position, record.kind, bytes(record.data)),
        )

    def _insert(self, query: str, *values: Any) -> int:
        return self._database.execute(query, values).lastrowid or 0

    def _put(self, table: str, row: int, size: int, pieces: Iterable[bytes | memoryview]) -> None:
        """Write a large value in pieces: a parameter would need a copy (O10)."""
        self._database.execute(f"INSERT INTO {table} VALUES (?, zeroblob(?))", (row, size))  # noqa: S608 - a constant name
        with self._database.blobopen(table, "body", row) as blob:
            for piece in pieces:
                blob.write(piece)

    def _body(self, table: str, row: int) -> Iterator[bytes]:
        with as_state_errors(), self._database.blobopen(table, "body", row, readonly=True) as blob:
            while piece := blob.read(PIECE):
                yield piece

    def _create_tables(self, workspace: str) -> None:
        """Create the tables in a new file."""
        with self.change():
            for statement in _SCHEMA.split(";"):
                self._database.execute(statement)
            self._database.execute("INSERT INTO about VALUES (?, ?)", (_VERSION, workspace))

    def _require_state(self, tables: set[str], workspace: str) -> None:
        """Raise `StateError` if the file is not a state, or is that of another workspace. Change nothing."""
        row = next(self._rows("SELECT version, workspace FROM about"), None) if tables >= _TABLES else None
        if row is None:
            raise StateError(NO_STATE)
        version, root = row
        if version != _VERSION:
            raise StateError(
                "the state was written by another release. Finish it with that release, or name another file"
            )
        if root != workspace:
            raise StateError("the state belongs to another workspace. Use a separate state for each workspace")

    def _rows(self, query: str, *values: Any) -> Iterator[Any]:
        with as_state_errors():
            yield from self._database.execute(query, values)
