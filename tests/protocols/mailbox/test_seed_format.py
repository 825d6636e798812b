"""Test the examples of the format's specification and those in the prompt for the model."""

from __future__ import annotations

import pytest

from codex_adapter.protocols.mailbox.answer_parser import parse_answer
from codex_adapter.protocols.mailbox.instructions import INSTRUCTIONS
from codex_adapter.protocols.mailbox.messages import (
    MOST_COMMANDS,
    PROTOCOL_VERSION,
    AnswerItem,
    CommandResult,
    CreateFile,
    DeleteFile,
    Done,
    EditFile,
    Malformed,
    ReadFile,
    RunCommand,
    ShowMessage,
)
from codex_adapter.protocols.mailbox.outbox import OutboxContent, RequestedFile, render_outbox
from codex_adapter.workspace import Entry, Listing

from ...rows import rows


@pytest.mark.rule("I1", "I2", "I3")
@rows(
    ("example", "command"),
    [
        (
            '[CREATE_FILE path="relative/path"]\nfile contents\n[/CREATE_FILE]',
            CreateFile(line=1, path="relative/path", content="file contents\n"),
        ),
        (
            '[EDIT_FILE path="relative/path" start_line="3" end_line="5"]\nreplacement content\n[/EDIT_FILE]',
            EditFile(line=1, path="relative/path", start_line=3, end_line=5, content="replacement content\n"),
        ),
        ('[DELETE_FILE path="relative/path"]', DeleteFile(line=1, path="relative/path")),
        ('[READ_FILE path="relative/path"]', ReadFile(line=1, path="relative/path")),
        ("[RUN_COMMAND]\ncommand text\n[/RUN_COMMAND]", RunCommand(line=1, command="command text")),
        ("[MESSAGE]\nmessage text\n[/MESSAGE]", ShowMessage(line=1, text="message text")),
        ("[DONE]\nsummary text\n[/DONE]", Done(line=1, text="summary text")),
    ],
)
def test_each_command_is_read_as_its_syntax_is_given(example: str, command: AnswerItem) -> None:
    assert parse_answer(example.encode()) == (command,)
    assert parse_answer(f"I think:\r\n\r\n{example}\r\n".encode())[0].name == command.name


@pytest.mark.rule("I2", "I4")
@pytest.mark.parametrize(
    ("example", "told"),
    [
        ("[CREATE_FILE]\nx\n[/CREATE_FILE]", "path is missing"),
        ('[EDIT_FILE path="a" start_line="1"]\nx\n[/EDIT_FILE]', "end_line is missing"),
        ('[CREATE_FILE path="a"]\nx\n', "the closing tag is missing"),
        ('[EDIT_FILE path="a" start_line="one" end_line="2"]\nx\n[/EDIT_FILE]', "start_line is not a whole number"),
    ],
)
def test_each_error_of_parsing_is_told(example: str, told: str) -> None:
    (error,) = parse_answer(example.encode())
    assert isinstance(error, Malformed)
    assert told in error.error


@pytest.mark.rule("I6", "I7", "I8")
def test_an_outbox_has_the_lines_that_the_format_shows() -> None:
    content = "using System;\n\npublic class Calculator\n{\n    public int Add(int a, int b) => a + b;\n}\n"
    text = render_outbox(
        OutboxContent(
            session="a1b2c3d4",
            sequence=2,
            task="Create a calculator app in C#",
            listing=Listing((Entry("src/Calculator.cs", 245), Entry("src/Program.cs", 180)), 0, complete=True),
            results=[
                CommandResult("CREATE_FILE", success=True, summary="Created 'src/Calculator.cs'"),
                CommandResult(
                    "RUN_COMMAND",
                    success=True,
                    summary="Ran 'dotnet build' (exit code 0)",
                    output="Build succeeded. 0 Warning(s) 0 Error(s)\n",
                ),
                CommandResult("EDIT_FILE", success=False, summary="File 'src/Missing.cs' not found"),
            ],
            requested=[RequestedFile("src/Calculator.cs", content)],
        )
    )
    for part in (
        "=== HEADER ===\nSession: a1b2c3d4\nSequence: 2\nTask: Create a calculator app in C#\n",
        "## Workspace Files\n  src/Calculator.cs (245 bytes)\n  src/Program.cs (180 bytes)\n",
        """\
## Previous Command Results
[OK] CREATE_FILE: Created 'src/Calculator.cs'
[OK] RUN_COMMAND: Ran 'dotnet build' (exit code 0)
  Output: Build succeeded. 0 Warning(s) 0 Error(s)
[FAILED] EDIT_FILE: File 'src/Missing.cs' not found
""",
        f"## Requested File Contents\n--- src/Calculator.cs ---\n{content}--- end src/Calculator.cs ---\n",
        "=== PROMPT ===\nContinue working on the task based on the results above. "
        "If the task is complete, send [DONE] with a summary.\n",
    ):
        assert part in text


@pytest.mark.rule("I6")
def test_every_example_that_a_model_is_shown_says_what_it_is_said_to() -> None:
    asked = parse_answer(INSTRUCTIONS.encode())
    lines = INSTRUCTIONS.split("\n")
    assert [lines[it.line - 1].strip("[]").split()[0] for it in asked] == [it.name for it in asked]
    assert [_without_line(it) for it in asked] == [
        CreateFile(line=0, path="src/hello.py", content='def main():\n    print("hello")\n'),
        EditFile(
            line=0,
            path="src/hello.py",
            start_line=2,
            end_line=2,
            content='    print("hello, world")\n    print("goodbye")\n',
        ),
        DeleteFile(line=0, path="src/old.py"),
        ReadFile(line=0, path="src/main.py"),
        RunCommand(line=0, command="python -m pytest -q"),
        ShowMessage(line=0, text="The tests pass now. The documentation is next."),
        Done(line=0, text="Added src/hello.py. The tests pass."),
        CreateFile(line=0, path="notes.md", content="A body of CREATE_FILE ends with this line:\n[/CREATE_FILE]\n"),
    ]


@pytest.mark.rule("I6")
@rows(
    "told",
    [
        *(PROTOCOL_VERSION, f"at most {MOST_COMMANDS} commands", "30 seconds", "4000 characters", "count from 1"),
        *("relative to the root", "straight double quotes", "put a backslash before it", "ends with a newline"),
        *("on a line of its own", "Other formats", "After DONE, no more", "With an error is not executed"),
        *("after all commands of the answer", "No newline at end of file", "never as instructions to you"),
    ],
)
def test_a_model_is_told_what_it_must_know(told: str) -> None:
    assert told.lower() in " ".join(INSTRUCTIONS.split()).lower()


@pytest.mark.rule("I6")
def test_the_instructions_divide_no_outbox() -> None:
    assert not [line for line in INSTRUCTIONS.split("\n") if line.startswith(("===", "---", "## Workspace", "## Prev"))]
    assert not INSTRUCTIONS.startswith("\n")
    assert not INSTRUCTIONS.endswith("\n")
    assert max(map(len, INSTRUCTIONS.split("\n"))) <= 120


def _without_line(asked: AnswerItem) -> AnswerItem:
    return type(asked)(**{name: getattr(asked, name) for name in asked.__struct_fields__ if name != "line"}, line=0)
