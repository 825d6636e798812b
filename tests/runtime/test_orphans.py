"""Test that the search finds and ends only the processes that a killed adapter left."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codex_adapter.runtime.containment.cgroup import make_cgroup
from codex_adapter.runtime.containment.containment import Level
from codex_adapter.runtime.containment.marks import (
    MARK_VARIABLE,
    adapter_has_exited,
    directory_name,
    is_of_this_boot,
    living_namespaces,
    mark_of,
    marked,
    new_mark,
    with_mark,
)
from codex_adapter.runtime.containment.orphans import end_orphans, orphans
from codex_adapter.runtime.private_file import private_file
from codex_adapter.testing import Hang

from ..needs import missing
from ..rows import rows
from ..waiting import until
from .agents import DESCENDANTS, WHOLE_TURN, start_all_kinds
from .survivors import Survivors
from .test_containment_limits import adapter

pytestmark = [pytest.mark.rule("N5"), pytest.mark.usefixtures("alone_with_orphans")]

CLEARED = {kind for kind, options in DESCENDANTS.items() if options.get("clear_environment")}


def started(pid: int) -> str:
    """When the process was started, as the system tells it."""
    return Path(f"/proc/{pid}/stat").read_text().split()[21]


@pytest.mark.rule("N4")
def test_a_process_that_executes_one_program_after_another_is_found(tmp_path: Path) -> None:
    # Without its environment for an instant in each execve, it is missed by one look in thirty that takes no notice.
    program = tmp_path / "again"
    program.write_text('#!/bin/sh\n[ -e "$0.stop" ] || exec "$0"\n')
    program.chmod(0o755)
    mark = new_mark()
    with subprocess.Popen([program], env=with_mark(os.environ, mark)) as process:
        looks = [list(marked(mark)) == [process.pid] for _ in range(400)]
        program.with_name("again.stop").touch()
    assert looks.count(False) <= 1


@pytest.mark.rule("N4")
def test_a_process_without_variables_carries_no_mark() -> None:
    with subprocess.Popen(["/bin/sleep", "600"], env={}) as process:
        assert mark_of(process.pid) is None
        process.kill()


def test_a_mark_tells_whether_its_adapter_lives() -> None:
    mine = new_mark()
    assert not adapter_has_exited(mine)
    with subprocess.Popen(["sleep", "600"]) as other:
        # The id is there again, but it is another process that has it now.
        assert adapter_has_exited(re.sub(r"^\d+", str(other.pid), mine))
        theirs = re.sub(r"^\d+-\d+", f"{other.pid}-{started(other.pid)}", mine)
        assert not adapter_has_exited(theirs)
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert adapter_has_exited(theirs)
    assert adapter_has_exited(f"{mine}:{theirs}")
    assert adapter_has_exited(f"{theirs}:{mine}")


@rows("text", ["", "-", "1", "1-2-3-4", "x-1-2-3-4", "1-2-3-4-5-6", "²-1-2-3-4", "0-0-0-0-0", ":::"])
def test_what_is_no_mark_of_this_place_is_never_judged(text: str) -> None:
    assert not adapter_has_exited(text)


def test_an_adapter_of_another_namespace_is_never_judged() -> None:
    pid, started, namespace, boot, word = new_mark().split("-")
    gone = f"{pid}-{int(started) + 1}"
    assert adapter_has_exited(f"{gone}-{namespace}-{boot}-{word}")
    assert not adapter_has_exited(f"{gone}-{int(namespace) + 1}-{boot}-{word}")


@contextmanager
def sleeping(mark: str | None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries this mark."""
    env = {"PATH": os.environ["PATH"]}
    with subprocess.Popen(["sleep", "600"], env=env if mark is None else with_mark(env, mark)) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.fault(
    "signals", "SIGKILL ends an adapter without a guard", "`doctor --orphans --kill` ends the processes that remain"
)
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
        missing("cgroup")
    with sleeping(None) as other, sleeping(None) as process:
        cgroup = make_cgroup(re.sub(r"^\d+-\d+", f"{other.pid}-{started(other.pid)}", new_mark()))
        assert cgroup is not None
        Path(cgroup.path, "cgroup.procs").write_text(str(process.pid))
        other.kill()
        other.wait()
        assert process.pid in [orphan.pid for orphan in orphans()]
        await end_orphans()
        assert process.wait(60) == -9
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
    marks = (mine, gone, of_another_machine(mine), of_another_machine(gone), "of-somebody-else")
    for mark in marks:
        (tmp_path / name_of(mark)).mkdir(0o700)
        (tmp_path / name_of(mark) / "file").touch()
    await end_orphans()
    assert {path.name for path in tmp_path.iterdir()} == {name_of(mark) for mark in marks if mark != gone}


def name_of(mark: str) -> str:
    """Return the name of a run's directory; a mark of another program names itself."""
    return directory_name(mark) if mark.count("-") == 4 else f"codex-adapter-{mark}"


def of_another_machine(mark: str) -> str:
    """Return the mark that an adapter of the same id, time of start and namespace has on another machine."""
    *before, boot, word = mark.split("-")
    return "-".join((*before, uuid.UUID(int=uuid.UUID(boot).int ^ 1 << 96).hex, word))


@pytest.mark.rule("N4", "S10")
@pytest.mark.fault(
    "environment",
    "Several machines share a temporary directory",
    "A run leaves the files of other machines unchanged, whatever their ids",
)
async def test_a_run_leaves_the_directories_of_other_machines_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone = new_mark().replace("-", "-9", 1)
    for mark in (gone, of_another_machine(gone)):
        (tmp_path / name_of(mark)).mkdir(0o700)
    async with private_file(new_mark(), "output-schema.json", b"{}"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [name_of(of_another_machine(gone))]


@pytest.mark.rule("N4")
def test_where_the_system_does_not_tell_its_boots_apart_no_directory_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_adapter.runtime.containment.marks.boot_id", lambda: "0")
    pid, started, namespace, _, word = new_mark().split("-")
    gone = f"{pid}-9{started}-{namespace}-0-{word}"
    assert adapter_has_exited(gone)  # a process that carries it is of this machine
    assert not is_of_this_boot(directory_name(gone))


def stranded(namespace: int) -> str:
    """Return the mark of an adapter that was in this PID namespace."""
    pid, started, _, boot, word = new_mark().split("-")
    return f"{pid}-{started}-{namespace}-{boot}-{word}"


@pytest.fixture
def inner_namespace() -> Iterator[tuple[int, Path]]:
    """The inode of a PID namespace with a process, and the file by which that is ended."""
    words = (
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        "readlink /proc/self/ns/pid; cat",
    )
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            missing("namespaces")
        yield int(line.decode().strip()[5:-1]), Path(f"/proc/{process.pid}")
        process.kill()


async def test_an_empty_cgroup_goes_when_its_adapters_namespace_has_no_process_any_more(
    levels: list[Level], inner_namespace: tuple[int, Path]
) -> None:
    if "cgroup" not in levels or living_namespaces() is None:
        missing("cgroup")
    living, _ = inner_namespace
    assert living in (living_namespaces() or ())
    gone = next(number for number in range(4026531800, 1, -1) if number not in (living_namespaces() or ()))
    with sleeping(None) as process:
        cgroups = [make_cgroup(stranded(number)) for number in (living, gone, gone)]
        paths = [Path(cgroup.path) for cgroup in cgroups if cgroup is not None]
        (paths[2] / "cgroup.procs").write_text(str(process.pid))
        await end_orphans()
        # of a living namespace; empty and of none; not empty
        assert [path.exists() for path in paths] == [True, False, True]
        assert process.poll() is None
        process.kill()
        process.wait()
    await end_orphans()
    assert [path.exists() for path in paths] == [True, False, False]
    paths[0].rmdir()


async def test_no_namespace_is_judged_by_an_adapter_that_does_not_see_all(
    levels: list[Level], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "cgroup" not in levels:
        missing("cgroup")
    monkeypatch.setattr("codex_adapter.runtime.containment.marks._namespace", lambda: 4026532000)
    assert living_namespaces() is None
    cgroup = make_cgroup(stranded(1))
    assert cgroup is not None
    await end_orphans()
    assert Path(cgroup.path).exists()
    Path(cgroup.path).rmdir()


@pytest.mark.rule("N4")
def test_the_marks_of_a_process_can_be_read() -> None:
    outer, inner = new_mark(), new_mark()
    env = with_mark(with_mark({}, outer), inner)
    assert env == {MARK_VARIABLE: f"{outer}:{inner}"}
    with sleeping(outer) as process:
        until(lambda: mark_of(process.pid) is not None)  # it has become another program
        assert mark_of(process.pid) == outer
    assert mark_of(process.pid) is None
