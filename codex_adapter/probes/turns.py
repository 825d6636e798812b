"""Probe single turns of any agent: texts and tool calls of the model become events, and the calls are executed."""

from __future__ import annotations

from collections.abc import Mapping

from codex_adapter import Completion
from codex_adapter.probes.probe import CANARY, VALUE, VARIABLE, Evidence, NotProbed, Probe, Promise, Start
from codex_adapter.records import encode_events
from codex_adapter.runtime.releases import Quirk
from codex_adapter.testing.scenario import Item, McpCall, Reasoning, Shell, Usage, answer, script

__all__ = [
    "FILE",
    "FORBIDDEN",
    "GREETING",
    "SERVER",
    "WORDS",
    "commands",
    "file_change",
    "finished",
    "finished_in_sandbox",
    "long_lines",
    "mcp_calls",
    "message",
    "read_only",
    "secret",
]

THOUGHT = "**Thinking it over**"
WORDS = "Hello from the scripted model."
OUTPUT = "this is the output"
MEGABYTE = 1_000_000
FILE = "hello.txt"
GREETING = "hello world\n"
FORBIDDEN = "forbidden"
SERVER = "scripted"
MASKED = "It is ***."

PLACE = Shell(f'printf "%s|%s" "$PWD" "${VARIABLE}" > place; printf "%s%s" "{OUTPUT[:4]}" "{OUTPUT[4:]}"')


def finished(seen: Evidence) -> str | None:
    """Return None if the last run exited with 0 and its turn completed, else a description of its end."""
    outcome = seen.last.outcome
    well = isinstance(outcome, Completion) and outcome.status.success and outcome.turn == "completed"
    return None if well else seen.last.describe()


def finished_in_sandbox(seen: Evidence) -> str | None:
    """Return the result of `finished`, or `NotProbed` if the CLI's sandbox does not work on this machine."""
    if getattr(seen.last.outcome, "hint", None) == "sandbox_unavailable":
        return NotProbed("the sandbox of the CLI does not work on this machine")
    return finished(seen)


def message(usage: Mapping[str, int]) -> Probe:
    """Return the probe of a turn with a thought and a message. `usage` has the counts that the run must report."""

    def tokens(seen: Evidence) -> str | None:
        found = seen.last.usage
        if found.items() >= usage.items():
            return None
        return f"reported: {', '.join(f'{name} {count}' for name, count in found.items()) or 'nothing'}"

    return Probe(
        "message",
        script(answer(Reasoning((THOUGHT,)), WORDS, usage=Usage(100, 40, 20, 5))),
        (
            Promise("S5", "the CLI uses the model server of its settings", _asked),
            Promise("M5", "a run reports the id of its session", _session),
            Promise("M4", "thoughts and messages are reported as texts", _texts),
            Promise("F2", "a completed turn ends with status 0 and a final text", _final_text),
            Promise("M6", "a completed turn reports its tokens as integers", tokens),
        ),
    )


def commands(*, output_unless: tuple[Quirk, ...] = ()) -> Probe:
    """Return the probe of two commands, one of which fails. Releases with `output_unless` do not report output."""
    return Probe(
        "commands",
        script(PLACE, Shell("sleep 0.3; exit 3"), "Done."),
        (
            Promise("M3", "commands are reported from start to end, a failed command with its exit code", _commands),
            Promise("M7", "the output of a command is reported on request", _output, output_unless),
            Promise("S4", "commands run in the working directory", _place),
            Promise("S5", "commands have the requested environment", _environment),
        ),
    )


def long_lines(count: int = MEGABYTE, *, unless: tuple[Quirk, ...] = ()) -> Probe:
    """Return the probe of a megabyte of text and of output, of which `count` bytes reach the adapter."""

    whole = "one megabyte of a command's output is counted"
    counted = whole if count == MEGABYTE else "the part of a command's output that the CLI reports is counted"

    def output(seen: Evidence) -> str | None:
        sizes = [tool.bytes.stdout for tool in seen.last.ended("command_execution")]
        return None if len(sizes) == 1 and sizes[0] >= count else f"bytes of output: {sizes}; {seen.last.describe()}"

    return Probe(
        "long lines",
        script(Shell(f"head -c {MEGABYTE} /dev/zero | tr '\\0' x"), "x" * MEGABYTE),
        (
            Promise("L2", "a message of one megabyte in one line is complete", _message_whole),
            Promise("M3", counted, output, unless),
        ),
    )


def file_change(item: Item) -> Probe:
    """Return the probe of a tool call that writes `GREETING` to `FILE`."""
    return Probe(
        "file",
        script(item, "Done."),
        (Promise("M3", "a file is written, and its change is reported as file_change", _file),),
    )


def mcp_calls(settings: str) -> Probe:
    """Return the probe of the MCP server `SERVER`, which `settings` configure."""
    return Probe(
        "MCP",
        script(McpCall(SERVER, "echo", {"text": "hi"}), McpCall(SERVER, "fail"), "Done."),
        (Promise("M3", "calls of an MCP server are reported, a failed call as failed", _mcp),),
        settings=settings,
    )


def read_only(sandbox_mode: str, *items: Item) -> Probe:
    """Return the probe of the mode that writes nothing. `items` are other calls that write a file `FORBIDDEN`."""
    return Probe(
        "sandbox",
        script(Shell(f"echo x > {FORBIDDEN}"), *items, "Done."),
        (Promise("S1", "the agent cannot write in the mode read-only", _nothing_written),),
        (Start(wishes={sandbox_mode: "read-only"}),),
    )


def secret() -> Probe:
    """Return the probe of a secret of the environment that the agent prints."""
    return Probe(
        "secret",
        script(Shell(f"printf %s {CANARY}"), f"It is {CANARY}."),
        (Promise("X5", "secrets of the environment are masked in commands, output and messages", _masked),),
    )


def _asked(seen: Evidence) -> str | None:
    return None if seen.last.asked else f"the model server received no request; {seen.last.describe()}"


def _session(seen: Evidence) -> str | None:
    return None if seen.last.session_id else f"no id; {seen.last.describe()}"


def _texts(seen: Evidence) -> str | None:
    right = seen.last.texts("reasoning") == [THOUGHT] and seen.last.texts("agent_message") == [WORDS]
    return None if right else seen.last.describe()


def _final_text(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    if finished(seen) is None and isinstance(outcome, Completion) and outcome.final_text == WORDS:
        return None
    return seen.last.describe()


def _commands(seen: Evidence) -> str | None:
    calls = [call.tool for call in seen.last.calls("command_execution") if call.tool.phase != "delta"]
    ends = [(tool.status, tool.exit_code) for tool in seen.last.ended("command_execution")]
    if len(calls) == 4 and ends[1:] == [("failed", 3)] and ends[0] in {("completed", 0), ("completed", None)}:
        return None
    reported = (f"{tool.phase} {tool.status} {tool.exit_code}" for tool in calls)
    return f"{', '.join(reported) or 'none'}; {seen.last.describe()}"


def _output(seen: Evidence) -> str | None:
    ends = [call for call in seen.last.calls("command_execution") if call.tool.phase in ("complete", "fail")]
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


def _file(seen: Evidence) -> str | None:
    if seen.files.get(FILE) != GREETING:
        return f"the file was not written; {seen.last.describe()}"
    statuses = [tool.status for tool in seen.last.ended("file_change")]
    return None if statuses == ["completed"] else seen.last.describe()


def _mcp(seen: Evidence) -> str | None:
    ended = [(tool.tool_name or "", tool.status) for tool in seen.last.ended("mcp_tool_call")]
    names = [name for name, _ in ended]
    right = len(ended) == 2 and names[0].endswith("echo") and names[1].endswith("fail")
    if right and [status for _, status in ended] == ["completed", "failed"]:
        return None
    return f"{', '.join(status for _, status in ended) or 'none'}; {seen.last.describe()}"


def _nothing_written(seen: Evidence) -> str | None:
    return "the agent wrote a file" if FORBIDDEN in seen.files else finished_in_sandbox(seen)


def _masked(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    final = outcome.final_text if isinstance(outcome, Completion) else None
    if CANARY.encode() in encode_events(seen.last.events) or CANARY in (final or ""):
        return f"it is in the output; {seen.last.describe()}"
    return None if final == MASKED and seen.last.ended("command_execution") else seen.last.describe()
