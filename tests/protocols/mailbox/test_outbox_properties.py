"""Whatever an outbox is to say, a reader that knows the rules alone gets it back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_adapter.protocols.mailbox.instructions import INSTRUCTIONS
from codex_adapter.protocols.mailbox.messages import CommandResult
from codex_adapter.protocols.mailbox.outbox import Outbox, Requested, spelt_out, write_outbox
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
REQUESTED = st.builds(Requested, PATH, VALID) | st.builds(Requested, PATH, st.none(), VALID)
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
    [Requested("a", "(x)\n"), Requested("a", "\\(x)\n"), Requested("a", "(x)")],
)
@example(2, "x", Listing((), 0, complete=True), [CommandResult("A", success=True, summary="", output="\n\n")], [])
def test_all_that_an_outbox_says_can_be_read_back(
    sequence: int, task: str, listing: Listing, results: list[CommandResult], requested: list[Requested]
) -> None:
    text = write_outbox(
        Outbox(session="0a1b2c3d", sequence=sequence, task=task, listing=listing, results=results, requested=requested)
    )
    read = read_outbox(text)
    assert (read.session, read.sequence, read.task) == ("0a1b2c3d", sequence, task)
    assert read.protocol == INSTRUCTIONS
    assert (read.prompt == task) if sequence == 1 else read.prompt.startswith("Continue working on the task")
    assert read.files == [(spelt_out(path), size) for path, size in listing.files]
    assert bool(read.not_listed) == (not listing.complete or listing.skipped > 0 or not listing.files)
    assert read.results == (None if sequence == 1 else [_as_shown(result) for result in results])
    assert read.requested == [
        (spelt_out(path), content, "" if content is not None else spelt_out(remark))
        for path, content, remark in requested
    ]


def _as_shown(result: CommandResult) -> CommandResult:
    return CommandResult(
        result.command,
        success=result.success,
        summary=spelt_out(result.summary),
        output=spelt_out(result.output.removesuffix("\n"), lines=True),
    )
