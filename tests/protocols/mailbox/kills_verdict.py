"""Check the journals, outboxes, file and process output of a session against its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..operations.kills_model import check
from .kills_answers import InboxFile
from .kills_life import Place
from .kills_model import Due, Model, due
from .kills_records import Came, OutboxText, came, read_journal, read_outbox, taken_up

__all__ = ["Told", "Verdict"]


class Told:
    """What one process told of each round's results, and of how its answers lie."""

    def __init__(self) -> None:
        self.results: dict[int, list[tuple[str, bool, str, str]]] = {}

    def take(self, record: dict[str, Any]) -> None:
        """The next line of its output. Raises Broken."""
        known = ("outbox", "waiting", "answer", "result", "message", "done", "remark")
        check(record["type"] in known, record)
        if record["type"] == "result":
            self.results.setdefault(record["sequence"], []).append(_bare(came((0, 0), record["result"])))


class Verdict:
    """A session, looked at between its processes and at its end; `brought` are its answers, the oldest first."""

    def __init__(self, place: Place) -> None:
        self.brought: list[InboxFile] = []
        self._place = place
        self._lives: list[Told] = []
        self._outboxes: dict[str, bytes] = {}

    def life(self) -> Told:
        """What the next process tells."""
        self._lives.append(Told())
        return self._lives[-1]

    def look_at_outboxes(self) -> None:
        """See that what was put out is as it was, with numbers without a gap. Raises Broken."""
        session = self._place.session()
        assert session is not None
        there = {path.name: path.read_bytes() for path in self._place.mailbox.glob("outbox/*.txt")}
        names = [self._name(session, number) for number in range(1, len(there) + 1)]
        check(sorted(there) == names, sorted(there))
        check(session["sequenceNumber"] - len(there) in (0, 1), f"{session}, {names}")
        for name, data in self._outboxes.items():
            check(there.get(name) == data, f"{name} changed")
        self._outboxes = there

    def final(self, task: str, *, complete_inbox: bool) -> Model:
        """See that all of it is as it must be; `complete_inbox` when nothing may wait behind the end. Raises Broken."""
        self.look_at_outboxes()
        session = self._place.session()
        assert session is not None
        rounds = self._answers(session["sessionId"], complete_inbox)
        last = session["sequenceNumber"]
        check(sorted(rounds) == list(range(1, last + 1)) and len(self._outboxes) == last, f"{last}, {sorted(rounds)}")
        model = Model()
        before: list[Came] = []
        asked: list[str] = []
        protocols: set[str] = set()
        for number in range(1, last + 1):
            outbox = read_outbox(self._outboxes[self._name(session, number)].decode())
            protocols.add(outbox.protocol)
            header = {"Session": session["sessionId"], "Sequence": str(number), "Task": task.split("\n")[0]}
            check(outbox.header == header and (outbox.prompt == task) is (number == 1), outbox.header)
            _check_context(outbox, model, before, asked)
            places = due(rounds[number])
            before = read_journal(self._file(f"rounds/{session['sessionId']}_seq{number:04d}.jsonl"))
            asked = model.take(places, before)
            self._look_at_told(number, places, before)
        check(len(protocols) == 1, protocols)
        results = [came((0, 0), result) for result in session["lastResults"]]
        check(session["isComplete"] and [*map(_bare, results)] == [*map(_bare, before)], session)
        check(session["readFileRequests"] == asked, session)
        left = [path.name for path in self._place.mailbox.rglob("*.tmp") if session["sessionId"] in path.name]
        check(not left, left)
        model.look_at(self._place.root, self._place.ledger)
        return model

    def _answers(self, session: str, complete_inbox: bool) -> dict[int, list[InboxFile]]:
        """The answers of each round; all that was brought was taken up in its order, or waits behind the end."""
        taken = taken_up(self._file("processed"), session)
        order = [it for number in sorted(taken) for it in taken[number]]
        brought = [(answer.name, answer.data) for answer in self.brought]
        names = [name for name, _ in order]
        check(order == brought[: len(order)], f"taken up: {names}, brought: {[name for name, _ in brought]}")
        left = {path.name: path.read_bytes() for path in self._file("inbox").iterdir()}
        check(left == dict(brought[len(order) :]) and not (left and complete_inbox), f"left in inbox: {sorted(left)}")
        rest = iter(self.brought)
        return {number: [next(rest) for _ in taken[number]] for number in sorted(taken)}

    def _look_at_told(self, number: int, places: list[Due], results: list[Came]) -> None:
        """See that each process told of the results as they are, from the first one on. Raises Broken."""
        order = [_bare(it) for it in results]
        for place, each in enumerate(places):
            if "more commands after DONE" in each.said:
                # Told before the summary.
                order[place - 1], order[place] = order[place], order[place - 1]
        for life in self._lives:
            told = life.results.get(number, [])
            check(told == order[: len(told)], f"told in round {number}: {told}; they are {order}")

    def _file(self, path: str) -> Path:
        return self._place.mailbox / path

    @staticmethod
    def _name(session: dict[str, Any], number: int) -> str:
        return f"{session['sessionId']}_seq{number:04d}.txt"


def _bare(result: Came) -> tuple[str, bool, str, str]:
    return result.command, result.success, result.summary, result.output


def _check_context(outbox: OutboxText, model: Model, results: list[Came], asked: list[str]) -> None:
    listed = [f"  {path} ({len(model.files[path])} bytes)" for path in sorted(model.files)]
    check(outbox.files == (listed or ["(empty workspace)"]), f"{outbox.files}; due are {listed}")
    due_results = [(it.success, it.command, it.summary, it.output) for it in results]
    check(outbox.results == due_results, f"{outbox.results}; due are {due_results}")
    check(list(outbox.requested) == asked, f"{list(outbox.requested)}; asked for {asked}")
    for path, text in outbox.requested.items():
        due_text = model.shown(path)
        right = text == due_text if due_text is not None else text.startswith("(") and text.endswith(")\n")
        check(right, f"{path}: {json.dumps(text[:300])}")
