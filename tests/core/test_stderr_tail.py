"""Test what the end of an agent's stderr reports."""

from __future__ import annotations

import pytest

from codex_adapter.core.stderr_tail import StderrTail

from ..rows import rows

NOISE = b"noise\n" * 10_000
MISSING = b"no such session:"


def a_tail() -> StderrTail:
    return StderrTail(
        ((r"error: unknown option", "flag_unknown"), (r"error: ", "configuration_broken")),
        (MISSING,),
        {b"no bubblewrap": "sandbox_unavailable"},
    )


@pytest.mark.rule("S9", "S7")
@rows("cut", range(len(MISSING) + 1))
def test_a_missing_session_counts_wherever_it_is_reported_and_however_it_is_cut(cut: int) -> None:
    tail = a_tail()
    tail.receive(NOISE + MISSING[:cut])
    tail.receive(MISSING[cut:] + NOISE)
    assert tail.session_missing
    assert tail.take_hint() is None


@pytest.mark.rule("F9")
@pytest.mark.parametrize(
    ("printed", "hint"),
    [
        (b"error: x\nerror: unknown option -y\nbacktrace", "flag_unknown"),
        (b"\x1b[31merror: x\x1b[39m\n", "configuration_broken"),
        (b"the error: x\n", None),
        (b"there is no bubblewrap here\n" + NOISE, "sandbox_unavailable"),
        (b"there is no bubblewrap here\nerror: x\n", "configuration_broken"),
    ],
)
def test_the_last_known_line_counts_and_else_a_phrase(printed: bytes, hint: str | None) -> None:
    tail = a_tail()
    tail.receive(printed)
    assert not tail.session_missing
    assert tail.take_hint() == hint
