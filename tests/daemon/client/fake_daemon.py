"""Imitate a daemon, correctly or with an error: `fake_daemon.py BEHAVIOUR [REPORT]`.

The program does not use the package. At the end of its input it writes what it received to the file REPORT.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

__all__ = ["BEHAVIOURS", "PROGRAM"]

PROGRAM: Final = (sys.executable, "-I", str(Path(__file__)))
EVENTS: Final = 5_000
COMPLETED: Final = {
    "type": "completion",
    "outcome": "completed",
    "ok": False,
    "status": {"code": 0},
    "final_text": "done",
}
CANCELLED: Final = {
    "type": "completion",
    "outcome": "failed",
    "ok": False,
    "error": {"kind": "backend", "message": "cancelled", "failure": "cancelled"},
}
TOLD: Final = {
    "protocolVersion": "1.0",
    "serverInfo": {"name": "fake", "version": "0"},
    "capabilities": {"codex": ["agent_api.run"]},
    "limits": {"maxRuns": 9, "queue": True, "maxMessageBytes": 2**24, "maxBatch": 100, "maxTextBytes": 2**16},
    "containment": None,
    "journal": False,
}
Message = dict[str, Any]


class Fake:
    """A daemon whose runs print so many messages, no more than they may, and then complete."""

    def __init__(self, events: int = EVENTS) -> None:
        self.events = events
        self.granted: dict[str, int] = {}
        self.sent: dict[str, int] = {}
        self.live: set[str] = set()
        self.detached: set[str] = set()
        self.seen: list[str] = []
        self.most_open = 0

    def say(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def tell(self, message: Mapping[str, Any]) -> None:
        self.say(json.dumps({"jsonrpc": "2.0", **message}))

    def answer(self, request: Message, result: Any) -> None:
        if "id" in request:
            self.tell({"id": request["id"], "result": result})

    def initialize(self, request: Message) -> None:
        self.answer(request, TOLD)

    def start(self, request: Message) -> None:
        self.accept(request)
        self.go_on(request["params"]["runId"])

    def accept(self, request: Message) -> None:
        run = request["params"]["runId"]
        self.granted[run], self.sent[run] = request["params"]["credit"], 0
        self.live.add(run)
        self.answer(request, {"runId": run})

    def credit(self, request: Message) -> None:
        run = request["params"]["runId"]
        assert request["params"]["events"] > 0
        self.granted[run] += request["params"]["events"]
        self.go_on(run)

    def cancel(self, request: Message) -> None:
        self.complete(request["params"]["runId"], CANCELLED)

    def detach(self, request: Message) -> None:
        self.detached.add(request["params"]["runId"])
        self.complete(request["params"]["runId"], COMPLETED)

    def go_on(self, run: str) -> None:
        self.most_open = max(self.most_open, self.granted[run] - self.sent[run])
        while run in self.live and self.sent[run] < min(self.granted[run], self.events):
            self.event(run)
        if self.sent[run] == self.events:
            self.complete(run, COMPLETED)

    def event(self, run: str, **fields: Any) -> None:
        seq = self.sent[run]
        self.sent[run] += 1
        event = {"type": "event", "seq": seq, "agent_kind": "codex", "kind": "text_output", "text": "m", **fields}
        if not seq:
            data = {"schema": "agent_api.session.handle.v1", "session": {"id": "the-session"}}
            event = {"type": "event", "seq": 0, "agent_kind": "codex", "kind": "status", "data": data}
        self.tell({"method": "run/event", "params": {"runId": run, "seq": seq, "event": event}})

    def complete(self, run: str, record: Message) -> None:
        if run in self.live:
            self.live.remove(run)
            params = {"runId": run, "seq": self.sent[run], "completion": {**record, "seq": self.sent[run]}}
            self.tell({"method": "run/completed", "params": params})

    def serve(self) -> None:
        handlers = {
            "initialize": self.initialize,
            "run/start": self.start,
            "run/credit": self.credit,
            "run/cancel": self.cancel,
            "run/detach": self.detach,
        }
        for line in sys.stdin:
            request = json.loads(line)
            self.seen.append(request["method"])
            handlers[request["method"]](request)

    @property
    def report(self) -> Message:
        return {
            "granted": list(self.granted.values()),
            "sent": list(self.sent.values()),
            "most_open": self.most_open,
            "detached": len(self.detached),
            "seen": self.seen,
        }


class Silent(Fake):
    @override
    def initialize(self, request: Message) -> None:
        pass


class Deaf(Fake):
    """Does not end when its input does, nor when it is asked to."""

    @override
    def serve(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().serve()
        signal.pause()


class SilentAndDeaf(Silent, Deaf):
    pass


class NeverStarts(Fake):
    @override
    def start(self, request: Message) -> None:
        pass

    @override
    def cancel(self, request: Message) -> None:
        pass


class NeverEnds(Deaf):
    @override
    def start(self, request: Message) -> None:
        self.accept(request)

    @override
    def cancel(self, request: Message) -> None:
        pass


class Late(Fake):
    """Answers only when the run is to be ended already."""

    def __init__(self) -> None:
        super().__init__()
        self.started: Message = {}

    @override
    def start(self, request: Message) -> None:
        self.started = request

    @override
    def cancel(self, request: Message) -> None:
        self.accept(self.started)
        super().cancel(request)


class LateRefusal(Late):
    @override
    def cancel(self, request: Message) -> None:
        error = {"code": -32010, "message": "no", "data": {"kind": "backend", "failure": "io"}}
        self.tell({"id": self.started["id"], "error": error})


class Stranger(Fake):
    """Of a later release: says what nobody knows yet."""

    @override
    def tell(self, message: Mapping[str, Any]) -> None:
        for params in ({"runId": 5}, [1], None, {"runId": "x", "event": {}}):
            super().tell({"method": "run/wondered", "params": params})
        super().tell({"method": "later", "id": 1})
        super().tell({**message, "later": {"x": [1]}})

    @override
    def initialize(self, request: Message) -> None:
        self.answer(request, {**TOLD, "later": 1, "limits": {**TOLD["limits"], "later": None}})  # type: ignore[dict-item]

    @override
    def event(self, run: str, **fields: Any) -> None:
        super().event(run, data={"schema": "later.v1"}, later=[1])
        self.sent["nobody"] = 0
        Fake.event(self, "nobody")
        del self.sent["nobody"]

    @override
    def complete(self, run: str, record: Message) -> None:
        super().complete(run, {**record, "later": 1, "hint": "later"})
        Fake.event(self, run)


class Failing(Fake):
    """Its runs come to no completion; `words` are what their error has besides its kind and message."""

    def __init__(self, **words: str) -> None:
        super().__init__(3)
        self.words = words

    @override
    def complete(self, run: str, record: Message) -> None:
        super().complete(run, {**CANCELLED, "error": {"kind": "backend", "message": "words", **self.words}})


class Breaking(Fake):
    """Says something wrong after the second event of a run."""

    def __init__(self, say: Callable[[Breaking], None]) -> None:
        super().__init__()
        self.say_it = say

    @override
    def start(self, request: Message) -> None:
        run = request["params"]["runId"]
        self.accept(request)
        self.event(run)
        self.event(run)
        self.say_it(self)


def _first(say: Callable[[Fake], None]) -> Callable[[], Fake]:
    class First(Fake):
        @override
        def initialize(self, request: Message) -> None:
            say(self)

    return First


def _close(_: Fake) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bytes(data: bytes, times: int = 1) -> Callable[[Fake], None]:
    def say(_: Fake) -> None:
        try:
            sys.stdout.buffer.write(data * times)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            _close(_)

    return say


def _error(code: int, **data: Any) -> Callable[[], Fake]:
    class Refusing(Fake):
        @override
        def start(self, request: Message) -> None:
            self.tell({"id": request["id"], "error": {"code": code, "message": "swordfish", "data": data}})

    return Refusing


WRONG: Final[Mapping[str, Callable[[Any], None]]] = {
    "no JSON": lambda fake: fake.say("hello"),
    "no UTF-8": _bytes(b'{"method":"\xff"}\n'),
    "deep nesting": lambda fake: fake.say("[" * 200_000),
    "no object": lambda fake: fake.say("[]"),
    "an id of another type": lambda fake: fake.tell({"id": {}, "result": 1}),
    "an error for no request": lambda fake: fake.tell({"id": None, "error": {"code": -32700, "message": "what"}}),
    "a broken error": lambda fake: fake.tell({"id": 2, "error": 5}),
    "a line without an end": _bytes(b"x", 65 * 1024 * 1024),
    "nothing any more": _close,
    "an exit": lambda _: sys.exit(3),
    "a death": lambda _: signal.raise_signal(signal.SIGKILL),
}
WRONG_OF_RUNS: Final[Mapping[str, Callable[[Any], None]]] = {
    "news of nobody": lambda fake: fake.tell({"method": "run/event", "params": {}}),
    "no event": lambda fake: fake.tell({"method": "run/event", "params": {"runId": min(fake.live), "event": {}}}),
    "no completion": lambda fake: fake.tell({"method": "run/completed", "params": {"runId": min(fake.live)}}),
}
BEHAVIOURS: Final[Mapping[str, Callable[[], Fake]]] = {
    "right": Fake,
    "brief": lambda: Fake(300),
    "silent": Silent,
    "deaf": Deaf,
    "silent and deaf": SilentAndDeaf,
    "never starts": NeverStarts,
    "never ends": NeverEnds,
    "late": Late,
    "late refusal": LateRefusal,
    "stranger": Stranger,
    "another version": _first(lambda fake: fake.tell({"id": 1, "result": {**TOLD, "protocolVersion": "2.0"}})),
    "half an answer": _first(lambda fake: fake.tell({"id": 1, "result": {}})),
    "no answer in an answer": _first(lambda fake: fake.tell({"id": 1})),
    "an error": _first(lambda fake: fake.tell({"id": 1, "error": {"code": -32602, "message": "no"}})),
    **{f"first {name}": _first(say) for name, say in WRONG.items()},
    **{f"then {name}": lambda say=say: Breaking(say) for name, say in {**WRONG, **WRONG_OF_RUNS}.items()},  # type: ignore[misc]
    "a failure in words of its own": lambda: Failing(failure="timeout"),
    "an older failure": Failing,
    "a later failure": lambda: Failing(failure="later"),
    "internal error": _error(-32603),
    "shutting down": _error(-32010, kind="shutting_down"),
    "unknown refusal": _error(-32010, kind="later", failure="later", hint="later", later={"x": 1}),
}


def main(behaviour: str, report: str | None = None) -> None:
    fake = BEHAVIOURS[behaviour]()
    try:
        fake.serve()
    except BrokenPipeError:
        _close(fake)
    if report is not None:
        Path(report).write_text(json.dumps(fake.report))


if __name__ == "__main__":
    main(*sys.argv[1:])
