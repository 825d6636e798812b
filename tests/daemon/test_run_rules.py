"""Test the checker of runs with a valid log and one violation of each promise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..rows import rows
from .jsonrpc_rules import Line
from .run_rules import broken_run_rules

pytestmark = pytest.mark.rule("J4", "J9")


def start(id_: Any = 1, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "method": "run/start", "params": params, **({} if id_ is None else {"id": id_})}


def ask(method: str, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": "ask"}


def started(run: str = "r", id_: Any = 1) -> Any:
    return {"jsonrpc": "2.0", "id": id_, "result": {"runId": run}}


def refused(id_: Any = 1) -> Any:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": -32010, "message": ""}}


def event(seq: Any, run: str = "r", **record: Any) -> Any:
    return {
        "method": "run/event",
        "params": {"runId": run, "seq": seq, "event": {"type": "event", "seq": seq, **record}},
    }


def end(seq: int, run: str = "r", **record: Any) -> Any:
    params = {"runId": run, "seq": seq, "completion": {"type": "completion", "seq": seq, **record}}
    return {"method": "run/completed", "params": params}


def log(*messages: Any) -> list[Line]:
    """A conversation; requests are the client's."""

    def sent(message: Any) -> bool:
        first = message[0] if isinstance(message, list) else message
        return first.get("method", "run/event") not in ("run/event", "run/completed", "strange")

    return [Line(sent(message), json.dumps(message).encode()) for message in messages]


@rows(
    "messages",
    [
        [],
        [start(runId="r"), started(), event(0), event(1), end(2)],
        [start(), started("made"), end(0, "made")],
        [start(runId="r"), started(), end(0), start(2, runId="r"), started(id_=2), end(0)],
        [start(runId="r"), start(2, runId="r"), started(), refused(2), end(0)],
        [start(1), start(2), started("a", 1), started("b", 2), event(0, "b"), event(0, "a"), end(1, "a"), end(1, "b")],
        [[start(runId="r")], event(0), [started()], end(1)],
        [[start(runId="r")], event(0), end(1), [started()]],
        [[start(runId="r"), start(2, runId="r")], event(0), end(1), [refused(1), started(id_=2)]],
        [[start(), start(2)], event(0, "x"), event(0, "y"), [started("y"), started("x", 2)], end(1, "x"), end(1, "y")],
        [start(None, runId="r"), event(0), end(1)],
        [start(None), event(0, "x"), end(1, "x")],
        [start(runId="r", credit=1), started(), event(0), ask("run/credit", runId="r", events=2), event(1), end(2)],
        [start(runId="r"), started(), event(0), ask("run/detach", runId="r"), end(7)],
        [start(), refused()],
    ],
)
def test_what_is_promised_passes(messages: list[Any]) -> None:
    assert broken_run_rules(log(*messages)) == []


@rows(
    ("broken", "messages"),
    [
        ("no completion", [start(runId="r"), started(), event(0)]),
        ("completion of a run that is not live", [start(runId="r"), started(), end(0), end(1)]),
        ("event of a run that is not live", [start(runId="r"), started(), end(0), event(1)]),
        ("event of a run that is not live", [event(0)]),
        ("event of a run that is not live", [start(runId="r"), event(0), started(), end(1)]),
        ("event of a run that is not live", [start(runId="r"), started(), event(0, "s"), end(0)]),
        ("seq 1 in place of 0", [start(runId="r"), started(), event(1), end(2)]),
        ("seq 0 in place of 1", [start(runId="r"), started(), event(0), event(0), end(1)]),
        ("completion has seq 5", [start(runId="r"), started(), event(0), end(5)]),
        ("completion has seq 0", [start(runId="r"), started(), event(0), ask("run/detach", runId="r"), end(0)]),
        (
            "not that of its notification",
            [
                start(runId="r"),
                started(),
                event(0) | {"params": {"runId": "r", "seq": 0, "event": {"type": "event", "seq": 1}}},
                end(1),
            ],
        ),
        ("not that of its notification", [start(runId="r"), started(), event(0.0), end(1)]),
        ("of the type completion", [start(runId="r"), started(), event(0, type="completion"), end(1)]),
        ("of the type event", [start(runId="r"), started(), end(0, type="event")]),
        ("run/event has the members", [start(runId="r"), started(), event(0) | {"params": {"runId": "r"}}, end(0)]),
        ("run/completed has the members", [start(runId="r"), started(), end(0) | {"params": {"runId": "r"}}, end(0)]),
        ("nobody knows", [{"method": "strange", "params": {}}]),
        ("without credit", [start(runId="r", credit=1), started(), event(0), event(1), end(2)]),
        ("two live runs", [start(runId="r"), started(), start(2, runId="r"), started(id_=2), end(0)]),
        ("is not the one of the request", [start(runId="r"), started("s"), end(0, "s")]),
        ("no runId", [start(), started("-"), end(0, "-")]),
        ("no runId", [start(), started("x" * 129), end(0, "x" * 129)]),
        ("made twice", [start(), started("m"), end(0, "m"), start(2), started("m", 2), end(0, "m")]),
        ("its start was refused", [[start(runId="r")], event(0), end(1), [refused()]]),
    ],
)
def test_what_breaks_a_promise_is_found(broken: str, messages: list[Any]) -> None:
    found = broken_run_rules(log(*messages))
    assert [fault for fault in found if broken in fault], found


def test_credit_counts_until_nobody_can_grant_it() -> None:
    messages = [start(runId="r", credit=1), started(), event(0), event(1), end(2)]
    assert broken_run_rules(log(*messages), gone=3) == []
    assert broken_run_rules(log(*messages), gone=4) != []


def test_of_a_conversation_that_was_cut_off_only_completions_may_be_missing() -> None:
    assert broken_run_rules(log(start(runId="r"), started(), event(0)), whole=False) == []
    assert broken_run_rules(log(event(0)), whole=False) != []
