"""Test that a batch gets one response after all its requests are complete."""

from __future__ import annotations

import pytest

from .agents import HANGING
from .messages import CANCELLED, run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J6", "J5")


def ask(id_: str, method: str = "run/list") -> str:
    return f'{{"jsonrpc":"2.0","method":"{method}","id":{id_}}}'


def test_a_batch_is_answered_by_one_array(shared: Supervisor) -> None:
    """The specification's own example, with methods of ours."""
    before = len(shared.told)
    batch = [
        '{"jsonrpc": "2.0", "method": "run/list", "params": {}, "id": "1"}',
        '{"jsonrpc": "2.0", "method": "run/cancel", "params": {"runId": "never"}}',
        '{"jsonrpc": "2.0", "method": "run/cancel", "params": {"runId": "never"}, "id": "2"}',
        '{"foo": "boo"}',
        '{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}',
        '{"jsonrpc": "2.0", "method": "run/list", "id": "9"}',
    ]
    shared.send(f"[{','.join(batch)}]".encode())
    shared.silence()
    (answers,) = [told for told in shared.told[before:] if isinstance(told, list)]
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id.keys() == {"1", "2", None, "5", "9"}
    assert len(answers) == 5
    assert by_id["1"]["result"] == by_id["9"]["result"] == {"runs": []}
    assert by_id["2"]["result"] == {"known": False}
    assert by_id[None]["error"]["code"] == -32600
    assert by_id["5"]["error"]["code"] == -32601


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_no_request_in_a_batch_is_answered_each(shared: Supervisor, count: int) -> None:
    before = len(shared.told)
    shared.say(list(range(count)))
    shared.silence()
    assert [answer["error"]["code"] for answer in shared.told[before]] == [-32600] * count


def test_a_batch_in_a_batch_is_no_request(shared: Supervisor) -> None:
    before = len(shared.told)
    shared.send(b'[[{"jsonrpc":"2.0","method":"run/list","id":1}]]')
    shared.silence()
    assert [answer["error"]["code"] for answer in shared.told[before]] == [-32600]


def test_a_batch_of_notifications_gets_no_answer(shared: Supervisor) -> None:
    shared.send(b'[{"jsonrpc":"2.0","method":"run/list"},{"jsonrpc":"2.0","method":"no/such"}]')
    assert shared.silence() == []


def test_two_requests_of_a_batch_may_have_the_same_id(shared: Supervisor) -> None:
    before = len(shared.told)
    shared.send(f"[{ask('7')},{ask('7', 'no/such')},{ask('7.0')}]".encode())
    shared.silence()
    assert len(shared.told[before]) == 3


def test_a_large_batch_is_answered_whole(shared: Supervisor) -> None:
    before = len(shared.told)
    shared.send(f"[{','.join(ask(str(number)) for number in range(100))}]".encode())
    shared.silence()
    assert sorted(answer["id"] for answer in shared.told[before]) == list(range(100))


@pytest.mark.rule("J4", "J8")
def test_runs_may_be_started_in_a_batch(shared: Supervisor) -> None:
    requests = [{"jsonrpc": "2.0", "id": f"b{n}", "method": "run/start", "params": run(f"batch{n}")} for n in range(4)]
    refused = {"jsonrpc": "2.0", "id": "bad", "method": "run/start", "params": run("batch9", extensions={"no": 1})}
    shared.say([*requests, refused])
    answers = next(told for told in shared.arriving() if isinstance(told, list) and {"bad"} < {a["id"] for a in told})
    results = {answer["id"]: answer.get("result") for answer in answers}
    assert results == {**{f"b{n}": {"runId": f"batch{n}"} for n in range(4)}, "bad": None}
    for number in range(4):
        assert shared.completion(f"batch{number}")["outcome"] == "completed"


@pytest.mark.rule("J3", "J4")
def test_a_run_may_be_started_and_cancelled_in_one_batch(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    params = run("r", env=workshop.agent("hanging", *HANGING))
    daemon.say(
        [
            {"jsonrpc": "2.0", "id": "start", "method": "run/start", "params": params},
            {"jsonrpc": "2.0", "id": "cancel", "method": "run/cancel", "params": {"runId": "r"}},
        ]
    )
    assert daemon.completion("r") == CANCELLED
    daemon.silence()
    (answers,) = [told for told in daemon.told if isinstance(told, list)]
    assert {a["id"]: a["result"] for a in answers} == {"start": {"runId": "r"}, "cancel": {}}


@pytest.mark.rule("J2", "J3")
def test_a_batch_with_a_shutdown_in_it_is_answered_when_no_run_is_left(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    params = run("r", env=workshop.agent("hanging", *HANGING))
    daemon.say(
        [
            {"jsonrpc": "2.0", "id": "start", "method": "run/start", "params": params},
            {"jsonrpc": "2.0", "id": "down", "method": "shutdown", "params": {"mode": "cancel"}},
            {"jsonrpc": "2.0", "id": "late", "method": "run/start", "params": run("late")},
            {"jsonrpc": "2.0", "method": "exit"},
        ]
    )
    assert daemon.wait() == 0
    (answers,) = [told for told in daemon.told if isinstance(told, list)]
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id["start"]["result"] == {"runId": "r"}
    assert by_id["down"]["result"] == {}
    assert by_id["late"]["error"]["data"]["kind"] == "shutting_down"
    assert daemon.completion("r") == CANCELLED


def test_answers_do_not_wait_for_one_another(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("hanging", *HANGING))
    shutdown = daemon.request("shutdown", mode="drain")
    daemon.send(f"[{ask('1')}]".encode())
    daemon.call("run/list")
    assert not [told for told in daemon.told if isinstance(told, dict) and told.get("id") == shutdown]
    assert any(isinstance(told, list) for told in daemon.told)
    daemon.call("run/cancel", runId="r")
    assert daemon.result(shutdown) == {}
