"""Probe single turns: texts and tool calls of the model become events, and the calls are executed."""

from __future__ import annotations

from codex_adapter import Completion
from codex_adapter.agents.codex.extension_keys import SANDBOX_MODE
from codex_adapter.agents.codex.probes.probe import VALUE, VARIABLE, Evidence, Probe, Promise, Start
from codex_adapter.agents.codex.releases import quirk
from codex_adapter.testing.mcp_config import mcp_config
from codex_adapter.testing.scenario import (
    McpCall,
    Patch,
    Plan,
    PlanStep,
    Reasoning,
    Shell,
    Usage,
    WebSearch,
    answer,
    script,
)

__all__ = ["PROBES"]

THOUGHT, WORDS = "**Thinking it over**", "Hello from the scripted model."
OUTPUT = "this is the output"
MEGABYTE = 1_000_000
FILE = "hello.txt"
GREETING = "hello world\n"
PATCH = f"*** Begin Patch\n*** Add File: {FILE}\n+{GREETING}*** End Patch\n"
SERVER = "scripted"
COST = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 20}

PLACE = Shell(f'printf "%s|%s" "$PWD" "${VARIABLE}" > place; printf "%s%s" "{OUTPUT[:4]}" "{OUTPUT[4:]}"')
BEGUN = Plan((PlanStep("one", "in_progress"), PlanStep("two")))
MIDWAY = Plan((PlanStep("one", "completed"), PlanStep("two", "in_progress")))


def finished(seen: Evidence) -> str | None:
    """Return None if the last run exited with 0 and its turn completed, else a description of its end."""
    outcome = seen.last.outcome
    well = isinstance(outcome, Completion) and outcome.status.success and outcome.turn == "completed"
    return None if well else seen.last.describe()


def _final_text(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    if finished(seen) is None and isinstance(outcome, Completion) and outcome.final_text == WORDS:
        return None
    return seen.last.describe()


def _session(seen: Evidence) -> str | None:
    return None if seen.last.session_id else f"no id; {seen.last.describe()}"


def _texts(seen: Evidence) -> str | None:
    right = seen.last.texts("reasoning") == [THOUGHT] and seen.last.texts("agent_message") == [WORDS]
    return None if right else seen.last.describe()


def _usage(seen: Evidence) -> str | None:
    usage = seen.last.usage
    if usage.items() >= COST.items():
        return None
    return f"reported: {', '.join(f'{name} {count}' for name, count in usage.items()) or 'nothing'}"


def _commands(seen: Evidence) -> str | None:
    reported = [
        (call.tool.phase, call.tool.status, call.tool.exit_code) for call in seen.last.calls("command_execution")
    ]
    wanted = [("complete", "completed", 0), ("complete", "failed", 3)]
    if [one for one in reported if one[0] != "start"] == wanted and len(reported) == 4:
        return None
    return (
        f"{', '.join(f'{phase} {status} {code}' for phase, status, code in reported) or 'none'}; {seen.last.describe()}"
    )


def _output(seen: Evidence) -> str | None:
    ends = [call for call in seen.last.calls("command_execution") if call.tool.phase == "complete"]
    output = ends[0].output.aggregated_output if ends and ends[0].output is not None else None
    if output is not None and output.text == OUTPUT:
        return None
    return f"{ends[0].tool.bytes.stdout} bytes instead of {len(OUTPUT)}" if ends else seen.last.describe()


def _place(seen: Evidence) -> str | None:
    reported = seen.files.get("place", "").partition("|")[0]
    return None if reported == seen.workspace else "in another directory" if reported else seen.last.describe()


def _environment(seen: Evidence) -> str | None:
    reported = seen.files.get("place", "").partition("|")[2]
    return None if reported == VALUE else "with another environment" if reported else seen.last.describe()


def _message_whole(seen: Evidence) -> str | None:
    sizes = [len(text) for text in seen.last.texts("agent_message")]
    return None if sizes == [MEGABYTE] else f"characters of messages: {sizes}; {seen.last.describe()}"


def _output_whole(seen: Evidence) -> str | None:
    sizes = [tool.bytes.stdout for tool in seen.last.ended("command_execution")]
    return None if sizes == [MEGABYTE] else f"bytes of output: {sizes}; {seen.last.describe()}"


def _patch(seen: Evidence) -> str | None:
    if seen.files.get(FILE) != GREETING:
        return f"the file was not written; {seen.last.describe()}"
    statuses = [tool.status for tool in seen.last.ended("file_change")]
    return None if statuses == ["completed"] else seen.last.describe()


def _plan(seen: Evidence) -> str | None:
    plans = list(dict.fromkeys(seen.last.plans))
    return None if plans == [(False, False), (True, False)] else f"{len(plans)} plans; {seen.last.describe()}"


def _mcp(seen: Evidence) -> str | None:
    reported = [(tool.tool_name, tool.status) for tool in seen.last.ended("mcp_tool_call")]
    if reported == [(f"{SERVER}/echo", "completed"), (f"{SERVER}/fail", "failed")]:
        return None
    return f"{', '.join(status for _, status in reported) or 'none'}; {seen.last.describe()}"


def _search(seen: Evidence) -> str | None:
    return None if len(seen.last.ended("web_search")) == 1 else seen.last.describe()


LOSES_OUTPUT = quirk("command_output_lost")
CUTS_OUTPUT = quirk("output_cut")
NO_PLAN = quirk("plan_not_offered")

PROBES = (
    Probe(
        "message",
        script(answer(Reasoning((THOUGHT,)), WORDS, usage=Usage(100, 40, 20, 5))),
        (
            Promise("M5", "a run reports the id of its session", _session),
            Promise("M4", "thoughts and messages are reported as texts", _texts),
            Promise("F2", "a completed turn ends with status 0 and a final text", _final_text),
            Promise("M6", "a completed turn reports its tokens as integers", _usage),
        ),
    ),
    Probe(
        "commands",
        script(PLACE, Shell("sleep 0.3; exit 3"), "Done."),
        (
            Promise("M3", "commands are reported from start to end, a failed command with its exit code", _commands),
            Promise("M7", "the output of a command is reported on request", _output, (LOSES_OUTPUT,)),
            Promise("S4", "commands run in the working directory", _place),
            Promise("S5", "commands have the requested environment", _environment),
        ),
    ),
    Probe(
        "long lines",
        script(Shell(f"head -c {MEGABYTE} /dev/zero | tr '\\0' x"), "x" * MEGABYTE),
        (
            Promise("L2", "a message of one megabyte in one line is complete", _message_whole),
            Promise(
                "M3",
                "one megabyte of a command's output is counted",
                _output_whole,
                (CUTS_OUTPUT, LOSES_OUTPUT),
            ),
        ),
    ),
    Probe(
        "patch",
        script(Patch(PATCH), "Done."),
        (Promise("M3", "a patch is applied and reported as file_change", _patch),),
    ),
    Probe(
        "plan",
        script(BEGUN, MIDWAY, "Done."),
        (Promise("M6", "a plan is reported, and reported again when it changes", _plan, (NO_PLAN,)),),
        config="tools.update_plan = { enabled = true }\n",
    ),
    Probe(
        "MCP",
        script(McpCall(SERVER, "echo", {"text": "hi"}), McpCall(SERVER, "fail"), "Done."),
        (Promise("M3", "calls of an MCP server are reported, a failed call as failed", _mcp),),
        config=mcp_config(SERVER),
    ),
    Probe(
        "web search",
        script(answer(WebSearch({"type": "search", "query": "codex"}), "Done.")),
        (Promise("M3", "a web search is reported", _search),),
    ),
    Probe(
        "sandbox",
        script(Shell("echo x > forbidden"), "Done."),
        (
            Promise(
                "S1",
                "a command in the read-only sandbox cannot write",
                lambda seen: finished(seen) if "forbidden" not in seen.files else "the command wrote a file",
            ),
        ),
        (Start(wishes={SANDBOX_MODE: "read-only"}),),
    ),
)
