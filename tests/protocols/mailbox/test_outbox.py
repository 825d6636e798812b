"""Test outbox files: their sections, the workspace listing, and the text of their contents."""

from __future__ import annotations

import pytest

from codex_adapter.protocols.mailbox.instructions import INSTRUCTIONS
from codex_adapter.protocols.mailbox.messages import CommandResult
from codex_adapter.protocols.mailbox.outbox import (
    MOST_FILES,
    OutboxContent,
    RequestedFile,
    escape_controls,
    render_outbox,
)
from codex_adapter.workspace import Entry, Listing

from ...rows import rows

EMPTY = Listing((), 0, complete=True)
CONTINUE = (
    "Continue working on the task based on the results above. If the task is complete, send [DONE] with a summary."
)


def written(
    task: str = "Do it.",
    listing: Listing = EMPTY,
    sequence: int = 2,
    results: list[CommandResult] | None = None,
    requested: list[RequestedFile] | None = None,
) -> str:
    text = render_outbox(
        OutboxContent(
            session="a1b2c3d4",
            sequence=sequence,
            task=task,
            listing=listing,
            results=results or [],
            requested=requested or [],
        )
    )
    assert text.count(INSTRUCTIONS) == 1
    return text.replace(INSTRUCTIONS, "(instructions)")


@pytest.mark.rule("I6", "I7")
def test_the_first_outbox_has_the_task_and_no_results() -> None:
    listing = Listing((Entry("a.py", 245), Entry("src/b.py", 0)), 0, complete=True)
    assert (
        written("Create a calculator\n\n in C#", listing, sequence=1)
        == """\
=== HEADER ===
Session: a1b2c3d4
Sequence: 1
Task: Create a calculator
\x20\x20
   in C#

=== PROTOCOL ===
(instructions)

=== CONTEXT ===
## Workspace Files
  a.py (245 bytes)
  src/b.py (0 bytes)

=== PROMPT ===
Create a calculator

 in C#
"""
    )


@pytest.mark.rule("I6", "I7", "I8")
def test_a_later_outbox_has_results_and_contents_and_asks_to_go_on() -> None:
    results = [
        CommandResult("CREATE_FILE", success=True, summary="Created 'a.py'"),
        CommandResult("RUN_COMMAND", success=True, summary="Ran 'make' (exit code 0)", output="one\n\ttwo\n\nfour\n"),
        CommandResult("EDIT_FILE", success=False, summary="File 'b' not found"),
    ]
    requested = [
        RequestedFile("a.py", "x\n\ty\n"),
        RequestedFile("c", None, "File not found"),
        RequestedFile("d", ""),
        RequestedFile("e", "1"),
    ]
    assert (
        written(results=results, requested=requested)
        == f"""\
=== HEADER ===
Session: a1b2c3d4
Sequence: 2
Task: Do it.

=== PROTOCOL ===
(instructions)

=== CONTEXT ===
## Workspace Files
(empty workspace)

## Previous Command Results
[OK] CREATE_FILE: Created 'a.py'
[OK] RUN_COMMAND: Ran 'make' (exit code 0)
  Output: one
    \ttwo
\x20\x20\x20\x20
    four
[FAILED] EDIT_FILE: File 'b' not found

## Requested File Contents
--- a.py ---
x
	y
--- end a.py ---

--- c ---
(File not found)
--- end c ---

--- d ---
--- end d ---

--- e ---
1
\\ No newline at end of file
--- end e ---

=== PROMPT ===
{CONTINUE}
"""
    )


@pytest.mark.rule("I7")
@pytest.mark.parametrize(
    ("files", "skipped", "complete", "told"),
    [
        (0, 0, True, "(empty workspace)"),
        (MOST_FILES, 0, True, None),
        (MOST_FILES + 1, 0, True, "1 more files"),
        (0, 3, True, "3 names that cannot be read"),
        (1, 0, False, "the workspace has too many names"),
    ],
)
def test_what_is_not_listed_is_told_in_a_last_line(files: int, skipped: int, complete: bool, told: str | None) -> None:
    entries = tuple(Entry(f"{number:04d}", number) for number in range(files))
    text = written(listing=Listing(entries, skipped, complete=complete))
    lines = text.partition("## Workspace Files\n")[2].partition("\n\n")[0].split("\n")
    if told:
        assert told in lines.pop()
    assert lines == [f"  {number:04d} ({number} bytes)" for number in range(min(files, MOST_FILES))]


@pytest.mark.rule("I8")
@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("a\x1b[31mé 😀 \\x", "a\\x1b[31mé 😀 \\x"),
        ("\0\r\x7f\x85\x9f", "\\x00\\x0d\\x7f\\x85\\x9f"),
        ("\u2028\u202e\u2066\ufeff\u200f", "\\u2028\\u202e\\u2066\\ufeff\\u200f"),
        ("\udcff", "\\udcff"),
        ("日本\u3000語 نص\xa0👩\u200d💻", "日本\u3000語 نص\xa0👩\u200d💻"),
    ],
)
def test_characters_that_act_are_spelt_out(text: str, spelt: str) -> None:
    assert escape_controls(text) == spelt
    assert escape_controls(text, lines=True) == spelt
    assert escape_controls(spelt) == spelt


@pytest.mark.rule("I8")
def test_tabs_and_newlines_of_output_stay() -> None:
    assert escape_controls("a\n\tb\r\n") == "a\\x0a\\x09b\\x0d\\x0a"
    assert escape_controls("a\n\tb\r\n", lines=True) == "a\n\tb\\x0d\n"


@pytest.mark.rule("I8")
def test_names_and_texts_of_results_stay_on_their_lines() -> None:
    name = "a\n=== PROMPT ===\n\x1b"
    text = written(
        listing=Listing((Entry(name, 1),), 0, complete=True),
        results=[CommandResult("RUN_COMMAND", success=True, summary=f"Ran '{name}'", output=name)],
        requested=[RequestedFile(name, "x\n"), RequestedFile(name, None, name)],
    )
    assert text.count("\n=== PROMPT ===\n") == 1
    assert "\x1b" not in text
    assert "    === PROMPT ===\n" in text


@pytest.mark.rule("I6", "I8")
@rows("name", ["HEADER", "PROTOCOL", "CONTEXT", "PROMPT"])
@rows(("before", "behind"), [("", ""), ("\\", ""), (" \t\\\\", "  "), ("", "\r"), ("\ufeff", "\u200b")])
def test_a_line_that_is_a_section_s_marker_gets_a_backslash(name: str, before: str, behind: str) -> None:
    line = f"{before}=== {name} ==={behind}"
    white = line[: len(line) - len(line.lstrip(" \t\ufeff"))]
    escaped = f"{white}\\{line[len(white) :]}"
    text = written(requested=[RequestedFile("a", f"x\n{line}\n{line} x\ny {line}\n")])
    assert f"\nx\n{escaped}\n{line} x\ny {line}\n--- end a" in text
    assert written(f"x\n{line}", sequence=1).endswith(f"\nx\n{escaped}\n")


@pytest.mark.rule("I6")
def test_every_outbox_can_be_encoded() -> None:
    assert "\\udcff" in written("caf\udcff", requested=[RequestedFile("\udcff", "x")])
