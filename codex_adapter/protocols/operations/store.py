"""The state of a runtime in SQLite: batches, their operations, the decisions, and a log of all of it (O9, A8, A9).

Changes are made inside `with store.change():`, all of one block or none, and are on stable storage after it. Without a
file it is the same in a database that goes with the process.
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
from codex_adapter.protocols.operations.protocol import Status
from codex_adapter.protocols.operations.state_file import (
    NO_STATE,
    StateError,
    in_our_words,
    locked,
    require_in_place,
)
from codex_adapter.protocols.operations.text_pieces import PIECE

__all__ = ["Batch", "Intent", "Step", "Store"]

_VERSION: Final = 1
# What may be large has rows of its own: SQLite writes a row anew when anything in it changes.
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
    """The operations of one message on their way; `status` is None until they are over."""

    id: int
    run_id: str
    status: Status | None


class Intent(msgspec.Struct, frozen=True, array_like=True):
    """What a file was before an operation, and what the operation makes of it, as digests; None for no file."""

    was: bytes | None = None
    becomes: bytes | None = None


class Step(NamedTuple):
    """One operation of a batch.

    `state` is None before it was begun, then `waiting` for approval, `under_way`, `done`.
    """

    id: int
    position: int
    operation_id: str | None
    state: str | None
    intent: Intent | None


class Store:
    """The state in `path`, or one that nobody keeps, for the workspace with this root.

    Wherever it fails, it raises `StateError`.
    """

    def __init__(self, path: Path | None, workspace: str) -> None:
        with ExitStack() as undo, in_our_words():
            self._file = None if path is None else (path, undo.enter_context(locked(path)))
            # With no name SQLite takes a file of its own, which nobody else can open, for what gets large.
            database = sqlite3.connect(path or "", isolation_level=None, check_same_thread=False, timeout=5)
            undo.enter_context(closing(database))
            self._database = database
            self.kept = path is not None
            """Whether it outlives the process."""
            tables = {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type='table'")}
            if tables:
                self._require_ours(tables, workspace)
            database.execute(f"PRAGMA journal_mode={'WAL' if path else 'DELETE'}")
            database.execute(f"PRAGMA synchronous={'FULL' if path else 'OFF'}")
            database.execute("PRAGMA foreign_keys=ON")
            if not tables:
                self._make(workspace)
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._undo.close()

    @contextmanager
    def change(self) -> Iterator[None]:
        """One transaction."""
        with in_our_words():
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
        """A new batch of these operations."""
        batch = Batch(self._insert("INSERT INTO batches(run_id) VALUES (?)", run_id), run_id, None)
        for position, document in enumerate(documents):
            row = self._insert("INSERT INTO operations(batch, position) VALUES (?, ?)", batch.id, position)
            view = memoryview(document)
            self._put("documents", row, len(view), [view])
        return batch

    def batches(self) -> list[Batch]:
        """Those of which not everything has been delivered, oldest first."""
        return [Batch(*row) for row in self._rows("SELECT id, run_id, status FROM batches ORDER BY id")]

    def next_step(self, batch: Batch, after: int = -1) -> Step | None:
        """The first operation behind a position that is not done; None when there is none."""
        query = """
            SELECT id, position, operation_id, state, intent FROM operations
            WHERE batch=? AND position>? AND state IS NOT 'done' ORDER BY position LIMIT 1"""
        for row, position, operation_id, state, intent in self._rows(query, batch.id, after):
            decoded = None if intent is None else msgspec.msgpack.decode(intent, type=Intent)
            return Step(row, position, operation_id, state, decoded)
        return None

    def document(self, step: Step) -> bytes:
        """An operation as it was sent."""
        return b"".join(self._body("documents", step.id))

    def count_behind(self, batch: Batch, step: Step) -> int:
        """How many operations of a batch stand behind one."""
        query = "SELECT count(*) FROM operations WHERE batch=? AND position>?"
        return int(next(self._rows(query, batch.id, step.position))[0])

    def begin(self, step: Step, intent: Intent | None) -> None:
        """An operation is about to be carried out."""
        encoded = None if intent is None else msgspec.msgpack.encode(intent)
        self._database.execute("UPDATE operations SET state='under_way', intent=? WHERE id=?", (encoded, step.id))
        if step.state == "waiting":
            self._database.execute("DELETE FROM events WHERE id=?", (step.id,))

    def wait(self, step: Step, operation_id: str, event: bytes) -> None:
        """An operation waits to be approved under this id."""
        query = "UPDATE operations SET state='waiting', operation_id=? WHERE id=?"
        self._database.execute(query, (operation_id, step.id))
        self._put("events", step.id, len(event), [event])

    def decide(self, batch: Batch, step: Step, decision: str) -> None:
        """An operation that waited was approved or denied."""
        self._database.execute("INSERT INTO decisions VALUES (?, ?, ?)", (batch.run_id, step.operation_id, decision))

    def finish(self, step: Step, pieces: Callable[[], Iterable[bytes]]) -> None:
        """An operation is done, with this event, of which `pieces` gives the pieces each time."""
        self._database.execute("UPDATE operations SET state='done', intent=NULL WHERE id=?", (step.id,))
        self._database.execute("DELETE FROM documents WHERE id=?", (step.id,))
        self._put("events", step.id, sum(map(len, pieces())), pieces())

    def end(self, batch: Batch, status: Status) -> None:
        """A batch is over."""
        self._database.execute("UPDATE batches SET status=? WHERE id=?", (status, batch.id))

    def events(self, batch: Batch) -> Iterator[Iterator[bytes]]:
        """The events of a batch that were not delivered, in order, each in pieces."""
        query = "SELECT id FROM operations JOIN events USING (id) WHERE batch=? ORDER BY position"
        return (self._body("events", row) for (row,) in self._rows(query, batch.id))

    def deliver(self, batch: Batch) -> None:
        """All events that there are were delivered; of a batch that is over only the log is kept."""
        if batch.status is None:
            done = "SELECT id FROM operations WHERE batch=? AND state='done'"
            self._database.execute(f"DELETE FROM events WHERE id IN ({done})", (batch.id,))  # noqa: S608 - words of ours
            return
        # What belongs to it goes with it, by the keys of the tables.
        self._database.execute("DELETE FROM batches WHERE id=?", (batch.id,))

    def ids_decided(self, batch: Batch) -> set[str]:
        """The ids under which operations of a batch have been decided on."""
        return {row[0] for row in self._rows("SELECT operation_id FROM decisions WHERE run_id=?", batch.run_id)}

    def last_decision(self, operation_id: str) -> tuple[str, str] | None:
        """The run and the decision, if there ever was one on an operation of this id."""
        query = "SELECT run_id, decision FROM decisions WHERE operation_id=? ORDER BY rowid DESC LIMIT 1"
        return next(self._rows(query, operation_id), None)

    def log(self, record: AuditRecord) -> None:
        """Add to the log."""
        self._database.execute(
            "INSERT INTO audit(time, run_id, position, kind, data) VALUES (?, ?, ?, ?, ?)",
            (record.time, record.run_id, record.position, record.kind, bytes(record.data)),
        )

    def _insert(self, query: str, *values: Any) -> int:
        return self._database.execute(query, values).lastrowid or 0

    def _put(self, table: str, row: int, size: int, pieces: Iterable[bytes | memoryview]) -> None:
        """Write what may hold a file's content without the copy of it that a parameter would be (O10)."""
        self._database.execute(f"INSERT INTO {table} VALUES (?, zeroblob(?))", (row, size))  # noqa: S608 - a name of ours
        with self._database.blobopen(table, "body", row) as blob:
            for piece in pieces:
                blob.write(piece)

    def _body(self, table: str, row: int) -> Iterator[bytes]:
        with in_our_words(), self._database.blobopen(table, "body", row, readonly=True) as blob:
            while piece := blob.read(PIECE):
                yield piece

    def _make(self, workspace: str) -> None:
        """Make the tables in a new file."""
        with self.change():
            for statement in _SCHEMA.split(";"):
                self._database.execute(statement)
            self._database.execute("INSERT INTO about VALUES (?, ?)", (_VERSION, workspace))

    def _require_ours(self, tables: set[str], workspace: str) -> None:
        """See, before anything is changed, that a file is a state of ours and of this workspace."""
        row = next(self._rows("SELECT version, workspace FROM about"), None) if tables >= _TABLES else None
        if row is None:
            raise StateError(NO_STATE)
        version, root = row
        if version != _VERSION:
            raise StateError("the state was written by another release; finish it there, or give another file")
        if root != workspace:
            raise StateError("the state belongs to another workspace; give each workspace a state of its own")

    def _rows(self, query: str, *values: Any) -> Iterator[Any]:
        with in_our_words():
            yield from self._database.execute(query, values)
