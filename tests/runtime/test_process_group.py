"""Test the process group level: an exited agent keeps its id until its group has ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codex_adapter.runtime.containment.marks import new_mark, with_mark
from codex_adapter.runtime.containment.process_group import start_group

from ..waiting import until
from .survivors import Survivors


@pytest.mark.rule("N1", "K4")
async def test_the_id_of_an_agent_is_not_given_away_while_its_group_is_to_be_killed(
    tmp_path: Path, survivors: Survivors
) -> None:
    script = "echo $$ >agent; sleep 60 >/dev/null & exit 7"
    mark = new_mark()
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        group = start_group(
            ["/bin/sh", "-c", script],
            env=with_mark({**os.environ, **survivors.env}, mark),
            cwd=str(tmp_path),
            pipes=[nothing.fileno()] * 3,
            mark=mark,
        )
    assert (await group.wait()).code == 7
    status = Path("/proc", (tmp_path / "agent").read_text().strip(), "status")
    assert "State:\tZ" in status.read_text()
    assert survivors.now() != []
    await group.aclose()
    assert not status.exists()
    assert survivors.now() == []


@pytest.mark.rule("N1", "K4")
async def test_a_process_without_the_mark_has_exited_at_the_end_even_if_it_exits_late(
    tmp_path: Path, survivors: Survivors, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = new_mark()
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        group = start_group(
            ["/bin/sh", "-c", "env -i /bin/sleep 60 & exec sleep 60"],
            env=with_mark(dict(os.environ), mark),
            cwd=str(tmp_path),
            pipes=[nothing.fileno()] * 3,
            mark=mark,
        )
    until(lambda: len(survivors.now()) == 2)
    kill, ignored = os.killpg, [1, 2, 3]

    def kill_late(pgid: int, number: int) -> None:
        """Do as if a killed process took a while to exit."""
        if ignored:
            ignored.pop()
        else:
            kill(pgid, number)

    monkeypatch.setattr(os, "killpg", kill_late)
    await group.aclose()
    assert survivors.now() == []
