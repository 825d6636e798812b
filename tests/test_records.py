"""The wire records, to the byte: keys in their order, nulls left out, one line each."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.errors import (
    AdapterError,
    BackendError,
    InvalidAgentKindError,
    InvalidRequestError,
    RunCancelled,
    RunTimedOut,
    SpawnError,
    UnknownBackendError,
    UnsupportedCapabilityError,
)
from codex_adapter.events import Completion, Event, ExitStatus, Session, SessionHandle, TextPart
from codex_adapter.records import completion_body, encode_completion, encode_events


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
        b'{"type":"completion","seq":9,"outcome":"completed","status":{"code":0,"signal":null},"final_text":"Done.",'
        b'"session_id":"T","turn":"completed","usage":{"input_tokens":1}}\n'
    )


@pytest.mark.rule("W2")
def test_what_a_completion_does_not_have_is_left_out_but_for_both_sides_of_its_status() -> None:
    assert encode_completion(3, Completion(ExitStatus(signal="SIGKILL"))) == (
        b'{"type":"completion","seq":3,"outcome":"completed","status":{"code":null,"signal":"SIGKILL"}}\n'
    )
    assert b'"final_text":""' in encode_completion(3, Completion(ExitStatus(code=0), final_text=""))


@pytest.mark.rule("W2")
@pytest.mark.parametrize(
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
    record = f'{{"type":"completion","seq":4,"outcome":"failed","error":{{"kind":"{kind}","message":"{message}"}}}}\n'
    assert encode_completion(4, error).decode() == record


@pytest.mark.rule("W2", "X1")
def test_the_advice_of_an_error_is_not_on_the_wire() -> None:
    error = SpawnError(not_found=True, advice="install it")
    assert b"install" not in encode_completion(0, error)


@pytest.mark.rule("W2", "F9")
def test_the_hint_is_the_last_field_of_the_completion_or_of_the_error() -> None:
    failed = Completion(ExitStatus(code=1), turn="failed", usage={"input_tokens": 1}, hint="rate_limited")
    assert encode_completion(3, failed) == (
        b'{"type":"completion","seq":3,"outcome":"completed","status":{"code":1,"signal":null},"turn":"failed",'
        b'"usage":{"input_tokens":1},"hint":"rate_limited"}\n'
    )
    assert encode_completion(3, RunTimedOut("timeout", "codex stream idle timeout: 30s", hint="no_network")) == (
        b'{"type":"completion","seq":3,"outcome":"failed",'
        b'"error":{"kind":"backend","message":"codex stream idle timeout: 30s","hint":"no_network"}}\n'
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
