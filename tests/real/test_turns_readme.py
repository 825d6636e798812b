"""Run the README's programs about turns with the real CLI, with only their paths changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from codex_adapter.testing import answer, script

from .stage import SOON, Stage

pytestmark = [pytest.mark.real, pytest.mark.smoke, pytest.mark.rule("U1", "U8")]
ITS_HOME = "/home/me"


def programs(root: Path, language: str, word: str) -> list[str]:
    """The README's blocks of this language that have the word in them."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", (root / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if word in block]


def test_a_conversation_of_two_turns(stage: Stage) -> None:
    stage.release.needs(0, 77, what="skills")
    [program] = programs(Path(__file__).parents[2], "python", "run_turn")
    [shell] = programs(Path(__file__).parents[2], "sh", "space.toml")
    (stage.workspace / "src" / "app").mkdir(parents=True)
    making = [line for line in shell.splitlines() if not line.startswith("codex-adapter")]
    subprocess.run(["sh", "-ec", "\n".join(making)], cwd=stage.workspace, check=True, timeout=SOON)
    pause = stage.release.pause
    with stage.model(script(answer("It is fine.", delay=pause), answer("All mended.", delay=pause))) as model:
        env = {**os.environ, **stage.request().env, "CODEX_HOME": str(stage.home)}
        env["CODEX_BINARY"] = str(stage.release.binary)
        here = program.replace(ITS_HOME, str(stage.workspace))
        done = subprocess.run(
            [sys.executable, "-c", here], env=env, capture_output=True, text=True, timeout=SOON * 2, check=False
        )
        asked = [json.dumps(request) for request in model.requests]
    assert (done.returncode, done.stderr) == (0, "")
    assert ["CompleteEvent" in line for line in done.stdout.splitlines()].count(True) == 2
    assert "How findings are written down." in asked[0]
    assert "It is fine." in asked[-1]
    assert "Review the last commit" in asked[-1]
    assert "Now mend what you found" in asked[-1]
    stage.oracle.check()
