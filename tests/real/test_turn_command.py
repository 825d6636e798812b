"""Test `codex-adapter turn` with the real CLI: a conversation, and an interrupted one."""

from __future__ import annotations

import shlex
import signal
from typing import Any

import pytest

from codex_adapter.testing import Shell, answer, script

from ..protocols.turns.event_rules import check_events
from ..waiting import SOON
from .commands import Told, running, told
from .house import settings
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("C13", "U8")]


def words(stage: Stage, *more: str) -> list[str]:
    """The command line; the space is in the directory that the command is started in."""
    space = stage.workspace / "house"
    if not space.exists():
        (space / "skills" / "greeting").mkdir(parents=True)
        (space / "skills" / "greeting" / "SKILL.md").write_text("---\ndescription: How one greets.\n---\nAhoy.\n")
        (space / "space.toml").write_text('schema = 1\nid = "house"\n' + settings(stage))
        (space / "AGENTS.md").write_text("Be brief, says the house.\n")
    place = [*stage.turn_options, "--asp-home", str(stage.root / "asp")]
    return ["--space", "space:path:house", *place, *more]


def turn(stage: Stage, *more: str) -> Told:
    """The command from its start to its end."""
    with running(stage, "turn", *words(stage, *more)) as process:
        return told(process)


def checked(done: Told) -> dict[str, Any]:
    """The last event of a turn that went well."""
    assert (done.status, done.stderr) == (0, b"")
    first, *_, last = done.records
    check_events(done.records, first["externalSessionId"], first["externalRunId"])
    return dict(last)


@pytest.mark.smoke
@pytest.mark.usefixtures("any_sandbox")
def test_a_conversation_goes_on_from_one_command_to_the_next(any_stage: Stage) -> None:
    stage = any_stage
    stage.release.needs(0, 77, what="skills")
    pause = stage.release.pause
    with stage.model(
        script(answer(Shell("echo one"), delay=pause), answer("One.", delay=pause), answer("Two.", delay=pause))
    ) as server:
        first = turn(stage, "Say one.")
        key = checked(first)["harnessSessionId"]
        [call] = [record for record in first.records if record["type"] == "tool_call"]
        [result] = [record for record in first.records if record["type"] == "tool_result"]
        assert call["toolUseId"] == result["toolUseId"]
        assert result["output"]["output"].strip() == "one"
        second = turn(stage, "--session", key, "--format", "pretty", "Say two.")
        requests = [stage.sent(request) for request in server.requests]
    assert (second.status, second.stderr) == (0, b"")
    *said, way = second.stdout.decode().splitlines()
    assert said[-2:] == ["Two.", "+ the turn is complete"]
    words = shlex.split(way)
    words = words[words.index("turn") :]
    assert words[:5] == ["turn", "--session", key, "--space", f"space:path:{stage.workspace}/house"]
    assert all(text in requests[2] for text in ("Say one.", "One.", "Say two.", "Be brief, says the house."))
    assert not (stage.home / stage.session_files).exists()


def test_a_turn_that_a_signal_broke_off_leaves_nothing_and_is_gone_on_with(any_stage: Stage) -> None:
    stage = any_stage
    stage.release.needs(0, 77, what="skills")
    pause = stage.release.pause
    with stage.model(script(answer("One.", delay=pause), answer("slow", delay=1000))) as server:
        key = checked(turn(stage, "Say one."))["harnessSessionId"]
        with running(stage, "turn", *words(stage, "--session", key, "Say two.")) as process:
            assert server.wait_for_requests(2, timeout=SOON)
            process.send_signal(signal.SIGTERM)
            stopped = told(process)
    assert (stopped.status, stopped.stderr) == (143, b"")
    assert "complete" not in {record["type"] for record in stopped.records}
    with stage.model(script(answer("Three.", delay=pause))) as server:
        last = checked(turn(stage, "--session", key, "Say three."))
        asked = stage.sent(server.requests[0])
    assert (last["harnessSessionId"], last["result"]["finalOutput"]) == (key, "Three.")
    assert "Say one." in asked
    assert "One." in asked


@pytest.mark.rule("K1", "E1")
def test_a_turn_whose_model_never_answers_ends_with_its_time_limit(any_stage: Stage) -> None:
    stage = any_stage
    stage.release.needs(0, 77, what="skills")
    pause = stage.release.pause
    limit = ("--timeout", "4")
    with stage.model(script(answer("slow", delay=1000))):
        late = turn(stage, *limit, "Say one.")
    assert late.status == 124
    first, *_, last = late.records
    check_events(late.records, first["externalSessionId"], first["externalRunId"])
    assert last["result"]["error"]["message"].replace("`timeout`", "`--timeout`") in late.stderr.decode()
    with stage.model(script(answer("One.", delay=pause))) as server:
        gone_on = turn(stage, "--session", last["harnessSessionId"], "Say two.")
        asked = stage.sent(server.requests[0])
    assert checked(gone_on)["result"]["finalOutput"] == "One."
    assert "Say one." in asked


def test_whose_model_is_refused_is_told_which_there_are(any_stage: Stage) -> None:
    stage = any_stage
    stage.release.needs(0, 125, what="a list of models")
    with stage.model(script(answer("No."))) as server:
        refused = turn(stage, "--model", "hunter2/hunter2", "Say one.")
        assert len(server.requests) == 0
    assert (refused.status, b"hunter2" in refused.stdout + refused.stderr) == (1, False)
    told, there = refused.stderr.decode().strip().rstrip(".").split(". Available models: ")
    assert told == f"codex-adapter: the harness {stage.harness_id} does not have this model"
    chosen, *listed = there.split(", ")
    assert len(listed) > 1
    with stage.model(script(answer("Yes."))):
        assert checked(turn(stage, "--model", chosen, "Say one."))["result"]["finalOutput"] == "Yes."
