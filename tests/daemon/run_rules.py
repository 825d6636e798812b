"""Check a conversation against the promises on runs: their events, their one completion, ids and credit.

It reads the same log as `jsonrpc_rules` and assumes that the log breaks none of those rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .jsonrpc_rules import LONGEST, Line

__all__ = ["broken_run_rules"]

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class _Run:
    """One run of an id; `answered` when its start was, `exact` while nobody asked to hear no more events of it."""

    def __init__(self, *, answered: bool, credit: int | None) -> None:
        self.answered = answered
        self.credit = credit
        self.seq = 0
        self.exact = True


def broken_run_rules(log: Sequence[Line], *, whole: bool = True, gone: int | None = None) -> list[str]:
    """What in a log breaks a promise; when it is not `whole`, completions may be missing at its end.

    From the line `gone` on, nobody could grant credit any more, and none is asked for.
    """
    reader = _Reader()
    found: list[str] = []
    for number, line in enumerate(log):
        if number == gone:
            reader.supervisor_left()
        if line.sent:
            reader.sent(line.data)
        else:
            found += (f"line {number}: {fault}" for fault in reader.received(_decode(line.data)))
    return found + (list(reader.missing()) if whole else [])


def _decode(data: bytes) -> Any:
    # Python reads no numbers of more than 4,300 digits.
    return json.loads(data, parse_int=lambda text: int(text) if len(text) < 4000 else text)


class _Reader:
    def __init__(self) -> None:
        self._starts: dict[str, Any] = {}
        """The params of starts that wait for their answer, by the text of the request's id."""
        self._early: list[Any] = []
        """The params of starts whose run may be heard of before any answer: of batches, and notifications."""
        self._live: dict[str, _Run] = {}
        self._ended: dict[str, list[_Run]] = {}
        self._made: set[str] = set()

    def sent(self, data: bytes) -> None:
        try:
            value = _decode(data) if len(data) <= LONGEST else None
        except (ValueError, RecursionError):
            return
        requests = value if isinstance(value, list) else [value]
        for request in requests:
            if isinstance(request, dict) and isinstance(request.get("params"), dict):
                self._request(request, request["params"], batch=isinstance(value, list))

    def _request(self, request: dict[str, Any], params: dict[str, Any], *, batch: bool) -> None:
        run = self._live.get(str(params.get("runId")))
        match request.get("method"):
            case "run/start":
                if "id" in request:
                    self._starts[json.dumps(request["id"])] = params
                else:
                    params["silent"] = True
                if batch or "id" not in request:
                    self._early.append(params)
            case "run/credit" if run is not None and run.credit is not None and isinstance(params.get("events"), int):
                run.credit += params["events"]
            case "run/detach" if run is not None:
                run.exact = False
            case "run/credit" | "run/detach":
                # Of a run that is started by the same batch, or by one whose answer is on its way.
                for waiting in [*self._starts.values(), *self._early]:
                    if waiting.get("runId") == params.get("runId"):
                        waiting["unknown"] = True

    def received(self, message: Any) -> Iterator[str]:
        for part in message if isinstance(message, list) else [message]:
            method = part.get("method")
            if method is None:
                yield from self._answered(part, batch=isinstance(message, list))
            elif method == "run/event":
                yield from self._event(part["params"])
            elif method == "run/completed":
                yield from self._completed(part["params"])
            elif method != "turns/event":
                yield f"a notification that nobody knows: {method}"

    def supervisor_left(self) -> None:
        for run in self._live.values():
            run.credit = None
        for params in [*self._starts.values(), *self._early]:
            params.pop("credit", None)

    def missing(self) -> Iterator[str]:
        yield from (f"run {name} has no completion" for name in self._live)
        for name, run in [*((name, run) for name, runs in self._ended.items() for run in runs), *self._live.items()]:
            if not run.answered:
                yield f"run {name} was heard of, and its start was refused"

    def _answered(self, answer: dict[str, Any], *, batch: bool) -> Iterator[str]:
        params = self._starts.pop(json.dumps(answer["id"]), None)
        if params is None:
            return
        params["answered"] = True
        if "error" in answer:
            return
        name = answer["result"].get("runId")
        if not isinstance(name, str) or not _RUN_ID.fullmatch(name):
            yield f"no runId: {name!r}"
            return
        if params.get("runId", name) != name:
            yield "the runId of the answer is not the one of the request"
        if "runId" not in params:
            if name in self._made:
                yield f"the runId {name} was made twice"
            self._made.add(name)
        known = [run for run in [*self._ended.get(name, []), self._live.get(name)] if run and not run.answered]
        if batch and known:
            known[0].answered = True
        elif name in self._live:
            yield f"two live runs have the id {name}"
        else:
            self._live[name] = self._new(params, answered=True)

    def _new(self, params: dict[str, Any], *, answered: bool) -> _Run:
        unknown = params.get("unknown", False)
        run = _Run(answered=answered, credit=None if unknown else params.get("credit"))
        run.exact = not unknown
        return run

    def _find(self, name: str) -> _Run | None:
        if name not in self._live:
            open_ = [params for params in self._early if not params.get("answered") and not params.get("heard")]
            for params in sorted(open_, key=lambda params: "runId" not in params):
                if params.get("runId", name) == name:
                    params["heard"] = True
                    self._live[name] = self._new(params, answered=params.get("silent", False))
                    break
        return self._live.get(name)

    def _event(self, params: dict[str, Any]) -> Iterator[str]:
        if params.keys() != {"runId", "seq", "event"}:
            yield f"run/event has the members {sorted(params)}"
            return
        run = self._find(params["runId"])
        if run is None:
            yield f"an event of a run that is not live: {params['runId']}"
            return
        yield from self._place(params["seq"], params["event"], "event")
        if params["seq"] != run.seq:
            yield f"run {params['runId']}: seq {params['seq']} in place of {run.seq}"
        run.seq = params["seq"] + 1
        if run.credit is not None:
            run.credit -= 1
            if run.credit < 0:
                yield f"run {params['runId']}: an event without credit"

    def _completed(self, params: dict[str, Any]) -> Iterator[str]:
        if params.keys() != {"runId", "seq", "completion"}:
            yield f"run/completed has the members {sorted(params)}"
            return
        name = params["runId"]
        run = self._find(name)
        if run is None:
            yield f"a completion of a run that is not live: {name}"
            return
        yield from self._place(params["seq"], params["completion"], "completion")
        if params["seq"] != run.seq and (run.exact or params["seq"] < run.seq):
            yield f"run {name}: its completion has seq {params['seq']} in place of {run.seq}"
        self._ended.setdefault(name, []).append(self._live.pop(name))

    def _place(self, seq: Any, record: Any, type_: str) -> Iterator[str]:
        if type(seq) is not int or record.get("seq") != seq:
            yield "the seq of a record is not that of its notification"
        if record.get("type") != type_:
            yield f"a record of the type {record.get('type')} where an {type_} must be"
