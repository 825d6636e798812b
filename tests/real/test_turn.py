"""Test a whole turn of the real CLI: the actions of the model take effect and arrive as events."""

from __future__ import annotations

from collections import Counter

import pytest

from codex_adapter import ExitStatus
from codex_adapter.events import SessionHandle, ToolCall
from codex_adapter.testing import Answer, McpCall, Patch, Plan, PlanStep, Reasoning, Shell, Usage, answer, script

from ..needs import has_no_such_case
from .shapes import shape
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("F2", "M0", "S1")]

ADD = """\
*** Begin Patch
*** Add File: hello.txt
+hello world
*** End Patch
"""
COMMAND = "tool_call command_execution running"


@pytest.mark.smoke
@pytest.mark.rule("D2", "M3", "M4", "M5", "M6")
@pytest.mark.usefixtures("agent_sandbox")
async def test_thoughts_commands_a_patch_and_an_answer_come_in_order(stage: Stage) -> None:
    pause = stage.release.pause
    scenario = script(
        answer(Reasoning(("**Thinking**",)), Shell("echo hello >&2; echo there"), usage=Usage(100, 0, 10, 1)),
        answer(Shell("exit 3"), delay=pause, usage=Usage(1000, 0, 100, 10)),
        answer("Half way.", Patch(ADD), delay=pause),
        answer("All done.", delay=pause, usage=Usage(10000, 0, 1000, 100)),
    )
    with stage.model(scenario) as server:
        outcome = await stage.run()
        assert len(server.requests) == 4
    begun = [] if stage.release.before(0, 120) else ["tool_call file_change running"]
    assert shape(outcome.events) == [
        "session",
        "status",
        "reasoning: **Thinking**",
        *(COMMAND, "tool_result command_execution completed 0"),
        *(COMMAND, "tool_result command_execution failed 3"),
        "agent_message: Half way.",
        *(*begun, "tool_result file_change completed"),
        "agent_message: All done.",
        "usage",
    ]
    assert (stage.workspace / "hello.txt").read_text() == "hello world\n"
    assert outcome.completion is not None
    assert outcome.completion.status == ExitStatus(code=0)
    assert (outcome.completion.final_text, outcome.completion.turn) == ("All done.", "completed")
    assert outcome.completion.usage is not None
    assert outcome.completion.usage["input_tokens"] == 11200
    [session] = [event.data.session.id for event in outcome.events if isinstance(event.data, SessionHandle)]
    assert outcome.completion.session_id == session


@pytest.mark.rule("M3", "M7")
async def test_the_calls_of_an_mcp_server_are_told_and_the_server_is_gone_afterwards(stage: Stage) -> None:
    calls = [McpCall("srv", "echo", {"text": "a-secret-argument"}), McpCall("srv", "fail"), McpCall("srv", "rpcerror")]
    with stage.model(script(*calls, "Done."), config=stage.mcp_server("srv")):
        outcome = await stage.run()
    statuses = {"echo": "completed", "fail": "failed", "rpcerror": "failed"}
    told = [phrase for phrase in shape(outcome.events) if phrase.startswith("tool")]
    assert told == [
        phrase
        for tool, status in statuses.items()
        for phrase in (f"tool_call srv/{tool} running", f"tool_result srv/{tool} {status}")
    ]
    assert "a-secret-argument" not in repr(outcome.events)
    assert outcome.completion is not None
    assert outcome.completion.final_text == "Done."


@pytest.mark.rule("M6")
async def test_a_plan_is_told_each_time_that_it_changes(stage: Stage) -> None:
    stage.release.needs(0, 50, what="a plan that the configuration can enable")
    begun = Plan((PlanStep("one", "in_progress"), PlanStep("two")))
    midway = Plan((PlanStep("one", "completed"), PlanStep("two", "in_progress")))
    with stage.model(script(begun, midway, "Done."), config="tools.update_plan = { enabled = true }\n"):
        outcome = await stage.run()
    plans = ["plan 0/2", "plan 1/2", "agent_message: Done.", "plan 1/2"]
    assert shape(outcome.events) == ["session", "status", *plans, "usage"]


@pytest.mark.rule("M7")
async def test_payloads_are_told_when_they_are_asked_for(stage: Stage) -> None:
    # 0.147 to 0.155 lose the output of some commands
    lossy = not stage.release.before(0, 147) and stage.release.before(0, 156)
    request = stage.request(extensions={"backend.codex.tool_payloads": "full"})
    with stage.model(script(Shell("printf 'the out%s' put"), answer("Done.", delay=stage.release.pause))):
        outcome = await stage.run(request)
    call, result = (event.data for event in outcome.events if isinstance(event.data, ToolCall))
    assert call.input is not None
    assert call.input.command is not None
    assert "printf 'the out%s' put" in call.input.command.text.replace("'\"'\"'", "'").replace("\\'", "'")
    assert result.output is not None
    if not lossy:
        assert result.output.aggregated_output is not None
        assert result.output.aggregated_output.text == "the output"
        assert result.tool.bytes.stdout == len("the output")


@pytest.mark.rule("M7", "B4")
async def test_a_payload_of_a_megabyte_is_cut_and_its_size_told(stage: Stage) -> None:
    if (0, 98) <= stage.release.version < (0, 163):
        has_no_such_case("some of these releases cut or lose a long output themselves")
    request = stage.request(extensions={"backend.codex.tool_payloads": "full"})
    command = Shell("head -c 1000000 /dev/zero | tr '\\0' 'x'")
    with stage.model(script(command, "Done.")):
        outcome = await stage.run(request)
    _, result = (event.data for event in outcome.events if isinstance(event.data, ToolCall))
    assert result.tool.bytes.stdout == 1_000_000
    assert result.output is not None
    assert result.output.aggregated_output is not None
    assert result.output.aggregated_output.truncated
    assert 0 < len(result.output.aggregated_output.text) <= 16 * 1024


@pytest.mark.rule("X5")
async def test_a_secret_of_the_environment_is_told_nowhere(stage: Stage) -> None:
    secret = "correct-horse-battery-staple"
    said = answer(Reasoning((f"**It is {secret}**",)), f"First {secret}.", Shell(f"echo {secret}"))
    request = stage.request(env={"SERVICE_PASSWORD": secret}, extensions={"backend.codex.tool_payloads": "full"})
    with stage.model(script(said, answer(f"The secret is {secret}.", delay=stage.release.pause))):
        outcome = await stage.run(request)
    assert secret not in repr(outcome)
    assert outcome.completion is not None
    assert outcome.completion.final_text == "The secret is ***."


async def test_a_turn_without_a_word_completes_without_a_final_text(stage: Stage) -> None:
    with stage.model(script(Answer())):
        outcome = await stage.run()
    assert shape(outcome.events) == ["session", "status", "usage"]
    assert outcome.completion is not None
    assert (outcome.completion.final_text, outcome.completion.turn) == (None, "completed")


@pytest.mark.rule("D2", "D4")
async def test_hundreds_of_items_come_whole_and_in_order(stage: Stage) -> None:
    thoughts = [f"**Thought {number}** {'x' * 500}" for number in range(300)]
    with stage.model(script(answer(*(Reasoning((thought,)) for thought in thoughts), "Done."))):
        outcome = await stage.run()
    assert [event.text for event in outcome.events if event.kind == "text_output"] == [*thoughts, "Done."]


@pytest.mark.rule("B2", "B5")
async def test_a_message_of_a_megabyte_is_split_and_its_final_text_cut(stage: Stage) -> None:
    text = "é" * 500_000 + "end"
    with stage.model(script(text)):
        outcome = await stage.run()
    pieces = [event.text or "" for event in outcome.events if event.kind == "text_output"]
    assert "".join(pieces) == text
    assert max(len(piece.encode()) for piece in pieces) <= 65_536
    assert outcome.completion is not None
    assert outcome.completion.final_text is not None
    assert outcome.completion.final_text.endswith("…(truncated)")


@pytest.mark.rule("M9")
async def test_each_command_is_answered_though_its_completion_be_lost(stage: Stage) -> None:
    # Without a pause before the answer, some releases print a command's end late or never.
    with stage.model(script(Shell("echo one"), Shell("sleep 0.3; exit 3"), "Done.")):
        outcome = await stage.run()
    tools = [(event.kind, event.data.tool) for event in outcome.events if isinstance(event.data, ToolCall)]
    called = [tool.backend_item_id for kind, tool in tools if kind == "tool_call"]
    answered = [tool.backend_item_id for kind, tool in tools if kind == "tool_result"]
    assert len(called) == 2
    assert Counter(called) == Counter(answered)
    assert {tool.status for kind, tool in tools if kind == "tool_result"} <= {"completed", "failed", "unknown"}
    assert outcome.completion is not None
    assert (outcome.completion.turn, outcome.completion.final_text) == ("completed", "Done.")
