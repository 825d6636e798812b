"""Test blocks that are not executed, and where they end."""

from __future__ import annotations

import pytest

from codex_adapter.protocols.mailbox.answer_parser import parse_answer
from codex_adapter.protocols.mailbox.instructions import INSTRUCTIONS
from codex_adapter.protocols.mailbox.messages import DeleteFile, Malformed

from ...rows import rows

pytestmark = pytest.mark.rule("I4")

END = '[DELETE_FILE path="end"]\n'
DANGER = "[RUN_COMMAND]\nrm -r .\n[/RUN_COMMAND]\n"


def read(text: str) -> list[str]:
    """The lines of commands, and those of errors with what they are of."""
    asked = parse_answer(text.encode())
    for it in asked:
        assert not isinstance(it, Malformed) or it.error.startswith(f"line {it.line}: ")
    return [f"{it.line}: {it.name}{' is wrong' * isinstance(it, Malformed)}" for it in asked]


@rows(
    ("answer", "wrong"),
    [
        pytest.param("[CREATE_FILE path=a]\n{}[/CREATE_FILE]\n", "1: CREATE_FILE", id="bad attribute"),
        pytest.param("[CREATE_FILE\n{}[/CREATE_FILE]\n", "1: CREATE_FILE", id="tag that does not end"),
        pytest.param("[DONE] text\n{}[/DONE]\n", "1: DONE", id="body on the line of the tag"),
        pytest.param("[DONE]\n[DONE]\n[/DONE]\n{}[/DONE]\n", "1: DONE", id="opened and closed twice"),
        pytest.param("[DONE]\n[DONE x\n\\[/DONE]\n{}[/DONE]\n[/DONE]\n", "1: DONE", id="opened by a wrong tag"),
        pytest.param("[DONE]\n[DONE] x [/DONE]\n{}[/DONE]\n", "1: DONE", id="a block of one line within"),
        pytest.param('**[CREATE_FILE path="x"]**\n{}[/CREATE_FILE]\n', "1: CREATE_FILE", id="bold tag"),
        pytest.param('1. [CREATE_FILE path="x"]\n{}  [/CREATE_FILE]\n', "1: CREATE_FILE", id="tag of a list"),
        pytest.param("\\[DONE]\n{}[/DONE]\n", "1: DONE", id="tag behind a backslash"),
        pytest.param("use [DONE] or [MESSAGE]\n{}[/DONE]\nx\n[/DONE]\n", "1: DONE", id="two closing tags"),
        pytest.param("[DONE]\n[/DONE]\n{}[/DONE]\n", "1: DONE", id="closing tag in a body"),
        pytest.param("[DONE] x [/DONE]\n{}[/DONE]\n", "1: DONE", id="closing tag on the line of the tag"),
        pytest.param("[DONE]\n[/DONE]\n{}[DONE]\n[/DONE]\n{}[/DONE]\n", "1: DONE", id="blocks between"),
        pytest.param(
            "[MESSAGE]\n[DONE]\n[/MESSAGE]\n{}[MESSAGE]\nx\n[/MESSAGE]\n[/DONE]\n",
            "1: DONE",
            id="opening tag in the body of another command",
        ),
        pytest.param("x [DONE]\n{}y [MESSAGE]\n[/DONE]\n[/MESSAGE]\n", "1: DONE", id="two that overlap"),
        pytest.param("x [DONE] [MESSAGE]\n[/MESSAGE]\n{}[/DONE]\n", "1: MESSAGE", id="two from one line"),
    ],
)
def test_nothing_within_is_carried_out_and_what_follows_is(answer: str, wrong: str) -> None:
    assert read(answer.replace("{}", DANGER) + END) == [
        f"{wrong} is wrong",
        f"{answer.replace('{}', DANGER).count(chr(10)) + 1}: DELETE_FILE",
    ]


@rows(
    "answer",
    [
        pytest.param("[DONE]\n", id="never closed"),
        pytest.param("[DONE]\nx [/DONE]\n", id="closing tag behind text"),
        pytest.param("[DONE]\n[/DONE] x\n", id="closing tag before text"),
        pytest.param("[DONE]\n[/Done]\n[/ DONE]\n[/DONE\n\\[/DONE]\n", id="no closing tag"),
        pytest.param("[DONE]\n[DONE]\n[/DONE]\n", id="closed once, opened twice"),
        pytest.param("[DONE] x\n", id="wrong and never closed"),
    ],
)
def test_without_its_closing_tag_a_block_reaches_to_the_end(answer: str) -> None:
    assert read(answer + DANGER + END) == ["1: DONE is wrong"]


def test_a_closing_tag_that_an_unclosed_block_has_swallowed_still_tells_of_a_wrong_opening_tag() -> None:
    answer = f'**[CREATE_FILE path="notes"]**\n{DANGER}[MESSAGE]\n[/CREATE_FILE]\n{DANGER}'
    assert read(answer) == ["1: CREATE_FILE is wrong"]


def test_pairs_of_tags_in_an_unclosed_block_leave_what_stands_before_it() -> None:
    answer = f'{END}[CREATE_FILE path="a"]\n[/CREATE_FILE]\n[MESSAGE]\n[CREATE_FILE path="b"]\n[/CREATE_FILE]\n'
    assert read(answer) == ["1: DELETE_FILE", "2: CREATE_FILE", "4: MESSAGE is wrong"]


@pytest.mark.parametrize("before", ["", "text\n", "[MESSAGE]\nx\n[/MESSAGE]\n", "[DONES]\n[done]\n"])
def test_a_closing_tag_without_any_opening_tag_is_an_error_of_its_line(before: str) -> None:
    asked = read(f"{before}{END}[/DONE]\n[/DONE]\n{END}")
    line = before.count("\n") + 1
    expected = [f"{line}: DELETE_FILE", f"{line + 1}: DONE is wrong", f"{line + 2}: DONE is wrong"]
    assert [it for it in asked if "MESSAGE" not in it] == [*expected, f"{line + 3}: DELETE_FILE"]


def test_tags_of_other_commands_in_a_good_body_put_nothing_in_doubt() -> None:
    body = 'text = """[DONE]\n[/DONE]\n[/DONE]\n[DONE]\n'
    answer = f'I send [DONE] later.\n[CREATE_FILE path="test"]\n{body}[/CREATE_FILE]\n[DONE]\n[/DONE]\n'
    assert read(answer) == ["2: CREATE_FILE", "8: DONE"]


def test_an_error_says_which_lines_are_lost_and_what_to_do() -> None:
    (error, _) = parse_answer(f"x [DONE]\n{DANGER}[/DONE]\n{END}".encode())
    assert isinstance(error, Malformed)
    assert "[/DONE] in line 5 closes no block" in error.error
    assert "Lines 1 to 5 were not executed" in error.error
    (error,) = parse_answer(b"\n[DONE]\nx\n[DONE]\n[/DONE]\n")
    assert isinstance(error, Malformed)
    assert "line 4 has another [DONE] before [/DONE]" in error.error
    assert "Lines 2 to 5 were not executed" in error.error


@pytest.mark.parametrize(("name", "opened"), [("DONE", "[DONE] x [/DONE]"), ("READ_FILE", "[READ_FILE]")])
def test_a_block_of_one_line_ends_there(name: str, opened: str) -> None:
    assert read(f"{opened}\n{END}") == [f"1: {name} is wrong", "2: DELETE_FILE"]
    assert parse_answer(f"{opened}\n{END}".encode())[1] == DeleteFile(line=2, path="end")


OUTBOX = f"=== HEADER ===\nTask: x\n\n=== PROTOCOL ===\n{INSTRUCTIONS}\n\n=== CONTEXT ===\n"
LINES = OUTBOX.split("\n")


@pytest.mark.rule("I1", "I5")
@rows(
    "saved",
    [
        pytest.param("".join(f"{line}  \n" for line in LINES), id="blanks at line ends"),
        pytest.param("".join(f"    {line}\n" for line in LINES), id="indented"),
        pytest.param("".join(f"{line}\n" for line in LINES if line), id="blank lines dropped"),
        pytest.param(OUTBOX.replace("\n", "\n\n"), id="lines doubled"),
        pytest.param(OUTBOX.replace("=== PROTOCOL ===", "## Protocol"), id="another heading"),
        pytest.param(OUTBOX.replace("=== PROTOCOL ===", "===Protokoll==="), id="a translated heading"),
        pytest.param(OUTBOX.partition("=== PROTOCOL ===")[2], id="the heading cut off"),
        pytest.param("".join(f"> {line}\n" for line in LINES), id="quoted"),
        pytest.param(OUTBOX.replace(" ", "\u00a0"), id="other blanks"),
    ],
)
def test_an_outbox_that_was_changed_in_its_form_is_no_answer(saved: str) -> None:
    assert [it.name for it in parse_answer(f"{saved}{END}".encode())] == ["ANSWER"]


@pytest.mark.rule("I5")
def test_the_line_of_an_outbox_in_an_answer_is_told() -> None:
    assert [it.line for it in parse_answer(f"{END}\n{END}{OUTBOX}".encode())] == [7]
