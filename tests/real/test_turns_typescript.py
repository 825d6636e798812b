"""Test many parallel conversations with the real CLI through the TypeScript example."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codex_adapter.testing import Route, Scenario, Shell, answer

from ..needs import missing
from ..protocols.turns.event_rules import check_events, check_response
from .house import write_house
from .stage import Stage
from .test_turns_many import SIZES, names, scenario

pytestmark = [pytest.mark.real, pytest.mark.rule("U1", "U2", "U4", "U8", "U12")]

EXAMPLE = Path(__file__).parents[2] / "examples" / "turns" / "conversation.mts"
COMPILER = ("typescript@5.9.3", "@types/node@20")
OPTIONS = ("--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "--outDir", "out")


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, compiled."""
    place = tmp_path_factory.mktemp("typescript")
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        missing("node")
    install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place), *COMPILER]
    if subprocess.run(install, cwd=place, capture_output=True, timeout=300, check=False).returncode:
        missing("npm")
    shutil.copy(EXAMPLE, place)
    compiler = place / "node_modules" / ".bin" / "tsc"
    done = subprocess.run([compiler, *OPTIONS, EXAMPLE.name], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return place / "out" / "conversation.mjs"


def held(stage: Stage, example: Path, talks: Mapping[str, Any], model: Scenario) -> subprocess.CompletedProcess[str]:
    """The example with these conversations, to its end; nothing of it is left."""
    stage.release.needs(0, 77, what="skills")
    plan = stage.root / "plan.json"
    spec = msgspec.to_builtins(write_house(stage))
    command = ["node", str(example), str(plan), "--", *stage.daemon_options]
    with stage.model(model):
        turn = {"aspHome": str(stage.root / "asp"), "spec": spec, "harness": stage.harness_id, "env": stage.env}
        plan.write_text(json.dumps({"turn": turn, "conversations": talks}))
        env = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=1200, check=False)
    stage.oracle.check()
    return done


@pytest.mark.parametrize("size", SIZES)
def test_many_conversations_at_once_from_another_language(
    any_stage: Stage, example: Path, size: tuple[int, int]
) -> None:
    stage, (conversations, turns) = any_stage, size
    talks = {}
    for name in names(conversations):
        cwd = stage.workspace / name
        cwd.mkdir()
        prompts = [f"I am {name}, and this is {number}." for number in range(turns)]
        talks[name] = {"cwd": str(cwd), "prompts": prompts}
    done = held(stage, example, talks, scenario(stage, conversations, turns))
    assert (done.returncode, done.stderr) == (0, "")
    told = sorted(map(json.loads, done.stdout.splitlines()), key=lambda line: str(line["externalSessionId"]))
    talks_told = {name: list(lines) for name, lines in groupby(told, lambda line: line["externalSessionId"])}
    assert list(talks_told) == names(conversations)
    for name, lines in talks_told.items():
        assert [turn["externalRunId"] for turn in lines] == [f"{name}/{number}" for number in range(turns)]
        assert len({turn["response"]["harnessSessionId"] for turn in lines}) == 1
        for number, turn in enumerate(lines):
            key = turn["response"]["harnessSessionId"] if number else None
            prompt = f"I am {name}, and this is {number}."
            check_events(turn["events"], name, turn["externalRunId"], prompt=prompt, key=key)
            check_response(turn["response"], turn["events"])
            assert turn["response"]["result"] == {"success": True, "finalOutput": f"{name} said {number}"}
    assert len({lines[0]["response"]["harnessSessionId"] for lines in talks_told.values()}) == conversations


def test_the_stop_button_ends_one_turn_and_leaves_the_others_alone(any_stage: Stage, example: Path) -> None:
    stage = any_stage
    talks = {}
    for name, seconds in (("stopped", 4), ("other", None)):
        (stage.workspace / name).mkdir()
        talks[name] = {"cwd": str(stage.workspace / name), "prompts": [f"I am {name}."], "seconds": seconds}
    routes = (
        Route(match="I am stopped", answers=(answer(Shell("sleep 1000")), answer("Never."))),
        Route(match="I am other", answers=(answer(Shell("sleep 6")), answer("Done."))),
    )
    done = held(stage, example, talks, Scenario(routes=routes))
    assert (done.returncode, done.stderr) == (1, "conversation stopped: cancelled\n")
    (told,) = map(json.loads, done.stdout.splitlines())
    assert told["externalSessionId"] == "other"
    assert told["response"]["result"] == {"success": True, "finalOutput": "Done."}
    check_events(told["events"], "other", "other/0")
