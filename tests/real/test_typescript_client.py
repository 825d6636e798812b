"""Test the TypeScript client with the real CLI: a single run, and a daemon with a cancelled run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig

import pytest

from codex_adapter.testing import Route, Scenario, Shell, answer

from ..clients.conftest import PRELUDE
from ..needs import missing
from ..waiting import SOON
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.smoke, pytest.mark.rule("J17")]

PROGRAM = """
args.push("--codex-home", words[0]);
const request = JSON.parse(words[1]);
const r = run("I am alone.", { ...request, args });
const kinds = [];
for await (const event of r) kinds.push(event.kind);
const { turn, status, final_text } = await r.completion;
say([kinds, turn, status.code, final_text]);
const daemon = await openDaemon({ args });
const [one, two] = ["I am the other.", "I am stopped."].map((prompt) => daemon.run(prompt, request));
for await (const event of two) if (event.kind === "tool_call") two.cancel();
say([(await one.completion).turn, (await caught(two.completion)).name]);
await daemon.close();
"""


def test_runs_of_the_real_cli_from_node(stage: Stage) -> None:
    if shutil.which("node") is None:
        missing("node")
    env = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}
    request = stage.request()
    fields = {"working_dir": request.working_dir, "env": dict(request.env)}
    words = [str(stage.release.binary), str(stage.home), json.dumps(fields)]
    command = ["node", "--input-type=module", "--eval", PRELUDE + PROGRAM, "--", *words]
    done = answer("Done.", delay=stage.release.pause)
    routes = (
        Route(match="I am alone", answers=(answer(Shell("true")), done)),
        Route(match="I am stopped", answers=(answer(Shell("sleep 601")), done)),
        Route(match="I am the other", answers=(done,)),
    )
    with stage.model(Scenario(routes=routes)):
        ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=4 * SOON, check=False)
    stage.oracle.check()
    assert (ended.returncode, ended.stderr) == (0, "")
    alone, together = map(json.loads, ended.stdout.splitlines())
    assert [kind for kind in alone[0] if kind != "error"] == [
        *("status", "status", "tool_call", "tool_result", "text_output", "status")
    ]
    assert alone[1:] == ["completed", 0, "Done."]
    assert together == ["completed", "RunCancelled"]
