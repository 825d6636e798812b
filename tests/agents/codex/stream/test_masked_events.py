"""Test that no event contains a secret of the run, at any position and with any truncation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.events import ExitStatus
from codex_adapter.records import encode_completion, encode_events

from ....rows import rows

SECRET = "correct-horse-battery-staple"
TOKEN = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def records(stdout: bytes, *secrets: str, full_payloads: bool = False) -> bytes:
    """All that is given out of a run, in one read and byte by byte, which must be the same."""
    found = []
    for reads in ([stdout], [stdout[place : place + 1] for place in range(len(stdout))]):
        pipeline = codex_pipeline(secrets=secrets, full_payloads=full_payloads)
        events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
        completion = pipeline.completion(ExitStatus(code=0))
        found.append(encode_events(events) + encode_completion(len(events), completion))
    assert found[0] == found[1]
    return found[0]


def item_line(phase: str = "completed", **item: Any) -> bytes:
    return json.dumps({"type": f"item.{phase}", "item": {"id": "item_0", **item}}, ensure_ascii=False).encode() + b"\n"


@pytest.mark.rule("X5")
@rows(
    "line",
    [
        item_line(type="agent_message", text=f"it is {SECRET}."),
        item_line("started", type="reasoning", text=SECRET),
        item_line("delta", type="agent_message", delta=SECRET),
        item_line(type="error", message=f"bad key {SECRET}"),
        item_line(type="todo_list", items=[{"text": f"use {SECRET}"}, {"text": "two"}]),
        item_line(type="mcp_tool_call", server=SECRET, tool="t"),
        item_line(type="collab_tool_call", tool=SECRET),
        item_line(type="command_execution", id=SECRET),
        item_line(type="agent_message", text="t", id=SECRET),
        item_line("failed", type="agent_message", text="t").replace(
            b'"type"', b'"error":"%b","type"' % SECRET.encode(), 1
        ),
        item_line(type=SECRET),
        b'{"type":"error","message":"%b"}\n' % SECRET.encode(),
        b'{"type":"%b"}\n' % SECRET.encode(),
        b'{"type":"thread.started","thread_id":"%b"}\n' % SECRET.encode(),
        b'{"type":"turn.started","turn_id":"%b"}\n' % SECRET.encode() + item_line("started", type="web_search"),
        b'{"type":"turn.completed","usage":{"%b":1}}\n' % SECRET.encode(),
        item_line("started", type="web_search")
        + b'{"type":"turn.completed","thread_id":"%b","usage":{}}\n' % SECRET.encode(),
    ],
)
def test_a_secret_is_masked_wherever_a_line_may_have_it(line: bytes) -> None:
    stdout = line + item_line("started", type="command_execution") + item_line(type="agent_message", text="end")
    found = records(stdout, SECRET)
    assert SECRET.encode() not in found
    assert b"***" in found or b'"unknown"' in found


@pytest.mark.rule("X5", "M7")
@rows(
    "item",
    [
        {"type": "command_execution", "command": f"echo {SECRET}", "aggregated_output": SECRET},
        {"type": "command_execution", "stdout": SECRET, "stderr": SECRET},
        {"type": "file_change", "changes": [{"path": f"/{SECRET}", "kind": "add"}], "diff": SECRET},
        {"type": "mcp_tool_call", "server": SECRET, "tool": SECRET, "arguments": {SECRET: [SECRET]}, "result": SECRET},
        {"type": "mcp_tool_call", "error": {"message": SECRET}},
        {"type": "collab_tool_call", "tool": SECRET, "prompt": SECRET, "agents_states": {"a": {"message": SECRET}}},
        {"type": "web_search", "query": SECRET, "action": {"url": SECRET}},
    ],
)
def test_a_secret_is_masked_in_every_payload(item: dict[str, Any]) -> None:
    found = records(item_line(**item), SECRET, full_payloads=True)
    assert SECRET.encode() not in found
    assert found.count(b"***") >= sum(SECRET in json.dumps(value) for value in item.values())


@pytest.mark.rule("X5", "M0")
def test_a_secret_is_masked_in_the_name_of_an_unknown_type_before_the_name_is_cut() -> None:
    secret = "s3cret-" * 20
    assert b"s3cret" not in records(b'{"type":"%b"}\n' % secret.encode(), secret)
    assert b"s3cret" not in records(b'{"type":"a-%b/x"}\n' % secret.encode(), secret + "/x")


@pytest.mark.rule("X5", "B2")
@pytest.mark.parametrize("before", [65_536 - len(SECRET) - 1, 65_536 - 5, 65_536 - 1, 65_536, 2 * 65_536 - 5])
def test_a_secret_across_the_place_where_a_text_is_split_is_masked(before: int) -> None:
    pipeline = codex_pipeline(secrets=(SECRET,))
    events = pipeline.receive_data(item_line(type="agent_message", text="x" * before + SECRET + "y"))
    assert "".join(event.text or "" for event in events) == "x" * before + "***y"


@pytest.mark.rule("X5", "B3")
@rows("before", range(4_096 - 20 - len(SECRET), 4_096))
def test_a_secret_across_the_place_where_a_message_is_cut_is_masked(before: int) -> None:
    pipeline = codex_pipeline(secrets=(SECRET,))
    (event,) = pipeline.receive_data(
        b'{"type":"error","message":"%b"}\n' % (b"." * before + SECRET.encode() + b"y" * 99)
    )
    assert event.message is not None
    assert event.message.rstrip(".").lstrip(".").removesuffix("\u2026(truncated)").rstrip("y") in ("", "*", "**", "***")


@pytest.mark.rule("X5", "B5")
def test_a_secret_across_the_place_where_the_final_text_is_cut_is_masked() -> None:
    for before in range(65_536 - 20 - len(SECRET), 65_536):
        pipeline = codex_pipeline(secrets=(SECRET,))
        pipeline.receive_data(item_line(type="agent_message", text="." * before + SECRET + "y" * 99))
        final_text = pipeline.completion(ExitStatus(code=0)).final_text
        assert final_text is not None
        assert "corr" not in final_text


@pytest.mark.rule("X5", "M7")
@pytest.mark.parametrize("before", [0, 16_384 - 5, 16_384 - len(SECRET), 16_384])
def test_a_secret_across_the_place_where_a_payload_is_cut_is_masked(before: int) -> None:
    output = "x" * before + SECRET + "y" * 20_000
    pipeline = codex_pipeline(secrets=(SECRET,), full_payloads=True)
    (event,) = pipeline.receive_data(item_line(type="command_execution", aggregated_output=output))
    assert b"corr" not in encode_events([event])


@pytest.mark.rule("X5", "M7")
def test_of_a_payload_that_masking_makes_much_shorter_no_part_of_a_secret_is_left() -> None:
    secret = "q" * 50 + "w" * 50
    pipeline = codex_pipeline(secrets=(secret,), full_payloads=True)
    (event,) = pipeline.receive_data(item_line(type="command_execution", aggregated_output=secret * 1000))
    assert b"qqq" not in encode_events([event])


@pytest.mark.rule("X5", "L5", "B2")
def test_a_piece_of_a_split_text_is_not_masked_for_how_it_begins() -> None:
    """Alone, the second piece looks like a token; in its text it does not."""
    token = "AKIAQ3EGWK4RXNPLT2ZD"
    text = "x" * 65_536 + token
    stdout = item_line(type="agent_message", text=text) + item_line(type="agent_message", text=f"see {token}")
    pipeline = codex_pipeline()
    events = pipeline.receive_data(stdout)
    assert "".join(event.text or "" for event in events) == text + "see ***"


@pytest.mark.rule("X5", "L5", "X2")
@pytest.mark.parametrize("secret", ["turn failed", "codex stream parse error", "session handle id", "redacted"])
def test_the_adapters_own_words_are_not_masked(secret: str) -> None:
    stdout = b'{"type":"turn.failed"}\n{\n' + item_line(type="agent_message", text=f"see {secret}")
    found = records(stdout, secret)
    assert b'"message":"turn failed"' in found
    assert b'"message":"codex stream parse error (redacted): malformed JSON at byte 1 (line_bytes=1)"' in found
    assert b'"text":"see ***"' in found
