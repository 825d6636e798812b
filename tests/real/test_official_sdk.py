"""Test the rows of docs/explanation/from-the-official-sdk.md with the official SDK and the adapter's client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from codex_adapter.testing import Shell, answer, script
from tests.releases.codex.catalogue import CATALOGUE
from tests.releases.codex.stage import set_stage

from ..clients.conftest import PRELUDE
from ..needs import has_no_such_case, missing
from ..runtime.survivors import Survivors
from ..waiting import SOON, until
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("J17")]

SDK = """
import { Codex } from "@openai/codex-sdk";
const [codex, cwd, env, how] = process.argv.slice(1);
const say = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
const thread = new Codex({ codexPathOverride: codex, env: { ...process.env, ...JSON.parse(env) } })
  .startThread({ workingDirectory: cwd, skipGitRepoCheck: true, sandboxMode: "workspace-write" });
const button = new AbortController();
try {
  for await (const event of (await thread.runStreamed("Do it.", { signal: button.signal })).events) {
    say(event);
    if (how === "break") break;
    if (how === "abort") button.abort();
  }
  say({ end: thread.id });
} catch (error) {
  say({ thrown: error.name, message: error.message });
}
"""
OURS = (
    PRELUDE
    + """
const [cwd, env, how] = words;
const button = new AbortController();
const r = run("Do it.", { working_dir: cwd, env: JSON.parse(env), signal: button.signal, args });
for await (const event of r) {
  say(event);
  if (how === "break") break;
  if (how === "abort") button.abort();
}
const end = await caught(r.completion);
say(end.it ?? { thrown: end.name, message: end.message });
"""
)
SESSION, USAGE, PLAN = "agent_api.session.handle.v1", "codex_adapter.usage.v1", "codex_adapter.plan.v1"
TEXTS = {"agent_message", "reasoning"}


class Pair(NamedTuple):
    """What both said of the same case; the last of each is how it ended."""

    theirs: list[dict[str, Any]]
    ours: list[dict[str, Any]]


def in_our_words(event: dict[str, Any]) -> tuple[object, ...]:
    """The row of the table for an event of the SDK."""
    item = event.get("item", {})
    match event["type"], item.get("type"):
        case "thread.started", _:
            return ("status", SESSION)
        case "turn.started", _:
            return ("status", None)
        case "turn.completed", _:
            return ("status", USAGE, event["usage"])
        case "turn.failed", _:
            return ("status", None)
        case "error", _:
            return ("error", "event", event["message"].partition("http:")[0])
        case "item.completed", "error":
            return ("error", "item", item["message"])
        case _, "todo_list":
            return ("status", PLAN, item["items"])
        case "item.completed", kind if kind in TEXTS:
            return ("text_output", kind, item["id"], item["text"])
        case "item.started", kind:
            return ("tool_call", kind, item["id"], "running", None)
        case "item.completed", kind:
            return ("tool_result", kind, item["id"], item.get("status", "completed"), item.get("exit_code"))
    raise AssertionError(event)


def of_ours(event: dict[str, Any]) -> tuple[object, ...]:
    """The same of an event of ours."""
    data = event.get("data", {})
    match event["kind"]:
        case "text_output":
            return ("text_output", data["item_type"], data["item_id"], event["text"])
        case "tool_call" | "tool_result" as kind:
            tool = data["tool"]
            return (kind, tool["kind"], tool["backend_item_id"], tool["status"], tool["exit_code"])
        case "error":
            return ("error", data.get("source"), event["message"].partition("http:")[0])
        case kind:
            more = {USAGE: "usage", PLAN: "items"}.get(str(data.get("schema")))
            return (kind, data.get("schema"), *([data[more]] if more else []))


@pytest.fixture(scope="session")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which Node finds the SDK."""
    npm, place = shutil.which("npm"), tmp_path_factory.mktemp("sdk")
    if npm is None or shutil.which("node") is None:
        missing("node")
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional", "--prefix", str(place)]
    install = [npm, "install", *options, "@openai/codex-sdk@0.163.0"]
    if subprocess.run(install, cwd=place, capture_output=True, timeout=300, check=False).returncode:
        missing("npm")
    return place


def command(program: str, *words: str) -> Sequence[str]:
    return ["node", "--input-type=module", "--eval", program, "--", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}


def pair(stage: Stage, sdk: Path, case: str, how: str = "") -> Pair:
    """Play a case of the catalogue through both."""
    if str(stage.release) != "0.163.0":
        has_no_such_case("the SDK is of the release 0.163.0")
    said = []
    for name, program in (("their play", SDK), ("our play", OURS)):
        with set_stage(CATALOGUE[case], stage.root / name) as scene:
            words = [str(stage.release.binary), str(scene.workspace), json.dumps(scene.env), how]
            done = subprocess.run(
                command(program, *words), cwd=sdk, env=environment(), capture_output=True, text=True, timeout=SOON * 4,
                check=False,
            )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        said.append([json.loads(line.replace(str(stage.root / name), "")) for line in done.stdout.splitlines()])
    return Pair(*said)


@pytest.mark.rule("M0")
@pytest.mark.parametrize(
    "case", ["message", "reasoning", "shell_ok", "shell_fail", "patch_add", "mcp", "web_search", "plan"]
)
def test_each_event_of_the_sdk_is_one_of_ours(stage: Stage, sdk: Path, case: str) -> None:
    theirs, ours = pair(stage, sdk, case)
    assert [of_ours(event) for event in ours[:-1]] == [in_our_words(event) for event in theirs[:-1]]
    assert [*theirs[-1]] == ["end"]
    assert ours[-1]["turn"] == "completed"
    messages = [event["item"]["text"] for event in theirs[:-1] if event.get("item", {}).get("type") == "agent_message"]
    assert ours[-1]["final_text"] == messages[-1]
    assert ours[-1]["usage"] == theirs[-2]["usage"]


@pytest.mark.rule("F9")
@pytest.mark.parametrize(("case", "hint"), [("http_401", "not_logged_in"), ("resp_failed", "stream_cut")])
def test_a_failed_turn_is_thrown_by_the_sdk_and_a_completion_of_ours(
    stage: Stage, sdk: Path, case: str, hint: str
) -> None:
    theirs, ours = pair(stage, sdk, case)
    assert [of_ours(event) for event in ours[:-2]] == [in_our_words(event) for event in theirs[:-1]]
    assert theirs[-2]["type"] == "turn.failed"
    thrown = {"thrown": "Error", "message": "Codex Exec exited with code 1: Reading prompt from stdin...\n"}
    assert theirs[-1] == thrown
    assert ours[-2]["message"] == "codex exited non-zero: exit status: 1 (stderr redacted)"
    assert (ours[-1]["turn"], ours[-1]["status"]["code"], ours[-1]["hint"]) == ("failed", 1, hint)


def test_leaving_the_loop_kills_the_cli_of_the_sdk_and_ours_continues(stage: Stage, sdk: Path) -> None:
    theirs, ours = pair(stage, sdk, "shell_ok", "break")
    assert [event.get("type", "end") for event in theirs] == ["thread.started", "end"]
    assert [event.get("kind", event["type"]) for event in ours] == ["status", "completion"]
    assert ours[-1]["final_text"] == "Done."


def test_an_abort_is_thrown_by_both(stage: Stage, sdk: Path) -> None:
    theirs, ours = pair(stage, sdk, "shell_ok", "abort")
    assert theirs[-1] == {"thrown": "AbortError", "message": "The operation was aborted"}
    assert ours[-1] == {"thrown": "RunCancelled", "message": "cancelled"}


@pytest.mark.rule("N2", "J10")
@pytest.mark.parametrize(("program", "left"), [(SDK, True), (OURS, False)], ids=["theirs", "ours"])
def test_what_is_left_when_node_is_killed(stage: Stage, sdk: Path, program: str, left: bool) -> None:
    survivors = Survivors(stage.workspace)
    begun = {"sleep 611", "sleep 612"}
    env = json.dumps({**stage.request().env, "CODEX_HOME": str(stage.home)})
    words = [str(stage.release.binary), str(stage.workspace), env]
    scenario = script(Shell("setsid -f sleep 611; sleep 612"), fallback=answer("Done."))
    try:
        with stage.model(scenario), subprocess.Popen(
            command(program, *words), cwd=sdk, env=environment(), stdout=subprocess.DEVNULL
        ) as process:  # fmt: skip
            until(lambda: not begun - _words(survivors))
            process.kill()
            process.wait(SOON)
            assert bool(survivors.soon(1.0 if left else SOON)) is left
            survivors.kill()
    finally:
        survivors.kill()


def _words(survivors: Survivors) -> set[str]:
    return {process.argv.strip() for process in survivors.now()}
