"""Script a supervisor that sends requests, waits for responses, and follows runs."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..waiting import until
from .conversation import Conversation
from .messages import CANCELLED, Message, Refused, decode, encode, run

__all__ = ["CANCELLED", "Message", "Refused", "Supervisor", "decode", "encode", "run"]


class Supervisor(Conversation):
    """What a supervisor does, step by step."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: int, stdout: int, stderr: Path) -> None:
        super().__init__(process, stdin, stdout, stderr)
        self._numbers = itertools.count(1)

    def notify(self, method: str, **params: Any) -> None:
        """Say a notification."""
        self.say({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def request(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> str:
        """Say a request, and give its id."""
        id_ = f"q{next(self._numbers)}"
        given = {**(params or {}), **more}
        self.say({"jsonrpc": "2.0", "id": id_, "method": method, **({"params": given} if given else {})})
        return id_

    def call(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """Say a request, and give its result. Raises `Refused`."""
        return self.result(self.request(method, params, **more))

    def result(self, id_: str) -> Any:
        """The result that comes for an id. Raises `Refused`."""
        answer = self.answer(id_)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def answer(self, id_: Any) -> Message:
        """The answer that comes for an id."""
        return self.until(lambda told: "method" not in told and told["id"] == id_ and type(told["id"]) is type(id_))

    def refusal(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Refused:
        """The error that comes for a request."""
        try:
            result = self.call(method, params, **more)
        except Refused as refused:
            return refused
        raise AssertionError(f"{method} was not refused, but answered by {result!r}")

    def until(self, wanted: Callable[[Message], object]) -> Message:
        """The first message, no batch, that is as wanted, of those that came or will come."""
        return next(told for told in self.arriving() if isinstance(told, dict) and wanted(told))

    def arriving_until(self, batches: int) -> list[Any]:
        """What has come when so many batches are answered."""
        self.receive_until(lambda: sum(isinstance(told, list) for told in self.told) >= batches)
        return list(self.told)

    def silence(self) -> list[Any]:
        """What else has come when the daemon answers a question that is asked now."""
        before = len(self.told)
        id_ = self.request("run/list")
        self.answer(id_)
        return [told for told in self.told[before:] if not (isinstance(told, dict) and told.get("id") == id_)]

    def initialize(self) -> Any:
        """Begin, and give the result."""
        return self.call("initialize", protocolVersion="1.0")

    def start(self, run_id: str | None = None, *, credit: int | None = None, **request: Any) -> str:
        """Start a run, and give its id. Raises `Refused`."""
        result = self.call("run/start", run(run_id, credit=credit, **request))
        assert run_id in (None, result["runId"])
        assert result.keys() == {"runId"}
        return str(result["runId"])

    def completion(self, run_id: str) -> Message:
        """The completion that comes for a run, without its place in the stream and the session of a run without one."""
        told = self.until(lambda told: told.get("method") == "run/completed" and told["params"]["runId"] == run_id)
        completion = told["params"]["completion"]
        left_out = ("type", "seq", "session_id") if completion["outcome"] == "failed" else ("type", "seq")
        return {name: value for name, value in completion.items() if name not in left_out}

    def event(self, run_id: str, seq: int = 0) -> Message:
        """An event that comes of a run."""
        told = self.until(
            lambda told: (
                told.get("method") == "run/event" and (told["params"]["runId"], told["params"]["seq"]) == (run_id, seq)
            )
        )
        event: Message = told["params"]["event"]
        return event

    def events(self, run_id: str) -> list[Message]:
        """The events of a run that have come."""
        events = (told["params"] for told in self.told if isinstance(told, dict) and told.get("method") == "run/event")
        return [event["event"] for event in events if event["runId"] == run_id]

    def live(self, run_id: str) -> Message:
        """What the list says of a live run."""
        (found,) = [run for run in self.call("run/list")["runs"] if run["runId"] == run_id]
        assert isinstance(found, dict)
        return found

    def until_waiting(self, run_id: str, what: str) -> Message:
        """What the list says of a live run once it waits for this."""
        found: Message = {}

        def waiting() -> bool:
            found.update(self.live(run_id))
            return bool(found["waitsFor"] == what)

        until(waiting)
        return found
