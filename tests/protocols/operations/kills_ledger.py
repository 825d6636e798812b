"""Track one batch over all processes of the runtime, and check that no answer changes."""

from __future__ import annotations

import json

from ..rounds import Broken
from .kills_batches import Batch
from .kills_model import Model, check
from .workbench import Message

__all__ = ["Ledger"]


class Ledger:
    """The answers to a batch, each event of which has come once and in its place, as the model foretells it."""

    def __init__(self, batch: Batch, model: Model) -> None:
        self.line = (
            json.dumps({"protocolVersion": "1.0", "operations": [it.operation for it in batch]}).encode() + b"\n"
        )
        self.run_id = ""
        self.over = False
        self.waiting: Message | None = None
        self.events: list[Message] = []
        self.decisions: dict[int, str] = {}
        """By the operation's place, the last that was sent."""
        self.repeated = 0
        self._batch = batch
        self._model = model
        self._last = b""

    def take(self, line: bytes, answer: Message) -> None:
        """One more answer to it, or one that came before. Raises Broken."""
        if line == self._last or (self.waiting is not None and answer["events"] == [self.waiting]):
            self.repeated += 1
            check(answer["status"] == ("completed" if self.over else "awaiting_approval"), answer)
            return
        check(not self.over, f"was over, and then came {line!r}")
        self._last = line
        self.waiting = None
        for place, event in enumerate(answer["events"], 1):
            if event["type"] == "approvalRequired":
                self._wait(event, place == len(answer["events"]))
            else:
                self._count(event)
        self.over = answer["status"] == "completed"
        check(self.over or (answer["status"] == "awaiting_approval" and self.waiting is not None), answer)
        check(self.over is (len(self.events) == len(self._batch)), f"{len(self.events)} events: {answer}")

    def decide(self, decision: str, style: str) -> bytes:
        """The line of a decision on what waits."""
        assert self.waiting is not None
        self.decisions[len(self.events)] = decision
        said: Message = {"type": "userMessage", "content": decision}
        if style != "words":
            said = {"operationId": self.waiting["operationId"], "decision": decision}
            said = {"approval": {**said, "runId": self.run_id} if style == "run" else said}
        return json.dumps(said).encode() + b"\n"

    def _wait(self, event: Message, last: bool) -> None:
        planned = self._batch[len(self.events)]
        check(last and planned.verdict == "approve", event)
        check(len(self.events) not in self.decisions, f"was decided on, and waits again: {event}")
        self.waiting = event

    def _count(self, event: Message) -> None:
        place = len(self.events)
        if place == len(self._batch):
            raise Broken(f"one event too many: {event}")
        planned = self._batch[place]
        decision = self.decisions.get(place)
        check((planned.verdict == "approve") is (decision is not None), event)
        given = planned.operation.get("id") if isinstance(planned.operation, dict) else None
        named = event.get("operationId")
        check(named == given or (decision is not None and str(named).startswith("op_")), event)
        self._model.take(planned, decision, event)
        self.events.append(event)
