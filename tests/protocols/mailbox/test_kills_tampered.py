"""Test answers that change between a kill and the process that resumes the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter.protocols.mailbox.events import SessionCompleted
from codex_adapter.protocols.mailbox.layout import MailboxError

from .kills_mortal import DONE, RUN, DeadError, Mortal, ran

pytestmark = pytest.mark.rule("I14")

DEPARTED = "it was changed or removed after it had been accepted; its other commands were not executed"


@pytest.fixture
def bench(tmp_path: Path) -> Mortal:
    return Mortal(tmp_path)


@pytest.mark.parametrize("how", ["changed", "removed"])
@pytest.mark.parametrize("seen", [0, 1], ids=["before anything of it", "behind its first command"])
@pytest.mark.fault(
    "workspace",
    "A person changes or removes a collected answer before the next process resumes it",
    "The mailbox stops and reports that answer, and executes the others",
)
async def test_an_answer_that_is_not_as_it_was_is_not_gone_on_with(bench: Mortal, how: str, seen: int) -> None:
    await bench.die(3 + seen, "[MESSAGE]\nfirst\n[/MESSAGE]", RUN.format("x") + RUN.format("y"), RUN.format("z"))
    tamper(bench.kept(2), how)
    assert await bench.go_on() == [
        ("MESSAGE", True, "Shown to the user"),
        *([ran("x")] * seen),
        ("ANSWER", False, DEPARTED),
        ran("z"),
    ]
    assert bench.ledger == ["x"] * seen + ["z"]


@pytest.mark.parametrize("how", ["changed", "removed"])
async def test_the_only_answer_of_a_round_that_is_not_as_it_was_takes_no_place_of_another(
    bench: Mortal, how: str
) -> None:
    await bench.die(2, RUN.format("x") + RUN.format("y"))
    tamper(bench.kept(1), how)
    async with bench.resume() as session:
        assert await session.has_accepted()
        results = await bench.answered(session, RUN.format("z"))
        assert [(it.command, it.success, it.summary) for it in results] == [
            ran("x"),
            ("ANSWER", False, DEPARTED),
            ran("z"),
        ]


@pytest.mark.parametrize("how", ["changed", "removed"])
@pytest.mark.parametrize("behind", ["same", "done"])
async def test_what_was_refused_because_of_an_answer_stays_so_when_that_is_not_as_it_was(
    bench: Mortal, how: str, behind: str
) -> None:
    first = RUN.format("x") + RUN.format("y") + (DONE if behind == "done" else "")
    second = first if behind == "same" else RUN.format("z") * 2
    await bench.die(5 if behind == "same" else 6, first, second)
    tamper(bench.kept(1), how)
    results = await bench.go_on()
    assert bench.ledger == ["x", "y"]
    done = ["DONE"] * (behind == "done")
    assert [command for command, _, _ in results] == ["RUN_COMMAND", "RUN_COMMAND", *done, "ANSWER", "ANSWER"]
    assert (len(bench.of(SessionCompleted)) == 1) is (behind == "done")


async def test_an_answer_that_was_told_to_be_not_as_it_was_stays_so_when_it_is_put_back(bench: Mortal) -> None:
    await bench.die(2, RUN.format("x") + RUN.format("y"), RUN.format("z"))
    path = bench.kept(1)
    data = path.read_bytes()
    path.write_bytes(b"")
    bench.moments = 2
    with pytest.raises(DeadError):
        await bench.go_on()
    path.write_bytes(data)
    assert await bench.go_on() == [ran("x"), ("ANSWER", False, DEPARTED), ran("z")]
    assert bench.ledger == ["x", "z"]


def tamper(path: Path, how: str) -> None:
    """Have a file not be what it was."""
    if how == "changed":
        path.write_bytes(path.read_bytes() + b"\n")
    else:
        path.unlink()


async def test_what_lies_in_the_place_of_an_answer_is_not_followed(bench: Mortal) -> None:
    await bench.die(2, RUN.format("x") + RUN.format("y"))
    kept = bench.kept(1)
    elsewhere = kept.rename(bench.places.root / "elsewhere")
    kept.symlink_to(elsewhere)
    with pytest.raises(MailboxError, match=r"^an answer cannot be read"):
        await bench.go_on()
    elsewhere.rename(kept)
    assert await bench.go_on() == [ran("x"), ran("y")]
