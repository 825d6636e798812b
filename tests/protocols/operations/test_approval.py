"""Test approval: waiting operations, the right to decide, and the records in the log."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter.protocols.operations.audit import read_audit

from .workbench import Message, Workbench, bare, shell

REMOVE = shell("rm -rf temp", id="cleanup-1")


def seen(answer: Message) -> list[str]:
    """The kinds of the events."""
    return [event["type"] for event in answer["events"]]


@pytest.mark.rule("A7", "A8")
async def test_an_approved_operation_is_carried_out_then_those_behind_it(bench: Workbench) -> None:
    bench.write("temp/f", ".")
    async with bench.open() as talk:
        paused = await talk.send({"type": "message", "content": "."}, REMOVE, shell("test -e temp; echo $?"))
        assert (paused["status"], seen(paused)) == ("awaiting_approval", ["message", "approvalRequired"])
        assert bench.text("temp/f") == "."
        pending = talk.runtime.pending()
        assert pending is not None
        assert pending is talk.runtime.pending()
        resumed = await talk.decide("cleanup-1")
        assert talk.runtime.pending() is None
    waiting = paused["events"][1]
    assert (waiting["operationId"], waiting["operationType"]) == ("cleanup-1", "shell")
    assert waiting["details"] == {"command": "rm -rf temp", "policy": "shell.approve"}
    assert (resumed["runId"], resumed["status"]) == (paused["runId"], "completed")
    assert [event["stdout"] for event in resumed["events"]] == ["", "1\n"]
    assert resumed["events"][0]["operationId"] == "cleanup-1"


@pytest.mark.rule("A8")
@pytest.mark.parametrize(("given", "said"), [({}, "Denied by the user"), ({"reason": "Keep it."}, "Keep it.")])
async def test_a_denied_operation_is_answered_and_those_behind_it_go_on(
    bench: Workbench, given: dict[str, str], said: str
) -> None:
    bench.write("temp/f", ".")
    async with bench.open() as talk:
        await talk.send(REMOVE, shell("cat temp/f"))
        resumed = await talk.decide("cleanup-1", "denied", **given)
    denied, went_on = bare(resumed["events"])
    assert denied == {"type": "policyDenied", "operationId": "cleanup-1", "operationType": "shell", "reason": said}
    assert (went_on["stdout"], resumed["status"]) == (".", "completed")


@pytest.mark.rule("A8")
@pytest.mark.parametrize(("words", "kind"), [("approved", "shell"), (" Denied\n", "policyDenied")])
async def test_plain_words_decide_on_what_waits(bench: Workbench, words: str, kind: str) -> None:
    async with bench.open() as talk:
        await talk.send(REMOVE)
        unclear = await talk.say({"type": "userMessage", "content": "I do not think so"})
        assert (unclear["status"], seen(unclear)) == ("awaiting_approval", ["error"])
        assert seen(await talk.say({"type": "userMessage", "content": words})) == [kind]
        late = await talk.say({"type": "userMessage", "content": words})
    assert late["events"][0]["message"] == "no operation waits for a decision"


@pytest.mark.rule("A7")
async def test_an_operation_without_an_id_is_given_one(bench: Workbench) -> None:
    async with bench.open() as talk:
        paused = await talk.send(shell("rm -rf temp"))
        given = paused["events"][0]["operationId"]
        resumed = await talk.decide(given)
    assert resumed["events"][0]["operationId"] == given
    assert given.startswith("op_")


@pytest.mark.rule("A7", "A8")
async def test_an_id_that_was_decided_on_in_the_batch_does_not_stand_for_a_second_operation(bench: Workbench) -> None:
    async with bench.open() as talk:
        await talk.send(REMOVE, REMOVE | {"command": "rm -rf precious"})
        paused = await talk.decide("cleanup-1")
        again = paused["events"][1]["operationId"]
        assert again != "cleanup-1"
        repeated = await talk.decide("cleanup-1")
        assert (repeated["status"], seen(repeated)) == ("awaiting_approval", ["error"])
        assert (await talk.decide(again))["status"] == "completed"


@pytest.mark.rule("A7")
async def test_while_an_operation_waits_no_other_message_is_taken_up(bench: Workbench) -> None:
    async with bench.open() as talk:
        paused = await talk.send(REMOVE)
        refused = await talk.send({"type": "createFile", "path": "f", "content": "."})
        assert (refused["runId"], refused["status"]) == (paused["runId"], "awaiting_approval")
        assert "cleanup-1 waits for a decision" in refused["events"][0]["message"]
        assert not (bench.root / "f").exists()
        assert (await talk.decide("cleanup-1"))["status"] == "completed"


@pytest.mark.rule("A8")
@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ({"operationId": "cleanup-1", "decision": "approved"}, "it was approved already, in run_"),
        ({"operationId": "other", "decision": "approved"}, "no operation with this id waits"),
        ({"operationId": "cleanup-1", "decision": "perhaps"}, 'approval.decision: must be "approved" or "denied"'),
        ({"decision": "approved"}, "approval.operationId: is missing"),
        ({"operationId": 3, "decision": "approved"}, "approval.operationId: must be a string"),
        ("approved", "approval: must be an object"),
    ],
)
async def test_a_decision_on_nothing_is_a_clear_error(bench: Workbench, decision: Any, told: str) -> None:
    async with bench.open() as talk:
        await talk.send(REMOVE)
        await talk.decide("cleanup-1")
        refused = await talk.say({"approval": decision})
    assert (refused["status"], seen(refused)) == ("error", ["error"])
    assert told in refused["events"][0]["message"]
    assert refused["events"][0]["category"] == "validation"


@pytest.mark.rule("A8")
async def test_a_decision_that_names_a_run_is_for_that_run_only(bench: Workbench) -> None:
    async with bench.open() as talk:
        first = await talk.send(REMOVE)
        await talk.decide("cleanup-1")
        second = await talk.send(REMOVE)
        wrong = await talk.decide("cleanup-1", runId=first["runId"])
        assert "runId" in wrong["events"][0]["message"]
        assert (await talk.decide("cleanup-1", runId=second["runId"]))["status"] == "completed"


@pytest.mark.rule("A8", "O11")
async def test_what_waits_survives_the_runtime_and_is_carried_out_once(bench: Workbench) -> None:
    bench.write("temp/f", ".")
    async with bench.open() as talk:
        paused = await talk.send({"type": "message", "content": "."}, REMOVE, shell("echo on >> trace"))
    async with bench.open() as talk:
        [again] = await talk.resume_unfinished()
        assert (again["runId"], again["status"], seen(again)) == (
            paused["runId"],
            "awaiting_approval",
            ["approvalRequired"],
        )
        resumed = await talk.decide("cleanup-1")
    assert (resumed["runId"], seen(resumed)) == (paused["runId"], ["shell", "shell"])
    async with bench.open() as talk:
        assert await talk.resume_unfinished() == []
        late = await talk.decide("cleanup-1")
        assert "it was approved already" in late["events"][0]["message"]
    assert bench.text("trace") == "on\n"


@pytest.mark.rule("A9")
async def test_everything_is_in_the_log_but_for_contents(bench: Workbench) -> None:
    secret = "hunter2-hunter2"
    async with bench.open() as talk:
        await talk.send(
            {"type": "createFile", "path": "f", "content": secret},
            shell("cat f", env={"TOKEN": secret}),
            {"type": "readFile", "path": "f"},
            {"type": "bogus"},
            REMOVE,
        )
        await talk.decide("other")
        await talk.decide("cleanup-1", "denied", reason="No.")
        log = list(read_audit(bench.state))  # also while the runtime has it
    assert [(record.kind, record.position) for record in log] == [
        ("message", None),
        ("event", 0),
        ("begun", 1),
        *(("event", position) for position in range(1, 5)),
        ("refused", None),
        ("decision", 4),
        ("event", 4),
        ("ended", None),
    ]
    text = b"".join(bytes(record.data) for record in log).decode()
    assert secret not in text
    assert all(word in text for word in ('"path":"f"', '"command":"cat f"', '"contentBytes":15', '"stdoutBytes":15'))
    assert all(word in text for word in ('"reason":"No."', '"env":["TOKEN"]', '"command":"rm -rf temp"'))
    assert len({record.run_id for record in log}) == 1


@pytest.mark.rule("A7")
async def test_whatever_is_refused_while_an_operation_waits_says_that_it_waits(bench: Workbench) -> None:
    async with bench.open() as talk:
        paused = await talk.send(REMOVE)
        for refused in (await talk.say("no message"), await talk.taken(await talk.runtime.refuse("too long"))):
            assert (refused["runId"], refused["status"]) == (paused["runId"], "awaiting_approval")
