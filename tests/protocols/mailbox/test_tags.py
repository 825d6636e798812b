"""Test opening tags: valid forms and wrong ones."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.protocols.mailbox.answer_parser import parse_answer
from codex_adapter.protocols.mailbox.messages import DeleteFile, EditFile, Malformed, ReadFile
from codex_adapter.protocols.mailbox.tags import WHITE_SPACE

from ...rows import rows

PATH = '[READ_FILE path="a"]'
EDIT = "\nx\n[/EDIT_FILE]\n"


@pytest.mark.rule("I1")
def test_white_space_is_that_of_unicode_and_two_characters_that_copying_leaves() -> None:
    of_unicode = {chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    assert set(WHITE_SPACE) == of_unicode | {"\u200b", "\ufeff"}


@pytest.mark.rule("I1")
@rows("before", ["", " ", "\t", "\xa0", "\u3000 ", "\ufeff", "\u200b", "\r"])
@rows("behind", ["", " ", "\t", "\r", "\u2028", "\x00"[:0] + "\u200b"])
def test_a_tag_may_have_white_space_around_it(before: str, behind: str) -> None:
    assert parse_answer(f"{before}{PATH}{behind}".encode()) == (ReadFile(line=1, path="a"),)


@pytest.mark.rule("I1")
@rows(
    "line",
    [
        '[read_file path="a"]',
        '[READ_FILES path="a"]',
        '[READ_FILE_ path="a"]',
        '[READ_FILEé path="a"]',
        f"x {PATH}",
        '[ READ_FILE path="a"]',
        '(READ_FILE path="a")',
        "[/READ_FILE]",
        "[/DELETE_FILE]",
        f"`{PATH}`",
        "[OTHER]",
    ],
)
def test_what_is_no_tag_at_the_beginning_of_its_line_is_text(line: str) -> None:
    assert parse_answer(f"{line}\n{PATH}\n".encode()) == (ReadFile(line=2, path="a"),)


@pytest.mark.rule("I2")
@rows(
    ("value", "path"),
    [
        ("a", "a"),
        ("a]b", "a]b"),
        ("[DONE]", "[DONE]"),
        (r"a\"b", 'a"b'),
        (r"a\\b", r"a\b"),
        (r"a\nb", r"a\nb"),
        (r"a\\\"", 'a\\"'),
        (r"\\\\", r"\\"),
        (" a b ", " a b "),
        ("é“😀", "é“😀"),
        ("x='y'", "x='y'"),
    ],
)
def test_values_are_read(value: str, path: str) -> None:
    assert parse_answer(f'[DELETE_FILE path="{value}"]'.encode()) == (DeleteFile(line=1, path=path),)


@pytest.mark.rule("I2")
@given(st.text(min_size=1).filter(lambda text: text.strip(WHITE_SPACE) and "\n" not in text))
def test_every_path_on_one_line_can_be_written(path: str) -> None:
    value = path.encode(errors="replace").decode()
    written = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_answer(f'[READ_FILE path="{written}"]'.encode()) == (ReadFile(line=1, path=value),)


@pytest.mark.rule("I2")
@pytest.mark.parametrize(
    "attributes",
    [
        ' path="a" start_line="1" end_line="2"',
        ' end_line="2"\t \tstart_line="1"\xa0path="a"',
        ' path="a" start_line="001" end_line="000000002" ',
    ],
)
def test_attributes_stand_in_any_order(attributes: str) -> None:
    expected = EditFile(line=1, path="a", start_line=1, end_line=2, content="x\n")
    assert parse_answer(f"[EDIT_FILE{attributes}]{EDIT}".encode()) == (expected,)


@pytest.mark.rule("I2")
@rows(
    ("tag", "told"),
    [
        ("[READ_FILE", "does not end on its line"),
        ("[READ_FILE ", "does not end on its line"),
        ('[READ_FILE path="a"', "does not end on its line"),
        ('[READ_FILE path="a', "does not end on its line"),
        (r'[READ_FILE path="a\"]', "does not end on its line"),
        ('[READ_FILE\npath="a"]', "does not end on its line"),
        ('[READ_FILE path=a"]', "the tag is malformed"),
        ("[READ_FILE path=a]", "the tag is malformed"),
        ('[READ_FILE path = "a"]', "the tag is malformed"),
        ('[READ_FILE path="a" /]', "the tag is malformed"),
        ('[READ_FILE path="a", ]', "the tag is malformed"),
        ('[READ_FILE path="a"path="b"]', "the tag is malformed"),
        ('[READ_FILE: path="a"]', "the tag is malformed"),
        ('[READ_FILE="a"]', "the tag is malformed"),
        ("[READ_FILE path='a']", "straight double quotes"),
        ("[READ_FILE path=“a”]", "straight double quotes"),
        ("[READ_FILE path=«a»]", "straight double quotes"),
        ('[READ_FILE path="a"] x', "text after the tag"),
        ('[READ_FILE path="a"]]', "text after the tag"),
        ('[READ_FILE path="a"]\rx', "text after the tag"),
        (f"{PATH}{PATH}", "text after the tag"),
        ("[READ_FILE]x", "text after the tag"),
        ("[READ_FILE]", "attribute path is missing"),
        ('[READ_FILE path=""]', "attribute path is empty"),
        ('[READ_FILE path=" \t\u200b"]', "attribute path is empty"),
        ('[READ_FILE path="a" path="a"]', "attribute path is repeated"),
        ('[READ_FILE path="a" mode="b"]', "attribute mode does not exist for READ_FILE"),
        ('[READ_FILE Path="a"]', "an attribute does not exist for READ_FILE"),
        (f'[READ_FILE {"x" * 33}="a"]', "an attribute does not exist for READ_FILE"),
    ],
)
def test_a_wrong_tag_is_an_error_that_says_why(tag: str, told: str) -> None:
    first, *others = parse_answer(f"{tag}\n{PATH}\n".encode())
    assert isinstance(first, Malformed)
    assert first.name == "READ_FILE"
    assert first.error.startswith("line 1: ")
    assert told in first.error
    assert others == [ReadFile(line=tag.count("\n") + 2, path="a")]


@pytest.mark.rule("I2")
@rows("number", ["", "-1", "+1", "1.0", " 1", "1 ", "1_0", "0x1", "٣", "²", "1234567890", "9" * 5000, "a"])
@rows("key", ["start_line", "end_line"])
def test_a_line_number_is_one_to_nine_digits(key: str, number: str) -> None:
    given = {"start_line": "1", "end_line": "1"} | {key: number}
    tag = f'[EDIT_FILE path="a" start_line="{given["start_line"]}" end_line="{given["end_line"]}"]'
    (error,) = parse_answer(f"{tag}{EDIT}".encode())
    assert isinstance(error, Malformed)
    assert f"attribute {key} is not a whole number" in error.error


@pytest.mark.rule("I2")
@pytest.mark.parametrize("digits", ["0", "999999999"])
def test_the_smallest_and_the_largest_line_number_are_read(digits: str) -> None:
    tag = f'[EDIT_FILE path="a" start_line="{digits}" end_line="{digits}"]'
    assert parse_answer(f"{tag}{EDIT}".encode()) == (
        EditFile(line=1, path="a", start_line=int(digits), end_line=int(digits), content="x\n"),
    )


@pytest.mark.rule("I2", "I4")
@rows("secret", ["hunter2", "x y", "]", "“"])
@rows(
    "tag",
    [
        '[READ_FILE path="{}" path="{}"]',
        '[READ_FILE path="{}"',
        "[READ_FILE {}]",
        '[READ_FILE x{}="{}"]',
        '[READ_FILE path="a"] {}',
        "[READ_FILE path='{}']",
        '[EDIT_FILE path="{}" start_line="{}" end_line="{}"]',
    ],
)
def test_errors_show_nothing_of_an_answer(tag: str, secret: str) -> None:
    empty = parse_answer(tag.replace("{}", "1z").encode())
    filled = parse_answer(tag.replace("{}", secret).encode())
    for one in (*empty, *filled):
        assert isinstance(one, Malformed)
        assert "hunter2" not in one.error
        assert "1z" not in one.error
