"""Test that the parser reads thousands of random answers as the rules require.

Run `python -m tests.protocols.mailbox.fuzz` for a million answers.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.protocols.mailbox.answer_parser import ends_within_block, parse_answer
from codex_adapter.protocols.mailbox.messages import CreateFile, Done, Malformed, ReadFile

from ...rows import rows
from .fuzz import finding, play
from .soundness import unsound

pytestmark = pytest.mark.rule("I1", "I2", "I3", "I4", "I5")


@pytest.mark.parametrize("seed", range(4))
def test_odd_answers_are_read_as_the_rules_say(seed: int) -> None:
    sums, found = play(seed, 1000)
    assert found == []
    assert sums["commands"] > 300
    assert sums["malformed"] > 300


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_are_read(data: bytes) -> None:
    assert finding(data, parse_answer(data)) == ""
    assert ends_within_block(data) in (True, False)


@rows(
    ("answer", "asked"),
    [
        ("[DONE]\nx\n[/DONE]", []),
        ("[DONE]\nx\n[/DONE]", [Done(line=1, text="y")]),
        ("[DONE]\nx\n[/DONE]", [Done(line=2, text="x")]),
        ("[DONE]\nx\n[/DONE]", [Malformed(name="DONE", line=1, error="line 2: it is wrong")]),
        ("[DONE]\nx\n[/DONE]", [Malformed(name="DONE", line=1, error="line 1: it is wrong")]),
        ("[DONE]\nx\n[DONE]\n[/DONE]", [Done(line=1, text="x\n[DONE]")]),
        ("[DONE]\nx", [Done(line=1, text="x")]),
        ('[READ_FILE path="a"]\n[/DONE]', [ReadFile(line=1, path="a")]),
        (
            '[CREATE_FILE path="a"]\n[READ_FILE path="b"]\n[/CREATE_FILE]',
            [CreateFile(line=1, path="a", content='[READ_FILE path="b"]\n'), ReadFile(line=2, path="b")],
        ),
    ],
)
def test_an_unsound_reading_is_found(answer: str, asked: list[Done | Malformed | ReadFile | CreateFile]) -> None:
    assert unsound(answer.encode(), asked)
