"""Test that a text that cannot be masked is dropped, while the event and the run continue."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.masking import masker as masking
from codex_adapter.core.masking.masker import MASK, Masker
from codex_adapter.events import Event, ExitStatus
from codex_adapter.records import encode_completion, encode_events

WORD = "wordthatisseen"
ERRORS = [RecursionError, MemoryError, re.error, UnicodeEncodeError, ValueError, AssertionError]


def item(phase: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{phase}", "item": {"id": f"item_{WORD}", **fields}}


LINES: dict[str, dict[str, Any]] = {
    "thread": {"type": "thread.started", "thread_id": WORD},
    "turn": {"type": "turn.started", "turn_id": WORD},
    "message": item(type="agent_message", text=WORD),
    "long message": item(type="agent_message", text=f"{WORD} " * 10_000),
    "thought": item("started", type="reasoning", text=WORD),
    "error": {"type": "error", "message": WORD},
    "warning": item(type="error", message=f"{WORD} " * 1_000),
    "failed item": {**item("failed", type="reasoning", text=WORD), "error": WORD},
    "plan": item(type="todo_list", items=[{"text": WORD}]),
    "command": item(type="command_execution", command=WORD, aggregated_output=WORD, exit_code=3),
    "long command": item(type="command_execution", command=WORD, aggregated_output=f"{WORD} " * 20_000),
    "patch": item(type="file_change", changes=[{"path": WORD}], diff=WORD, stdout=WORD),
    "MCP": item(type="mcp_tool_call", server=WORD, tool=WORD, arguments={WORD: WORD}, result=[WORD], error=[WORD]),
    "sub-agent": item(type="collab_tool_call", tool=WORD, prompt=WORD, agents_states={WORD: WORD}),
    "search": item(type="web_search", query=WORD, action={WORD: WORD}),
    "unknown": {"type": WORD},
    "unknown item": item(type=WORD),
    "counts": {"type": "turn.completed", "usage": {WORD: 1}},
    "last": item(type="agent_message", text=f"the end, {WORD}"),
}


class Broken:
    """Stands in for a part of the masking and fails at whatever it is asked."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        return self

    def __call__(self, *_arguments: object) -> NoReturn:
        arguments = ("utf-8", WORD, 0, 1, WORD) if self._error is UnicodeEncodeError else (WORD,)
        raise self._error(*arguments)


def carried() -> tuple[list[Event], bytes]:
    pipeline = codex_pipeline(full_payloads=True, secrets=("some secret value",))
    events: list[Event] = []
    for line in LINES.values():
        events += pipeline.receive_data(json.dumps(line).encode() + b"\n")
    events += pipeline.receive_eof()
    completion = pipeline.completion(ExitStatus(code=0))
    return events, encode_events(events) + encode_completion(len(events), completion)


@pytest.mark.rule("X7")
@pytest.mark.fault("stream", "Masking of a text fails", "`***` replaces the text; the event and the run continue")
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("part", ["long_words", "may_have_token", "token_spans", "all"])
def test_whatever_fails_in_masking_no_text_comes_out_and_no_event_is_lost(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception], part: str
) -> None:
    expected, _ = carried()
    for name in ("long_words", "may_have_token", "token_spans") if part == "all" else (part,):
        monkeypatch.setattr(masking, name, Broken(error))
    if part == "token_spans":  # asked only for a text that the cheap look has found something in
        monkeypatch.setattr(masking, "may_have_token", lambda *_: True)
    events, written = carried()
    assert WORD.encode() not in written
    kinds = [(event.kind, event.channel, type(event.data)) for event in events]
    # A long text is no longer one, so it is not divided.
    assert kinds == [
        (event.kind, event.channel, type(event.data)) for event in expected if getattr(event.data, "part", 1) == 1
    ]
    assert [event.seq for event in events] == list(range(len(events)))
    texts = [
        text for event in events for text in (event.text, event.message if event.kind == "error" else None) if text
    ]
    assert set(texts) == {MASK}
    end = json.loads(written.splitlines()[-1])
    assert (end["outcome"], end["final_text"], end["session_id"], end["turn"]) == ("completed", MASK, MASK, "completed")


@pytest.mark.rule("X7")
def test_the_events_are_those_of_a_run_whose_masking_works() -> None:
    """So that what is missing above is not missing by chance."""
    events, written = carried()
    assert written.count(WORD.encode()) > 10_000
    assert {event.kind for event in events} == {"text_output", "tool_result", "status", "error", "unknown"}


@pytest.mark.rule("X7")
def test_a_text_that_has_no_bytes_is_dropped() -> None:
    for secrets in ([], ["some secret value"]):
        masker = Masker(secrets)
        assert masker.mask(f"{WORD}\ud800") == MASK
        assert masker.may_touch([WORD, "\udfff"])
        assert masker.mask(WORD) == WORD


@pytest.mark.rule("X7")
def test_what_is_no_failure_of_masking_is_not_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(masking, "long_words", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Masker().mask(WORD)


@pytest.mark.rule("X5", "X8")
def test_a_secret_of_an_environment_that_is_no_text_is_no_failure() -> None:
    """Python gives bytes of an environment that are no UTF-8 as surrogates."""
    masker = Masker(["secret\udcff\udcfevalue", "hunter2hunter2"])
    assert masker.mask(f"{WORD} hunter2hunter2") == f"{WORD} ***"
    assert masker.mask(f"{WORD} 736563726574fffe76616c7565") == f"{WORD} ***"


@pytest.mark.rule("X7")
@pytest.mark.fault("stream", "A text of millions of escapes may contain a secret", "`***` replaces the text at once")
def test_a_text_with_too_many_escapes_is_dropped_where_a_secret_may_be_in_it() -> None:
    masker = Masker(["hunter2/hunter2"])
    escapes = "%C3%A9" * 9_000
    assert masker.mask(f"{escapes} hunter2 " * 120) == MASK
    # Where none can be, nothing is undone.
    assert masker.mask(escapes * 120) == escapes * 120
    fewer = escapes * 4
    assert masker.mask(f"{fewer} hunter2%2Fhunter2") == f"{fewer} ***"
