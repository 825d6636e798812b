"""Test that the prompt reaches the model of the real CLI unchanged, at any length."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codex_adapter import ExitStatus
from codex_adapter.testing import ModelServer, answer, script

from .shapes import shape
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("S3", "Q1")]

MEBIBYTE = 1024 * 1024
ODD = {
    "white space around": "  \n\t Do it. \n\n",
    "line ends": "one\r\ntwo\rthree\n\nfour\n",
    "separators": "a\u2028b\u2029c\u0085d\x0ce\x1cf",
    "control characters": "a\x00b\x01c\x1b[31md\x7fe",
    "scripts": "日本語 עברית العربية ไทย 🏳️‍🌈👩‍👩‍👧 e\u0301",
    "beyond the basic plane": "\U0001f600\U0010fffd",
    "non-characters": "\ufffe\uffff\ufffd",
    "a byte order mark within": "a\ufeffb",
    "a flag": "--dangerously-bypass-approvals-and-sandbox",
    "a dash": "-",
    "shell": "$(touch pwned) `touch pwned` ; touch pwned | 'x' \"y\" \\",
    "JSON": '{"type":"thread.started","thread_id":"x"}\n{"type":"turn.completed"}',
    "a slash command": "/compact",
    "an end of file": "a\x04b\x1a",
}


def _asked(server: ModelServer) -> str:
    """The text of the last message that came from a user."""
    text: str = server.requests[-1]["input"][-1]["content"][-1]["text"]
    return text


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_prompt_arrives_as_it_is(name: str, stage: Stage) -> None:
    with stage.model(script("fine")) as server:
        outcome = await stage.run(stage.request(ODD[name]))
        assert _asked(server) == ODD[name]
    assert shape(outcome.events) == ["session", "status", "agent_message: fine", "usage"]
    assert not (stage.workspace / "pwned").exists()


@pytest.mark.rule("R1")
async def test_a_byte_order_mark_at_the_start_is_passed_on_and_newer_releases_take_it_off(stage: Stage) -> None:
    with stage.model(script("fine")) as server:
        await stage.run(stage.request("\ufeffDo it."))
        assert _asked(server) == ("\ufeffDo it." if stage.release.before(0, 98) else "Do it.")


@pytest.mark.smoke
async def test_a_prompt_of_a_mebibyte_arrives_whole(stage: Stage) -> None:
    prompt = "".join(f"{number:07d} " for number in range(MEBIBYTE // 8))
    assert len(prompt) == MEBIBYTE
    with stage.model(script("fine")) as server:
        outcome = await stage.run(stage.request(prompt))
        assert _asked(server) == prompt
    assert outcome.completion is not None
    assert outcome.completion.final_text == "fine"


@pytest.mark.rule("F3", "F2")
async def test_a_prompt_that_the_cli_finds_too_long_gives_its_status_and_no_turn(stage: Stage) -> None:
    stage.release.needs(0, 116, what="a limit of the prompt's length")
    with stage.model(script("fine")) as server:
        outcome = await stage.run(stage.request("x" * (MEBIBYTE + 1)))
        assert server.requests == []
    assert shape(outcome.events)[0] == "session"
    assert shape(outcome.events)[-1] == "codex exited non-zero: exit status: 1 (stderr redacted)"
    assert outcome.completion is not None
    assert (outcome.completion.status, outcome.completion.turn) == (ExitStatus(code=1), None)


@pytest.mark.rule("S3")
async def test_a_cli_that_exits_before_it_reads_its_prompt_is_no_error_of_ours(stage: Stage) -> None:
    with stage.model(script(), config="this is = = no TOML\n"):
        outcome = await stage.run(stage.request("x" * 4 * MEBIBYTE))
    assert outcome.completion is not None
    assert outcome.completion.status == ExitStatus(code=1)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prompt=st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), min_size=1).filter(str.strip))
async def test_any_prompt_arrives_as_it_is(prompt: str, stage: Stage) -> None:
    with stage.model(script(fallback=answer("fine"))) as server:
        await stage.run(stage.request(prompt))
        assert _asked(server) == prompt
