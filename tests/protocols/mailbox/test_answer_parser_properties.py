"""Test that valid commands are parsed as written, and that no text takes long."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from codex_adapter.protocols.mailbox.answer_parser import ends_within_block, parse_answer
from codex_adapter.protocols.mailbox.messages import (
    AnswerItem,
    CreateFile,
    DeleteFile,
    Done,
    EditFile,
    ReadFile,
    RunCommand,
    ShowMessage,
)

from ...counting import calls
from ...rows import rows
from .answers_text import NAMES, block

TAGS = [f"{before}[{slash}{name}{behind}" for name in NAMES for slash in ("", "/") for before in ("", "\\", " \\\\")
        for behind in ("]", "", ' path="a"]')]  # fmt: skip
LINES = st.sampled_from(TAGS) | st.text(st.sampled_from(" \\[/]`\t\u3000xDONE"), max_size=9) | st.text(max_size=20)
LINE = LINES.map(lambda text: text.replace("\n", "\\").encode(errors="replace").decode().rstrip("\r"))
CONTENT = st.lists(LINE, max_size=6).map(lambda lines: "".join(f"{line}\n" for line in lines))
TEXT = CONTENT.map(lambda content: content.rstrip("\n"))
FULL_TEXT = TEXT.filter(lambda text: text.strip() and "x" in text)
COMMAND = FULL_TEXT.filter(lambda text: "```" not in text)
PATH = LINE.map(lambda path: f"x{path}")
NUMBER = st.integers(0, 10**9 - 1)
COMMANDS: st.SearchStrategy[AnswerItem] = st.one_of(
    st.builds(CreateFile, line=st.just(0), path=PATH, content=CONTENT),
    st.builds(EditFile, line=st.just(0), path=PATH, start_line=NUMBER, end_line=NUMBER, content=CONTENT),
    st.builds(DeleteFile, line=st.just(0), path=PATH),
    st.builds(ReadFile, line=st.just(0), path=PATH),
    st.builds(RunCommand, line=st.just(0), command=COMMAND),
    st.builds(ShowMessage, line=st.just(0), text=FULL_TEXT),
    st.builds(Done, line=st.just(0), text=TEXT),
)
PROSE = st.sampled_from(
    ["", "```\n", "Now the next step:\n", "\r\n", "- **bold** [link](x)\n", "I use [CREATE_FILE] and `[DONE]`.\n"]
)


@pytest.mark.rule("I1", "I2", "I3")
@given(st.lists(st.tuples(PROSE, COMMANDS), min_size=1, max_size=6), PROSE, st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_as_the_protocol_says_is_read_as_it_was_meant(
    asked: Sequence[tuple[str, AnswerItem]], last: str, newline: str
) -> None:
    text = ""
    expected: list[AnswerItem] = []
    for prose, command in asked:
        text += prose
        expected.append(replace(command, line=text.count("\n") + 1))
        text += block(command)
    data = (text + last).replace("\r\n", "\n").replace("\n", newline).encode()
    assert list(parse_answer(data)) == expected
    assert not ends_within_block(data)


@pytest.mark.rule("I4", "I5")
@rows(
    "piece",
    [
        "[DONE]\n",
        "[DONE] ",
        "[/DONE]\n",
        "[DONE]\n[/DONE]\n",
        "x[DONE]\n[/MESSAGE]\n",
        '[READ_FILE path="',
        "\\",
        " ",
        "\n",
        '[READ_FILE x="\\"',
        ' a="b"',
        "\\[RUN_COMMAND]\n",
        "`",
        "\r",
        '"',
        "]",
        "[",
        "[READ_FILE]\n",
        "\u3000",
        "```\n",
    ],
)
@rows("before", ["", "[RUN_COMMAND]\n", "[MESSAGE]\n\\", '[CREATE_FILE path="', "x [DONE] "])
def test_the_work_grows_with_the_length_alone(piece: str, before: str) -> None:
    """Counted are calls; what a regular expression does in one of them is bounded by its possessive repetitions, and
    what `find` and `count` do by the places that they are given, each passed once."""
    behind = "\n[/RUN_COMMAND]\n[/MESSAGE]\n"
    once, twice = (_work((before + piece * count + behind).encode()) for count in (100, 200))
    assert twice <= 2 * once + 100


def _work(data: bytes) -> int:
    return calls(lambda: (parse_answer(data), ends_within_block(data)))


@pytest.mark.nightly
@pytest.mark.rule("I5")
@pytest.mark.parametrize(
    "piece", ["[DONE]\n", "[DONE] ", "[/DONE]\n", '[READ_FILE path="', "\\", " ", "`", '\\"', "\\[RUN_COMMAND]\n", "\r"]
)
@pytest.mark.parametrize("before", ["", "[RUN_COMMAND]\n", '[CREATE_FILE path="'])
def test_an_answer_of_16_mib_is_read_however_odd(piece: str, before: str) -> None:
    """What took more than linear time would not come to its end."""
    behind = "\n[/RUN_COMMAND]\n"
    count = (16 * 1024 * 1024 - len(before + behind)) // len(piece)
    assert parse_answer((before + piece * count + behind).encode())
