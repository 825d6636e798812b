"""Test the parser of answers: their text, their blocks, and the bodies of blocks."""

from __future__ import annotations

import pytest

from codex_adapter.protocols.mailbox.answer_parser import ends_within_block, parse_answer
from codex_adapter.protocols.mailbox.messages import (
    ANSWER,
    MOST_ANSWER_BYTES,
    MOST_COMMANDS,
    AnswerItem,
    CreateFile,
    DeleteFile,
    Done,
    EditFile,
    Malformed,
    ReadFile,
    RunCommand,
    ShowMessage,
)

from ...rows import rows


def read(text: str) -> list[AnswerItem]:
    return list(parse_answer(text.encode()))


def refused(data: bytes) -> str:
    (error,) = parse_answer(data)
    assert isinstance(error, Malformed)
    assert error.name == ANSWER
    assert error.error.startswith(f"line {error.line}: ")
    return error.error


@pytest.mark.rule("I1")
def test_commands_are_read_in_their_order_and_all_else_is_left_aside() -> None:
    answer = """\
I begin with a file.

[CREATE_FILE path="src/a.py"]
def f():
    return 1
[/CREATE_FILE]
1. Then some more, as `[DONE]` is not due:
```
  [EDIT_FILE path="b" start_line="1" end_line="2"]
    x
\t[/EDIT_FILE]
```
[DELETE_FILE path="c"]
[READ_FILE path="d"]
[RUN_COMMAND]
make test
[/RUN_COMMAND]
[MESSAGE]
Hello
 there
[/MESSAGE]
[DONE]
[/DONE]
the end"""
    assert read(answer) == [
        CreateFile(line=3, path="src/a.py", content="def f():\n    return 1\n"),
        EditFile(line=9, path="b", start_line=1, end_line=2, content="    x\n"),
        DeleteFile(line=13, path="c"),
        ReadFile(line=14, path="d"),
        RunCommand(line=15, command="make test"),
        ShowMessage(line=18, text="Hello\n there"),
        Done(line=22, text=""),
    ]


@pytest.mark.rule("I3")
@rows(
    ("body", "content"),
    [
        ("", ""),
        ("\n", "\n"),
        ("a\n\n", "a\n\n"),
        ("  a  \n\t\n", "  a  \n\t\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\rb\n", "a\rb\n"),
        ("a\r\r\n", "a\r\n"),
        ("a\0\u2028b\x85\x0c\n", "a\0\u2028b\x85\x0c\n"),
        ("```py\na\n```\n", "```py\na\n```\n"),
        ("[DONE]\n[READ_FILE]\n[/MESSAGE]\n[EDIT_FILE\n", "[DONE]\n[READ_FILE]\n[/MESSAGE]\n[EDIT_FILE\n"),
        (
            "x [/CREATE_FILE]\n[/CREATE_FILE] x\n[/create_file]\n",
            "x [/CREATE_FILE]\n[/CREATE_FILE] x\n[/create_file]\n",
        ),
        ("x [CREATE_FILE]\n[CREATE_FILES]\n", "x [CREATE_FILE]\n[CREATE_FILES]\n"),
    ],
)
def test_a_body_is_taken_as_it_is(body: str, content: str) -> None:
    answer = f'[CREATE_FILE path="a"]\n{body}[/CREATE_FILE]\n[DONE]\n[/DONE]'
    assert read(answer)[0] == CreateFile(line=1, path="a", content=content)
    assert isinstance(read(answer)[1], Done)


@pytest.mark.rule("I3")
@rows(
    ("line", "meant"),
    [
        (r"\[/CREATE_FILE]", "[/CREATE_FILE]"),
        (r"\\[/CREATE_FILE]", r"\[/CREATE_FILE]"),
        ("\t \\[/CREATE_FILE]\u3000", "\t [/CREATE_FILE]\u3000"),
        (r"\[CREATE_FILE path='x", "[CREATE_FILE path='x"),
        (r"\[CREATE_FILE", "[CREATE_FILE"),
        (r"\\\[CREATE_FILE] x", r"\\[CREATE_FILE] x"),
        (r"\[CREATE_FILE] x [/CREATE_FILE]", "[CREATE_FILE] x [/CREATE_FILE]"),
        (r"\[/CREATE_FILE] x", r"\[/CREATE_FILE] x"),
        (r"\[CREATE_FILES]", r"\[CREATE_FILES]"),
        (r"\[/DONE]", r"\[/DONE]"),
        (r"\[DONE]", r"\[DONE]"),
        (r"x\[/CREATE_FILE]", r"x\[/CREATE_FILE]"),
        (r"\ [/CREATE_FILE]", r"\ [/CREATE_FILE]"),
        ("\\", "\\"),
    ],
)
def test_one_backslash_makes_a_tag_of_its_own_command_a_line_of_the_body(line: str, meant: str) -> None:
    answer = f'[CREATE_FILE path="a"]\n{line}\n{line}\n[/CREATE_FILE]'
    assert read(answer) == [CreateFile(line=1, path="a", content=f"{meant}\n{meant}\n")]


@pytest.mark.rule("I3")
@rows("name", ["RUN_COMMAND", "MESSAGE", "DONE"])
@rows(("body", "text"), [("a", "a"), ("a\n\n", "a"), ("\n a \n\n \n", "\n a \n\n "), ("a\\\n[/X]", "a\\\n[/X]")])
def test_texts_have_no_newline_at_their_end(name: str, body: str, text: str) -> None:
    (command,) = read(f"[{name}]\n{body}\n[/{name}]")
    assert isinstance(command, RunCommand | ShowMessage | Done)
    assert (command.command if isinstance(command, RunCommand) else command.text) == text


@pytest.mark.rule("I3")
@rows(
    ("body", "command"),
    [
        ("```\nls\n```", "ls"),
        ("```bash\nls\n\n  pwd\n```", "ls\n\n  pwd"),
        ("\n \n  ```sh  \n  ls\n\n  ```\n\n", "  ls"),
        ("````c++\nls\n```", "ls"),
        ("cat <<'E'\n```\nx\n```\nE", "cat <<'E'\n```\nx\n```\nE"),
        ("```\ncat <<'E'\n```\nx\n```\nE\n```", "cat <<'E'\n```\nx\n```\nE"),
        ("echo `pwd`", "echo `pwd`"),
        ("``\nls\n``", "``\nls\n``"),
    ],
)
def test_a_code_fence_around_a_command_is_left_out(body: str, command: str) -> None:
    assert read(f"[RUN_COMMAND]\n{body}\n[/RUN_COMMAND]") == [RunCommand(line=1, command=command)]


@pytest.mark.rule("I3")
@rows(
    "body",
    ["```\nls", "ls\n```", "```", "```ls```", "```ls -l\npwd\n```", "```\nls\n```x", "```\nls```", "``` sh\nls\n```"],
)
def test_half_a_code_fence_around_a_command_is_an_error(body: str) -> None:
    (error,) = read(f"[RUN_COMMAND]\n{body}\n[/RUN_COMMAND]")
    assert isinstance(error, Malformed)
    assert "code fence" in error.error


@pytest.mark.rule("I3")
@rows("body", ["", "\n", " \t\n\u3000\r\n\u200b\n"])
@rows(("name", "fence"), [("RUN_COMMAND", ""), ("RUN_COMMAND", "```\n"), ("MESSAGE", "")])
def test_a_command_or_message_of_nothing_is_an_error(name: str, fence: str, body: str) -> None:
    (error,) = read(f"[{name}]\n{fence}{body}{fence}[/{name}]\n")
    assert isinstance(error, Malformed)
    assert "the body is empty" in error.error


@pytest.mark.rule("I5")
@rows("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@rows("newline", ["\n", "\r\n"])
@rows("last", ["", "\n"])
def test_encodings_and_line_ends_make_no_difference(encoding: str, newline: str, last: str) -> None:
    text = f"[DONE]\né 😀\n[/DONE]{last}".replace("\n", newline)
    assert parse_answer(text.encode(encoding)) == (Done(line=1, text="é 😀"),)
    assert not ends_within_block(text.encode(encoding))


@pytest.mark.rule("I5")
def test_utf_16_may_have_its_bytes_in_either_order() -> None:
    text = "\ufeff[DONE]\nഊ\n[/DONE]"
    for encoding in ("utf-16-le", "utf-16-be"):
        assert parse_answer(text.encode(encoding)) == (Done(line=1, text="ഊ"),)


@pytest.mark.rule("I5")
@pytest.mark.parametrize(
    ("behind", "line"),
    [(b"\xff", 4), (b"\n\n\xc3", 6), (b"\xed\xa0\x80", 4), (b"\xc0\x80", 4), (b"\xf4\x90\x80\x80", 4)],
)
def test_what_is_no_utf_8_is_refused_as_a_whole(behind: bytes, line: int) -> None:
    told = refused(b"[DONE]\nx\n[/DONE]\n" + behind)
    assert told.startswith(f"line {line}: ")
    assert "UTF-8" in told
    assert ends_within_block(b"[DONE]\nx\n[/DONE]\n" + behind)


@pytest.mark.rule("I5")
@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
@pytest.mark.parametrize("behind", [b"\n", b"\xd8\xd8\n\0"])
def test_what_is_no_utf_16_is_refused_as_a_whole(mark: bytes, behind: bytes) -> None:
    text = "[DONE]\nx\n[/DONE]\n".encode("utf-16-le" if mark == b"\xff\xfe" else "utf-16-be")
    assert refused(mark + text + behind).startswith("line 4: ")


@pytest.mark.rule("I5")
def test_an_answer_has_at_most_16_mib() -> None:
    end = b"\n[DONE]\n[/DONE]\n"
    most = b"x" * (MOST_ANSWER_BYTES - len(end)) + end
    assert parse_answer(most) == (Done(line=2, text=""),)
    assert "Send it in several answers" in refused(b"x" + most)
    assert not ends_within_block(b"[DONE]" + most)


@pytest.mark.rule("I5")
@pytest.mark.parametrize("one", ['[READ_FILE path="a"]\n', "[READ_FILE]\n", "[DONE]\n[/DONE]\n", "[/DONE]\n"])
def test_an_answer_has_at_most_a_thousand_commands_and_errors(one: str) -> None:
    assert len(read(one * MOST_COMMANDS)) == MOST_COMMANDS
    assert "Send fewer" in refused((one * (MOST_COMMANDS + 1)).encode())


@pytest.mark.rule("I5")
@rows("answer", ["", "\n", "Hello", "[read_file path='a']", '{"path": "a"}', "[/READ_FILE]", "x [DONE]"])
def test_an_answer_without_commands_is_an_error(answer: str) -> None:
    assert "the answer has no command" in refused(answer.encode())


@pytest.mark.rule("I5")
def test_every_beginning_of_an_answer_with_an_open_block_is_unclosed() -> None:
    answer = '[READ_FILE path="a"]\n[CREATE_FILE path="b"]\n[DONE]\né[/CREATE_FILE]\n [/CREATE_FILE]\n'.encode()
    begun = answer.index(b"[CREATE_FILE") + len("[CREATE_FILE")
    ended = answer.rindex(b"[/CREATE_FILE]") + len("[/CREATE_FILE]")
    for length in range(len(answer) + 1):
        assert ends_within_block(answer[:length]) == (begun <= length < ended), length
