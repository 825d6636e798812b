"""Test that a reader that knows only the rules reads any outbox back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_adapter.protocols.mailbox.instructions import INSTRUCTIONS
from codex_adapter.protocols.mailbox.messages import CommandResult
from codex_adapter.protocols.mailbox.outbox import OutboxContent, RequestedFile, escape_controls, render_outbox
from codex_adapter.workspace import Entry, Listing

from .outbox_reader import read_outbox

LINES = st.sampled_from(
    [f"=== {name} ===" for name in ("HEADER", "PROTOCOL", "CONTEXT", "PROMPT", "OTHER")]
    + [
        "--- a ---",
        "--- end a ---",
        "--- end b ---",
        "\\ No newline at end of file",
        "(x)",
        "()",
        "(",
        "(empty workspace)",
    ]
    + [
        "## Workspace Files",
        "## Previous Command Results",
        "## Requested File Contents",
        "[OK] X: y",
        "  Output: x",
        "",
        " ",
    ]
)
LINE = st.tuples(
    st.sampled_from(["", "", "\\", "\\\\", " ", "\t\\", "\ufeff"]), LINES, st.sampled_from(["", "", " ", "\r"])
)
TEXT = st.lists(LINE.map("".join) | st.text(max_size=5), max_size=5).map("\n".join)
VALID = TEXT.map(lambda text: text.encode(errors="replace").decode())
PATH = st.sampled_from(["a", "b", "end a", "a ---", "x\ny", "(x)"]) | VALID.filter(bool)
RESULTS = st.builds(
    CommandResult,
    st.sampled_from(["CREATE_FILE", "RUN_COMMAND", "ANSWER"]),
    success=st.booleans(),
    summary=VALID,
    output=VALID,
)
REQUESTED = st.builds(RequestedFile, PATH, VALID) | st.builds(RequestedFile, PATH, st.none(), VALID)
LISTING = st.builds(
    Listing, st.lists(st.builds(Entry, PATH, st.integers(0))).map(tuple), st.integers(0, 3), st.booleans()
)


@pytest.mark.rule("I6", "I7", "I8")
@given(st.integers(1, 3), VALID, LISTING, st.lists(RESULTS, max_size=3), st.lists(REQUESTED, max_size=3))
@example(
    1,
    "\n",
    Listing((), 0, complete=True),
    [],
    [RequestedFile("a", "(x)\n"), RequestedFile("a", "\\(x)\n"), RequestedFile("a", "(x)")],
)
@example(2, "x", Listing((), 0, complete=True), [CommandResult("A", success=True, summary="", output="\n\n")], [])
def test_all_that_an_outbox_says_can_be_read_back(
    sequence: int, task: str, listing: Listing, results: list[CommandResult], requested: list[RequestedFile]
) -> None:
    text = render_outbox(
        OutboxContent(
            session="0a1b2c3d", sequence=sequence, task=task, listing=listing, results=results, requested=requested
        )
    )
    read = read_outbox(text)
    assert (read.session, read.sequence, read.task) == ("0a1b2c3d", sequence, task)
    assert read.protocol == INSTRUCTIONS
    assert (read.prompt == task) if sequence == 1 else read.prompt.startswith("Continue working on the task")
    assert read.files == [(escape_controls(path), size) for path, size in listing.files]
    assert bool(read.not_listed) == (not listing.complete or listing.skipped > 0 or not listing.files)
    assert read.results == (None if sequence == 1 else [_as_shown(result) for result in results])
    assert read.requested == [
        (escape_controls(path), content, "" if content is not None else escape_controls(remark))
        for path, content, remark in requested
    ]


def _as_shown(result: CommandResult) -> CommandResult:
    return CommandResult(
        result.command,
        success=result.success,
        summary=escape_controls(result.summary),
        output=escape_controls(result.output.removesuffix("\n"), lines=True),
    )
