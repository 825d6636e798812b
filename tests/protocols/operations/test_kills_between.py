"""Test a runtime that dies before or after each transaction, and the runtime that resumes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.executor import ExecutorReply, OperationExecutor
from codex_adapter.protocols.operations.policy import load_policy
from codex_adapter.protocols.operations.store import Store
from codex_adapter.workspace import Workspace

from .kills_batches import Batch, Planned
from .kills_ledger import Ledger
from .kills_model import Model
from .workbench import Message, shell

pytestmark = pytest.mark.rule("O9", "O11", "O12", "A8")

POLICY = load_policy("standard", agents=known_places())
FILES: list[Message] = [
    {"type": "createFile", "path": "f", "content": "a"},
    {"type": "createFile", "path": "f", "content": "b", "overwrite": False},
    {"type": "createFile", "path": "f", "content": "a a", "overwrite": True},
    {"type": "editFile", "path": "f", "edits": [{"oldContent": "a", "newContent": "a b"}]},
    {"type": "editFile", "path": "f", "edits": [{"oldContent": "c", "newContent": "d"}]},
    {"type": "readFile", "path": "f", "encoding": "utf-8"},
    {"type": "deleteFile", "path": "f"},
    {"type": "deleteFile", "path": "f"},
    {"type": "message", "content": "."},
]
FREE: Batch = [Planned({"overwrite": False, **operation}) for operation in FILES]
HELD: Batch = [Planned({**each.operation, "path": ".env"}, "approve") for each in FREE[:4]]
COMMANDS: Batch = [
    Planned(shell("echo 1 >> trace"), mark="1"),
    Planned(None, "invalid"),
    Planned(shell("echo 2 >> trace; rm -rf scratch"), "approve", "2"),
    Planned(shell("echo 3 >> trace; rm -rf scratch"), "approve", "3"),
    Planned(shell("echo 4 >> trace; sudo true"), "denied", "4"),
]


class Dead(Exception):
    """The runtime is no more."""


class DyingStore(Store):
    """Dies at its `at`-th transaction: with `behind`, when that is on stable storage, else before anything of it is."""

    _left: float = inf

    def __init__(self, path: Path, workspace: str, *, at: float, behind: bool) -> None:
        super().__init__(path, workspace)
        self._left = at
        self._behind = behind

    @override
    @contextmanager
    def change(self) -> Iterator[None]:
        self._left -= 1
        if self._left == 0 and not self._behind:
            raise Dead
        with super().change():
            yield
        if self._left == 0:
            raise Dead


@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize(
    ("batch", "decisions"),
    [
        pytest.param(FREE, (), id="files"),
        pytest.param(HELD, ("approved", "denied"), id="files that are approved or denied"),
        pytest.param(HELD, ("denied", "approved"), id="files that are denied or approved"),
        pytest.param(COMMANDS, ("approved", "denied"), id="commands"),
    ],
)
@pytest.mark.fault(
    "workspace",
    "The runtime dies before or after any transaction",
    "Denied operations never run, recorded ones never run again, and each event arrives once",
)
async def test_whichever_transaction_it_dies_at_another_one_goes_on(
    tmp_path: Path, batch: Batch, decisions: Sequence[str], behind: bool
) -> None:
    at, died = 1, True
    while died:
        place = tmp_path / str(at)
        place.mkdir()
        died = await _dies_at(place, at, batch, decisions, behind)
        at += 1
    assert at > len(batch) + 2


async def _dies_at(place: Path, at: int, batch: Batch, decisions: Sequence[str], behind: bool) -> bool:
    """Whether it did; then another one has brought everything to its end."""
    model = Model()
    ledger = Ledger(batch, model)
    (place / "workspace").mkdir()
    died = False
    for dies_at in (at, inf):
        try:
            await _live(place, ledger, decisions, dies_at, behind)
        except Dead:
            died = True
    assert ledger.over
    model.look_at(place / "workspace")
    return died


async def _live(place: Path, ledger: Ledger, decisions: Sequence[str], dies_at: float, behind: bool) -> None:
    root = place / "workspace"
    with (
        Workspace(root, agents=known_places()) as workspace,
        DyingStore(place / "state", str(root), at=dies_at, behind=behind) as store,
    ):
        runtime = OperationExecutor(workspace, store, POLICY, None)
        for answer in await runtime.resume_unfinished():
            await _take(runtime, ledger, answer)
        while not ledger.over:
            line = ledger.line
            if ledger.run_id:
                # What a place was sent before the kill, it is sent again.
                line = ledger.decide(decisions[len(ledger.events) % 2], "run")
            await _take(runtime, ledger, await runtime.handle(line))
        assert [batch for batch in store.batches() if batch.status is None] == []


async def _take(runtime: OperationExecutor, ledger: Ledger, answer: ExecutorReply) -> None:
    message: Any = json.loads(answer.line)
    ledger.run_id = ledger.run_id or answer.run_id
    assert ledger.run_id == answer.run_id
    ledger.take(answer.line, message)
    await runtime.confirm_delivery(answer)
