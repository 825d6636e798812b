"""Test that every command works without pidfds at the same level, and that `doctor` reports the reason."""

from __future__ import annotations

import json
import re
import sys

import pytest

from ..attack.commands import Trial, doctor, operations, run, serve, turn
from ..attack.scene import Scene, scene_in

pytestmark = pytest.mark.rule("N6")

WHY = {"python_without_pidfd": "this Python was built without them", "no_pidfd": "the kernel or a seccomp filter"}


@pytest.mark.parametrize(
    ("name", "command"),
    [("no_pidfd", run), *(("python_without_pidfd", command) for command in (run, serve, operations, turn))],
)
@pytest.mark.fault("spawning", "Python or the kernel has no pidfds", "Every command works without them")
def test_a_command_works_without_pidfds(name: str, command: Trial) -> None:
    with scene_in(name) as scene:
        done, right = command(scene)
        assert (right, done.status, done.stderr) == (True, 0, ""), done
        assert scene.left() == []


@pytest.mark.parametrize("name", WHY)
@pytest.mark.rule("C4")
def test_doctor_says_why_there_are_none_and_finds_the_same_levels(name: str) -> None:
    with scene_in(name) as scene, scene_in("nothing_special") as usual:
        report, with_pidfds = (json.loads(doctor(each)[0].stdout) for each in (scene, usual))
        [found] = [finding for finding in report["findings"] if finding["subject"] == "pidfd"]
        assert found["state"] == "warning"
        assert WHY[name] in found["found"]
        assert "pidfd" not in {finding["subject"] for finding in with_pidfds["findings"]}
        assert report["containment_levels"] == with_pidfds["containment_levels"]


@pytest.mark.parametrize("name", WHY)
@pytest.mark.rule("N5")
@pytest.mark.usefixtures("alone_with_orphans")
def test_orphans_are_ended_without_pidfds(name: str) -> None:
    with scene_in(name) as scene:
        gone = mark_of_a_gone_adapter(scene)
        left = scene.cli.start("1000", program=("env", f"CODEX_ADAPTER_RUN={gone}", "sleep"))
        with left:
            done = scene.run("doctor", "--orphans", "--kill", "--json")
            ended = {orphan["pid"] for orphan in json.loads(done.stdout)["found"]}
            assert left.pid in ended, done
            assert left.wait(60) == -9


def mark_of_a_gone_adapter(scene: Scene) -> str:
    """Return the mark of a process that has this test's namespace, and that never was."""
    code = "from codex_adapter.runtime.containment.marks import new_mark; print(new_mark())"
    mark = scene.cli.finish(scene.cli.start("-c", code, program=(sys.executable,))).stdout.decode().strip()
    return re.sub(r"^(\d+)-", r"\g<1>-9", mark)
