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

from ..protocols.turns.event_rules import check_events, check_response
from .house import write_house
from .stage import Stage
from .test_turns_many import CONVERSATIONS, TURNS, names, scenario

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
        pytest.skip("node and npm are not installed")
    install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place), *COMPILER]
    if subprocess.run(install, cwd=place, capture_output=True, timeout=300, check=False).returncode:
        pytest.skip("npm cannot install the compiler")
    shutil.copy(EXAMPLE, place)
    compiler = place / "node_modules" / ".bin" / "tsc"
    done = subprocess.run([compiler, *OPTIONS, EXAMPLE.name], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return place / "out" / "conversation.mjs"


def held(stage: Stage, example: Path, talks: Mapping[str, Any], model: Scenario) -> subprocess.CompletedProcess[str]:
    """The example with these conversations, to its end; nothing of it is left."""
    stage.release.needs(0, 77, what="skills")
    plan = stage.root / "plan.json"
    turn = {
        "aspHome": str(stage.root / "asp"),
        "spec": msgspec.to_builtins(write_house(stage.root / "asp")),
        "harness": "codex",
        "env": dict(stage.request().env),
    }
    plan.write_text(json.dumps({"turn": turn, "conversations": talks}))
    options = ["--codex", str(stage.release.binary), "--codex-home", str(stage.home)]
    env = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}
    command = ["node", str(example), str(plan), "--", *options]
    with stage.model(model):
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=1200, check=False)
    stage.oracle.check()
    return done


def test_twenty_conversations_of_ten_turns_at_once_from_another_language(stage: Stage, example: Path) -> None:
    talks = {}
    for name in names():
        cwd = stage.workspace / name
        cwd.mkdir()
        prompts = [f"I am {name}, and this is {number}." for number in range(TURNS)]
        talks[name] = {"cwd": str(cwd), "prompts": prompts}
    done = held(stage, example, talks, scenario(stage))
    assert (done.returncode, done.stderr) == (0, "")
    told = sorted(map(json.loads, done.stdout.splitlines()), key=lambda line: str(line["externalSessionId"]))
    conversations = {name: list(turns) for name, turns in groupby(told, lambda line: line["externalSessionId"])}
    assert list(conversations) == names()
    for name, turns in conversations.items():
        assert [turn["externalRunId"] for turn in turns] == [f"{name}/{number}" for number in range(TURNS)]
        assert len({turn["response"]["harnessSessionId"] for turn in turns}) == 1
        for number, turn in enumerate(turns):
            key = turn["response"]["harnessSessionId"] if number else None
            prompt = f"I am {name}, and this is {number}."
            check_events(turn["events"], name, turn["externalRunId"], prompt=prompt, key=key)
            check_response(turn["response"], turn["events"])
            assert turn["response"]["result"] == {"success": True, "finalOutput": f"{name} said {number}"}
    assert len({turns[0]["response"]["harnessSessionId"] for turns in conversations.values()}) == CONVERSATIONS


def test_the_stop_button_ends_one_turn_and_leaves_the_others_alone(stage: Stage, example: Path) -> None:
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
