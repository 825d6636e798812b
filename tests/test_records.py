"""Test the wire records byte by byte: key order, omitted nulls, one line each."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.errors import (
    AdapterError,
    BackendError,
    BackendKind,
    InvalidAgentKindError,
    InvalidRequestError,
    RunCancelled,
    RunTimedOut,
    SpawnError,
    UnknownBackendError,
    UnsupportedCapabilityError,
)
from codex_adapter.events import (
    AgentInfo,
    Completion,
    Dropped,
    ErrorSource,
    Event,
    EventKind,
    ExitStatus,
    Facet,
    HintNotice,
    Plan,
    PlanItem,
    PlanStatus,
    RateLimit,
    RateLimitStatus,
    Retry,
    Session,
    SessionHandle,
    TextPart,
    TextPhase,
    TokenUsage,
    Tool,
    ToolBytes,
    ToolCall,
    ToolInput,
    ToolOutput,
    ToolPhase,
    ToolStatus,
    TurnOutcome,
    UnknownLine,
)
from codex_adapter.hints import ADVICE, Hint
from codex_adapter.records import (
    CompletedRecord,
    ErrorBody,
    FailedRecord,
    Record,
    completion_body,
    decode_record,
    encode_completion,
    encode_events,
    encode_lines,
    encode_record,
)

from .rows import rows


@pytest.mark.rule("W1")
def test_a_status_event_is_written_without_what_it_does_not_have() -> None:
    handle = SessionHandle(Session("T"))
    assert encode_events(
        [Event(0, "codex", "status", "status", data=handle), Event(1, "codex", "status", "status")]
    ) == (
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","channel":"status",'
        b'"data":{"schema":"agent_api.session.handle.v1","session":{"id":"T"}}}\n'
        b'{"type":"event","seq":1,"agent_kind":"codex","kind":"status","channel":"status"}\n'
    )


@pytest.mark.rule("W1")
def test_the_fields_of_an_event_stand_in_their_order() -> None:
    part = TextPart(None, "agent_message", "delta", 2, 3)
    (line,) = encode_events([Event(12, "codex", "text_output", "assistant", "t\u00e9\n", "m", part)]).splitlines()
    assert line.decode() == (
        '{"type":"event","seq":12,"agent_kind":"codex","kind":"text_output","channel":"assistant","text":"t\u00e9\\n",'
        '"message":"m","data":{"schema":"codex_adapter.text.v1","item_id":null,"item_type":"agent_message",'
        '"phase":"delta","part":2,"parts":3}}'
    )


@pytest.mark.rule("W1", "M1")
def test_an_empty_text_is_not_left_out() -> None:
    assert b'"text":""' in encode_events([Event(0, "codex", "text_output", text="")])
    assert b'"message":""' in encode_events([Event(0, "codex", "error", message="")])


@pytest.mark.rule("W3")
def test_no_events_are_no_lines() -> None:
    assert encode_events([]) == b""


@pytest.mark.rule("W3", "B6")
@given(st.lists(st.text(), min_size=1, max_size=5))
def test_each_record_is_one_line_whatever_is_in_it(texts: list[str]) -> None:
    events = [Event(seq, "codex", "text_output", "assistant", text) for seq, text in enumerate(texts)]
    data = encode_events(events) + encode_completion(len(events), Completion(ExitStatus(code=0), final_text=texts[-1]))
    assert data.endswith(b"\n")
    lines = data[:-1].split(b"\n")
    assert [json.loads(line)["seq"] for line in lines] == list(range(len(texts) + 1))
    assert [json.loads(line)["text"] for line in lines[:-1]] == texts
    assert b"\r" not in data


@pytest.mark.rule("W2")
def test_a_completion_has_its_fields_in_their_order() -> None:
    completion = Completion(
        ExitStatus(code=0), final_text="Done.", session_id="T", turn="completed", usage={"input_tokens": 1}
    )
    assert encode_completion(9, completion) == (
        b'{"type":"completion","seq":9,"outcome":"completed","ok":true,"status":{"code":0,"signal":null},"final_text":"Done.",'
        b'"session_id":"T","turn":"completed","usage":{"input_tokens":1}}\n'
    )


@pytest.mark.rule("F11")
@rows("turn", [None, "completed", "failed", "cut_off"])
@rows("status", [ExitStatus(code=0), ExitStatus(code=1), ExitStatus(signal="SIGKILL")], ids=str)
def test_a_completion_is_ok_when_its_turn_completed_and_the_agent_exited_with_zero(
    status: ExitStatus, turn: TurnOutcome | None
) -> None:
    completion = Completion(status, turn=turn)
    assert completion.ok is (turn == "completed" and status.code == 0)
    assert json.loads(encode_completion(0, completion))["ok"] is completion.ok


@pytest.mark.rule("W2")
def test_what_a_completion_does_not_have_is_left_out_but_for_both_sides_of_its_status() -> None:
    assert encode_completion(3, Completion(ExitStatus(signal="SIGKILL"))) == (
        b'{"type":"completion","seq":3,"outcome":"completed","ok":false,"status":{"code":null,"signal":"SIGKILL"}}\n'
    )
    assert b'"final_text":""' in encode_completion(3, Completion(ExitStatus(code=0), final_text=""))


@pytest.mark.rule("W2")
@rows(
    ("error", "kind", "message"),
    [
        (InvalidRequestError("prompt: must not be empty"), "invalid_request", "prompt: must not be empty"),
        (
            UnsupportedCapabilityError("codex", "a.b"),
            "unsupported_capability",
            "agent kind 'codex' does not support 'a.b'",
        ),
        (UnknownBackendError("no backend"), "unknown_backend", "no backend"),
        (InvalidAgentKindError("not a kind"), "invalid_agent_kind", "not a kind"),
        (BackendError("closed", "codex stream closed unexpectedly"), "backend", "codex stream closed unexpectedly"),
        (RunCancelled("cancelled", "cancelled"), "backend", "cancelled"),
        (RunTimedOut("timeout", "codex stream idle timeout: 30s"), "backend", "codex stream idle timeout: 30s"),
        (SpawnError(not_found=True), "backend", str(BackendError("spawn"))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_run_without_a_completion_tells_its_error(error: AdapterError, kind: str, message: str) -> None:
    failure = f',"failure":"{error.failure}"' if isinstance(error, BackendError) else ""
    error_body = f'{{"kind":"{kind}","message":"{message}"{failure}}}'
    record = f'{{"type":"completion","seq":4,"outcome":"failed","ok":false,"error":{error_body}}}\n'
    assert encode_completion(4, error).decode() == record


@pytest.mark.rule("W2", "F4", "F9", "F15")
def test_a_record_without_a_completion_has_hint_advice_and_session_where_a_completion_has_them() -> None:
    timed_out = RunTimedOut("timeout", hint="time_limit")
    timed_out.session_id, timed_out.run_usage, timed_out.cost_usd = "T", {"in": 3}, 0.25
    failed = json.loads(encode_completion(0, timed_out))
    assert (failed["hint"], failed["advice"], failed["session_id"]) == ("time_limit", ADVICE["time_limit"], "T")
    assert (failed["error"]["hint"], failed["error"]["advice"]) == (failed["hint"], failed["advice"])
    assert (failed["run_usage"], failed["cost_usd"]) == ({"in": 3}, 0.25)
    error = ErrorBody("backend", str(timed_out), "timeout", "time_limit", ADVICE["time_limit"])
    assert decode_record(encode_completion(0, timed_out)) == FailedRecord(0, error, "T", {"in": 3}, 0.25)
    assert json.loads(encode_completion(0, BackendError("io", advice="Enter it.")))["advice"] == "Enter it."


@pytest.mark.rule("W2", "F4")
@rows("failure", get_args(BackendKind))
def test_the_failure_of_a_backend_error_is_in_its_record_and_read_again(failure: BackendKind) -> None:
    line = encode_completion(0, BackendError(failure))
    assert json.loads(line)["error"]["failure"] == failure
    record = decode_record(line)
    assert isinstance(record, FailedRecord)
    assert record.error.failure == failure


@pytest.mark.rule("W2", "F9")
def test_the_advice_on_the_wire_is_the_error_s_own_or_that_of_its_hint() -> None:
    for error, advice in (
        (SpawnError(not_found=True, advice="Install it.", hint="cli_not_found"), "Install it."),
        (SpawnError(not_found=True, hint="cli_not_found"), ADVICE["cli_not_found"]),
        (BackendError("io", advice="Enter it."), "Enter it."),
        (BackendError("other"), None),
    ):
        assert json.loads(encode_completion(0, error))["error"].get("advice") == advice


@pytest.mark.rule("W2", "F9")
def test_the_hint_and_its_advice_are_the_last_fields_of_the_completion_or_of_the_error() -> None:
    failed = Completion(ExitStatus(code=1), turn="failed", usage={"input_tokens": 1}, hint="rate_limited")
    assert encode_completion(3, failed) == (
        b'{"type":"completion","seq":3,"outcome":"completed","ok":false,"status":{"code":1,"signal":null},"turn":"failed",'
        b'"usage":{"input_tokens":1},"hint":"rate_limited","advice":"%b"}\n' % ADVICE["rate_limited"].encode()
    )
    assert encode_completion(3, RunTimedOut("timeout", "codex stream idle timeout: 30s", hint="no_network")) == (
        b'{"type":"completion","seq":3,"outcome":"failed","ok":false,'
        b'"error":{"kind":"backend","message":"codex stream idle timeout: 30s","failure":"timeout",'
        b'"hint":"no_network","advice":"%b"},"hint":"no_network","advice":"%b"}\n'
        % ((ADVICE["no_network"].encode(),) * 2)
    )


@pytest.mark.rule("W2")
def test_the_body_of_a_completion_is_its_record_without_its_place() -> None:
    for outcome in (Completion(ExitStatus(code=3), turn="failed"), BackendError("other", "m")):
        body = json.loads(completion_body(outcome))
        assert {"type": "completion", "seq": 7, **body} == json.loads(encode_completion(7, outcome))


@pytest.mark.rule("W1", "W3")
def test_what_some_readers_take_for_the_end_of_a_line_is_escaped() -> None:
    text = "a\u2028b\u2029c\u2014d"
    event = Event(0, "codex", "text_output", "assistant", text)
    assert b"a\\u2028b\\u2029c\xe2\x80\x94d" in encode_events([event])
    assert json.loads(encode_events([event]))["text"] == text
    completion = encode_completion(1, Completion(status=ExitStatus(code=0), final_text=text))
    assert b"\xe2\x80\xa8" not in completion
    assert json.loads(completion)["final_text"] == text


TEXTS = st.text(max_size=20)
NAMES = st.none() | TEXTS
COUNTS = st.integers(0, 2**63)
USAGES = st.none() | st.dictionaries(TEXTS, st.integers(-(2**70), 2**70), max_size=3)
HINTS = st.none() | st.sampled_from(get_args(Hint))
FAILURES = st.none() | st.sampled_from(get_args(BackendKind))
AMOUNTS = st.none() | st.floats(0, 1e12)
INTEGERS = st.none() | st.integers(-(2**63), 2**63)
TOOLS = st.builds(
    Tool,
    *(NAMES, NAMES, NAMES, TEXTS, st.sampled_from(get_args(ToolPhase)), st.sampled_from(get_args(ToolStatus))),
    *(INTEGERS, st.from_type(ToolBytes), NAMES, NAMES, NAMES),
)
STEPS = st.builds(PlanItem, TEXTS, st.booleans(), st.none() | st.sampled_from(get_args(PlanStatus)))
FACETS: st.SearchStrategy[Facet] = st.one_of(
    # `from_type` would pass the factory of a default as its value.
    st.builds(TextPart, NAMES, TEXTS, st.sampled_from(get_args(TextPhase)), COUNTS, COUNTS, NAMES),
    st.builds(ToolCall, TOOLS, st.none() | st.from_type(ToolInput), st.none() | st.from_type(ToolOutput)),
    st.from_type(SessionHandle),
    st.builds(TokenUsage, st.dictionaries(TEXTS, COUNTS, max_size=3), AMOUNTS),
    st.builds(Plan, st.lists(STEPS, max_size=3).map(tuple)),
    st.from_type(ErrorSource),
    st.from_type(HintNotice),
    st.builds(Retry, INTEGERS, INTEGERS, AMOUNTS, INTEGERS, NAMES),
    st.builds(RateLimit, st.sampled_from(get_args(RateLimitStatus)), NAMES, INTEGERS, AMOUNTS, NAMES),
    st.builds(AgentInfo, NAMES, NAMES),
    st.from_type(UnknownLine),
    st.just(Dropped()),
)
EVENTS = st.builds(Event, COUNTS, TEXTS, st.sampled_from(get_args(EventKind)), NAMES, NAMES, NAMES, st.none() | FACETS)
COMPLETIONS = st.builds(
    Completion,
    st.builds(ExitStatus.from_returncode, st.integers(-64, 255)),
    final_text=NAMES,
    session_id=NAMES,
    turn=st.sampled_from([None, *get_args(TurnOutcome)]),
    usage=USAGES,
    run_usage=USAGES,
    cost_usd=AMOUNTS,
    hint=HINTS,
)
RECORDS: st.SearchStrategy[Record] = st.one_of(
    EVENTS,
    st.builds(CompletedRecord, COUNTS, COMPLETIONS),
    st.builds(FailedRecord, COUNTS, st.builds(ErrorBody, TEXTS, TEXTS, FAILURES, HINTS), NAMES, USAGES, AMOUNTS),
)
GOLDENS = sorted((Path(__file__).parents[1] / "fixtures").rglob("*.events.jsonl"))


@pytest.mark.rule("W1", "W2")
@given(RECORDS)
def test_each_record_is_read_as_what_was_written(record: Record) -> None:
    line = encode_record(record)
    assert decode_record(line) == record
    assert type(decode_record(line)) is type(record)
    assert encode_record(decode_record(line)) == line


@pytest.mark.rule("W1", "W2")
def test_the_records_of_all_recordings_are_read_and_written_again_to_the_byte() -> None:
    assert GOLDENS
    for path in GOLDENS:
        data = path.read_bytes()
        assert b"".join(encode_record(decode_record(line)) for line in data.splitlines()) == data, path.name


@pytest.mark.rule("W2")
def test_a_record_is_written_like_the_outcome_that_it_carries() -> None:
    completion, error = Completion(ExitStatus(code=1), hint="no_network"), BackendError("other", "m", hint="forbidden")
    assert encode_record(CompletedRecord(4, completion)) == encode_completion(4, completion)
    body = ErrorBody("backend", "m", "other", "forbidden", ADVICE["forbidden"])
    assert encode_record(FailedRecord(seq=4, error=body)) == encode_completion(4, error)


@pytest.mark.rule("W1", "W2")
@given(RECORDS, st.dictionaries(TEXTS.map("x_".__add__), st.none() | TEXTS | st.integers(), max_size=3))
def test_fields_that_nobody_knows_change_nothing(record: Record, others: dict[str, object]) -> None:
    line = json.dumps({"time": "2026-11-22T07:07:02.123Z", **others, **json.loads(encode_record(record))}).encode()
    assert decode_record(line) == record


@pytest.mark.rule("W1", "W2")
def test_what_a_later_release_may_write_is_read_as_far_as_it_is_known() -> None:
    event = {"type": "event", "seq": 1, "agent_kind": "codex", "kind": "status"}
    of_tomorrow = {"schema": "codex_adapter.tomorrow.v1", "items": 5}
    assert decode_record(json.dumps({**event, "data": of_tomorrow}).encode()) == Event(1, "codex", "status")
    assert decode_record(json.dumps({**event, "data": None}).encode()) == Event(1, "codex", "status")
    failed = {"type": "completion", "seq": 1, "outcome": "failed"}
    error = {"kind": "backend", "message": "m", "failure": "tomorrows", "hint": "tomorrows"}
    assert decode_record(json.dumps({**failed, "error": error}).encode()) == FailedRecord(
        seq=1, error=ErrorBody("backend", "m")
    )
    completed = {"type": "completion", "seq": 1, "outcome": "completed", "status": {"code": 0}, "hint": ["x"]}
    assert decode_record(json.dumps(completed).encode()) == CompletedRecord(1, Completion(ExitStatus(code=0)))


@pytest.mark.rule("W1", "W2", "X1")
@rows(
    "line",
    [
        b"",
        b"SECRET",
        b'"SECRET"',
        b"[]",
        b'{"SECRET":1}',
        b"[" * 100_000,
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","x":' + b"[" * 100_000,
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","channel":"SECRET',
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","channel":"SECRET\xff"}',
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","channel":"SECRET\\ud800"}',
        b'{"type":"event","seq":-1,"agent_kind":"codex","kind":"status"}',
        b'{"type":"event","seq":"SECRET","agent_kind":"codex","kind":"status"}',
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"SECRET"}',
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","data":"SECRET"}',
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","data":{"schema":7}}',
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","data":{"schema":"codex_adapter.plan.v1"}}',
        b'{"type":"event","seq":0,"agent_kind":"codex","kind":"status","data":{"dropped":{"reason":"SECRET"}}}',
        b'{"type":"SECRET","seq":0}',
        b'{"type":"completion","seq":0}',
        b'{"type":"completion","seq":0,"outcome":"SECRET"}',
        b'{"type":"completion","seq":0,"outcome":"completed"}',
        b'{"type":"completion","seq":0,"outcome":"completed","status":"SECRET"}',
        b'{"type":"completion","seq":0,"outcome":"failed","error":"SECRET"}',
        b'{"type":"completion","seq":0,"outcome":"failed","error":{"kind":"SECRET"}}',
    ],
    ids=lambda line: line[:100].decode(errors="replace"),
)
def test_what_is_no_record_is_refused_and_nothing_of_it_is_said(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not a record: ") as refused:
        decode_record(line)
    assert "SECRET" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None or refused.value.__suppress_context__


@pytest.mark.rule("W1", "X1")
@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_refused(data: bytes) -> None:
    with suppress(ValueError):
        decode_record(data)


@pytest.mark.rule("W1")
@pytest.mark.fault("resources", "A process encodes records for days", "The encoder keeps no data of them in memory")
@pytest.mark.parametrize("records", [["."], (".",)])
def test_what_was_encoded_is_let_go_of(records: Sequence[object]) -> None:
    encode_lines(records)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(1_000):
            encode_lines(records)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 10_000
