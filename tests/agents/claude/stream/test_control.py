"""Test the lines that the decoder sends to the CLI."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter import Event, Pipeline
from codex_adapter.agents.claude.stream.control import encode_prompt
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder

INIT = {"type": "system", "subtype": "init", "session_id": "s-1"}
DONE = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "s-1"}


def question(subtype: str = "can_use_tool", request_id: str = 'r"1', **more: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **more}}


class Talk:
    """A decoder and what it sends after the lines that it receives."""

    def __init__(self) -> None:
        self.pipeline = Pipeline(ClaudeDecoder)

    def hear(self, *lines: Any) -> list[Event]:
        return self.pipeline.receive_data(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    @property
    def sent(self) -> list[Any]:
        return [json.loads(line) for line in self.pipeline.decoder.data_to_send().splitlines()]


@pytest.mark.rule("AG9", "S3")
@pytest.mark.parametrize("prompt", ["Do it.", 'two\nlines "quoted"\u2028\x7f', "x" * 1_000_000])
def test_a_prompt_is_one_line(prompt: str) -> None:
    line = encode_prompt(prompt)
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"type": "user", "message": {"role": "user", "content": prompt}}


@pytest.mark.rule("AG3", "AG9")
@pytest.mark.parametrize(
    ("asked", "word", "name"),
    [({"tool_name": "Write"}, "denied", "Write"), ({"requires_user_interaction": True}, "Decide yourself", "a tool")],
)
def test_a_permission_is_denied_with_one_event(asked: dict[str, Any], word: str, name: str) -> None:
    talk = Talk()
    events = talk.hear(INIT, question(**asked))
    assert [(event.kind, event.message) for event in events][1:] == [("status", f"permission denied: {name}")]
    [answer] = talk.sent
    assert answer["type"] == "control_response"
    assert (answer["response"]["subtype"], answer["response"]["request_id"]) == ("success", 'r"1')
    assert answer["response"]["response"]["behavior"] == "deny"
    assert word in answer["response"]["response"]["message"]
    assert talk.sent == []


@pytest.mark.rule("AG3", "AG9")
def test_any_other_request_is_refused() -> None:
    talk = Talk()
    assert len(talk.hear(INIT, question("hook_callback"))) == 1
    assert talk.sent == [
        {
            "type": "control_response",
            "response": {"subtype": "error", "request_id": 'r"1', "error": "not supported"},
        }
    ]


@pytest.mark.rule("AG3", "AG9")
def test_a_question_that_is_withdrawn_needs_nothing_more() -> None:
    talk = Talk()
    talk.hear(INIT, question())
    assert len(talk.sent) == 1
    assert talk.hear({"type": "control_cancel_request", "request_id": 'r"1'}) == []
    assert talk.sent == []


@pytest.mark.rule("AG3", "AG9")
def test_standard_input_is_closed_after_the_first_turn() -> None:
    talk = Talk()
    assert talk.pipeline.decoder.input_open
    talk.hear(INIT)
    assert talk.pipeline.decoder.input_open
    talk.hear(DONE)
    assert not talk.pipeline.decoder.input_open
    assert [event.message for event in talk.hear(INIT, question())][1:] == ["permission denied: a tool"]
    assert talk.sent == []


@pytest.mark.rule("AG3", "K4")
def test_the_request_to_end_is_an_interrupt() -> None:
    line = Talk().pipeline.decoder.interrupt()
    assert json.loads(line)["request"] == {"subtype": "interrupt"}
    assert line.endswith(b"\n")
