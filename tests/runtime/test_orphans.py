"""What a killed adapter has left is found and ended, and nothing else is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codex_adapter.runtime.cgroup import make_cgroup
from codex_adapter.runtime.containment import Level
from codex_adapter.runtime.marks import MARK_VARIABLE, adapter_is_gone, mark_of, new_mark, with_mark
from codex_adapter.runtime.orphans import end_orphans, orphans
from codex_adapter.testing import Hang

from .agents import DESCENDANTS, WHOLE_TURN, start_all_kinds
from .survivors import Survivors
from .test_containment_limits import adapter

pytestmark = pytest.mark.rule("N5")

CLEARED = {kind for kind, options in DESCENDANTS.items() if options.get("clear_environment")}


def started(pid: int) -> str:
    """When the process was started, as the system tells it."""
    return Path(f"/proc/{pid}/stat").read_text().split()[21]


def test_a_mark_tells_whether_its_adapter_lives() -> None:
    mine = new_mark()
    assert not adapter_is_gone(mine)
    with subprocess.Popen(["sleep", "600"]) as other:
        # The id is there again, but it is another process that has it now.
        assert adapter_is_gone(re.sub(r"^\d+", str(other.pid), mine))
        theirs = re.sub(r"^\d+-\d+", f"{other.pid}-{started(other.pid)}", mine)
        assert not adapter_is_gone(theirs)
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert adapter_is_gone(theirs)
    assert adapter_is_gone(f"{mine}:{theirs}")
    assert adapter_is_gone(f"{theirs}:{mine}")


@pytest.mark.parametrize("text", ["", "-", "1", "1-2-3", "x-1-2-3", "1-2-3-4-5", "²-1-2-3", "0-0-0-0", ":::"])
def test_what_is_no_mark_of_this_place_is_never_judged(text: str) -> None:
    assert not adapter_is_gone(text)


def test_an_adapter_of_another_namespace_is_never_judged() -> None:
    pid, started, namespace, word = new_mark().split("-")
    gone = f"{pid}-{int(started) + 1}"
    assert adapter_is_gone(f"{gone}-{namespace}-{word}")
    assert not adapter_is_gone(f"{gone}-{int(namespace) + 1}-{word}")


@contextmanager
def sleeping(mark: str | None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries this mark."""
    env = {"PATH": os.environ["PATH"]}
    with subprocess.Popen(["sleep", "600"], env=env if mark is None else with_mark(env, mark)) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.fault("signals", "SIGKILL to an adapter without a guard", "doctor --orphans --kill ends what it left")
async def test_what_a_killed_adapter_left_is_listed_and_then_ended(tmp_path: Path, survivors: Survivors) -> None:
    steps = [*start_all_kinds(), *WHOLE_TURN[:2], Hang()]
    with adapter(steps, survivors, tmp_path, allowed=["process_group"]) as held:
        all_of_it = {process.pid for process in survivors.now()} - {held.process.pid}
        assert all_of_it.isdisjoint(orphan.pid for orphan in orphans())
        held.process.kill()
        held.process.wait()
    found = [orphan for orphan in orphans() if orphan.pid in all_of_it]
    # the agent itself, and whoever has kept the mark
    assert len(found) == 1 + len(DESCENDANTS.keys() - CLEARED)
    assert {orphan.name for orphan in found} == {"codex", Path(sys.executable).name}
    assert all(0 <= orphan.seconds < 60 for orphan in found)
    assert not [orphan for orphan in await end_orphans() if orphan.pid in all_of_it]
    assert len(survivors.soon(0.2)) == len(CLEARED)


async def test_what_is_in_the_cgroup_of_a_killed_adapter_is_an_orphan_without_a_mark(levels: list[Level]) -> None:
    if "cgroup" not in levels:
        pytest.skip("this machine has no cgroup for us")
    with sleeping(None) as other, sleeping(None) as process:
        cgroup = make_cgroup(re.sub(r"^\d+-\d+", f"{other.pid}-{started(other.pid)}", new_mark()))
        assert cgroup is not None
        Path(cgroup.path, "cgroup.procs").write_text(str(process.pid))
        other.kill()
        other.wait()
        assert process.pid in [orphan.pid for orphan in orphans()]
        await end_orphans()
        assert process.wait(5) == -9
    assert not Path(cgroup.path).exists()


async def test_what_a_living_adapter_holds_or_nobody_marked_stays(levels: list[Level]) -> None:
    stranger = new_mark().replace("-", "-0", 1).rpartition("-")[0]  # not what a mark looks like
    with sleeping(new_mark()) as ours, sleeping(None) as unmarked, sleeping(stranger) as strange:
        cgroup = make_cgroup(new_mark()) if "cgroup" in levels else None
        await end_orphans()
        assert {ours.pid, unmarked.pid, strange.pid}.isdisjoint(orphan.pid for orphan in orphans())
        assert [process.poll() for process in (ours, unmarked, strange)] == [None] * 3
        if cgroup is not None:
            assert Path(cgroup.path).exists()
            await cgroup.aclose()


async def test_directories_of_killed_adapters_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = new_mark()
    gone = mine.replace("-", "-9", 1)
    for mark in (mine, gone, "of-somebody-else"):
        (tmp_path / f"codex-adapter-{mark}").mkdir()
        (tmp_path / f"codex-adapter-{mark}" / "file").touch()
    await end_orphans()
    assert {path.name for path in tmp_path.iterdir()} == {f"codex-adapter-{mine}", "codex-adapter-of-somebody-else"}


@pytest.mark.rule("N4")
def test_the_marks_of_a_process_can_be_read() -> None:
    outer, inner = new_mark(), new_mark()
    env = with_mark(with_mark({}, outer), inner)
    assert env == {MARK_VARIABLE: f"{outer}:{inner}"}
    with sleeping(outer) as process:
        deadline = time.monotonic() + 5
        while mark_of(process.pid) is None:  # until it has become another program
            assert time.monotonic() < deadline
        assert mark_of(process.pid) == outer
    assert mark_of(process.pid) is None
