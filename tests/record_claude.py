"""Record the real Claude Code with a scripted model: `python -m tests.record_claude BINARY`.

The program writes the standard output of each scenario, and the index of exit statuses, to the folder of the release in
`fixtures/claude_code`. Then run `python -m tests.regenerate_goldens`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from codex_adapter.agents.claude.command import build_argv, merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.agents.claude.stream.control import INTERRUPT, answer_to, encode_prompt
from codex_adapter.agents.claude.stream.lines import ControlRequest
from codex_adapter.core.extension_checks import SessionSelector
from codex_adapter.testing import Answer, ModelServer, RawItem, Reasoning, Route, Scenario, Shell, answer, script

FIXTURES: Final = Path(__file__).parents[1] / "fixtures" / "claude_code"
UNKNOWN: Final = "11111111-1111-4111-8111-111111111111"
FREE: Final = "danger-full-access"
SCHEMA: Final = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class Take(NamedTuple):
    """One recording: the model's answers, the choices of the run, and the circumstances."""

    scenario: Scenario
    options: RunOptions = RunOptions(sandbox_mode=FREE)
    env: Mapping[str, str] = {}
    interrupt: bool = False
    resume: bool = False
    """Whether the recorded run resumes the session of an equal run before it."""


def tool(name: str, **arguments: object) -> RawItem:
    """A call of a tool by its own name."""
    return RawItem({"type": "tool_use", "name": name, "input": arguments})


def refused(status: int, type_: str) -> Scenario:
    """A service that refuses every request."""
    body = {"type": "error", "error": {"type": type_, "message": "scripted"}}
    return Scenario(answers=(), fallback=Answer(status=status, body=body))


TODOS: Final = [
    {"content": "one", "status": "completed", "activeForm": "one"},
    {"content": "two", "status": "pending", "activeForm": "two"},
]
OVERLOADED: Final = Answer(status=529, body={"type": "error", "error": {"type": "overloaded_error", "message": "x"}})
LIMIT: Final = {
    **{"anthropic-ratelimit-unified-status": "allowed_warning", "anthropic-ratelimit-unified-reset": "1999999999"},
    **{"anthropic-ratelimit-unified-representative-claim": "five_hour"},
    **{"anthropic-ratelimit-unified-5h-utilization": "0.93", "anthropic-ratelimit-unified-5h-reset": "1999999999"},
    **{"anthropic-ratelimit-unified-5h-surpassed-threshold": "0.9"},
}
# The CLI offers the tools for tasks only with some models.
SONNET: Final = RunOptions(sandbox_mode=FREE, model="claude-sonnet-4-5-20250929")
PART: Final = {"description": "part", "prompt": "PARTOFIT", "subagent_type": "general-purpose"}
TAKES: Final[dict[str, Take]] = {
    "text": Take(script("Hello.")),
    "reasoning": Take(script(answer(Reasoning(("thinking",)), "Done."))),
    "commands": Take(
        script(Shell("echo out; echo err >&2"), Shell("exit 3"), answer(Shell("true"), Shell("pwd")), "Done.")
    ),
    "files": Take(
        script(
            tool("Write", file_path="WORKSPACE/a", content="1\n"),
            tool("Read", file_path="WORKSPACE/a"),
            tool("Edit", file_path="WORKSPACE/a", old_string="1", new_string="2"),
            tool("Grep", pattern="2"),
            "Done.",
        )
    ),
    "plan": Take(script(tool("TodoWrite", todos=TODOS), "Done.")),
    "tasks": Take(
        script(
            tool("TaskCreate", subject="one", description="first", activeForm="doing one"),
            answer(
                tool("TaskCreate", subject="two", description="second"),
                tool("TaskCreate", subject="three", description="third"),
            ),
            tool("TaskUpdate", taskId="1", status="in_progress"),
            tool("TaskUpdate", taskId="1", status="completed"),
            tool("TaskUpdate", taskId="2", subject="two more", status="in_progress"),
            tool("TaskUpdate", taskId="3", status="deleted"),
            tool("TaskUpdate", taskId="9", status="completed"),
            tool("TaskList"),
            "Done.",
        ),
        SONNET,
    ),
    "background": Take(
        script(
            answer(
                tool("Bash", command="sleep 1; echo b", description="one (exit code 5)", run_in_background=True),
                tool("Bash", command="sleep 1; exit 3", description="two", run_in_background=True),
            ),
            Shell("sleep 1.9"),
            "Done.",
            fallback=answer("Seen."),
        ),
        SONNET,
    ),
    "background_agent": Take(
        Scenario(
            answers=(answer(tool("Agent", **PART, run_in_background=True)), answer("Working.")),
            routes=(
                Route(match='"text": ?"PARTOFIT', answers=(answer("Looking.", Shell("true")), answer("Part done."))),
            ),
            fallback=answer("Done."),
        ),
        SONNET,
    ),
    "foreground_agent": Take(
        Scenario(
            answers=(answer(tool("Agent", **PART, run_in_background=False)), answer("Done.")),
            routes=(Route(match='"text": ?"PARTOFIT', answers=(answer(Shell("true")), answer("Part done."))),),
        ),
        SONNET,
    ),
    "retried": Take(Scenario(answers=(OVERLOADED, answer("Done.")))),
    "resumed": Take(script(Shell("true"), "Done."), resume=True),
    "limit_near": Take(script(answer("Done.", headers=LIMIT)), env={"CLAUDE_CODE_OAUTH_TOKEN": "token-of-a-test"}),
    "unknown_tool": Take(script(tool("NoSuchTool", x=1), "Done.")),
    "sub_agent": Take(
        Scenario(
            answers=(
                answer(tool("Agent", description="part", prompt="PARTOFIT", subagent_type="general-purpose")),
                answer("Done."),
            ),
            routes=(Route(match='"text": ?"PARTOFIT', answers=(answer(Shell("true")), answer("Part done."))),),
            fallback=answer("Done."),
        )
    ),
    "partial_messages": Take(
        script(answer("One two three.", Shell("true"), pieces=3), "Done."),
        RunOptions(sandbox_mode=FREE, partial_messages=True),
    ),
    "structured_output": Take(
        script(tool("StructuredOutput", n=7), "Done."), RunOptions(sandbox_mode=FREE, output_schema=SCHEMA)
    ),
    "sandboxed": Take(
        script(
            Shell("echo a > in"),
            Shell("echo b > /usr/outside"),
            tool("Write", file_path="/usr/x", content="x"),
            "Done.",
        ),
        RunOptions(),
    ),
    "read_only": Take(
        script(Shell("echo a > in"), tool("Write", file_path="WORKSPACE/x", content="x"), "Done."),
        RunOptions(sandbox_mode="read-only"),
    ),
    "no_sandbox": Take(script("Hello."), RunOptions(), {"PATH": "/nowhere"}),
    "max_turns": Take(script(Shell("true"), Shell("true"), "Done."), RunOptions(sandbox_mode=FREE, max_turns=1)),
    "max_budget": Take(
        script(Shell("true"), Shell("true"), "Done."), RunOptions(sandbox_mode=FREE, max_budget=0.000001)
    ),
    "session_unknown": Take(script("Hello."), RunOptions(sandbox_mode=FREE, resume=SessionSelector(UNKNOWN))),
    "unauthorized": Take(refused(401, "authentication_error")),
    "forbidden": Take(refused(403, "permission_error")),
    "model_unknown": Take(refused(404, "not_found_error")),
    "rate_limited": Take(refused(429, "rate_limit_error")),
    "server_error": Take(refused(500, "api_error")),
    "overloaded": Take(refused(529, "overloaded_error")),
    "not_reached": Take(script("Hello."), env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}),
    "answer_cut": Take(Scenario(answers=(), fallback=answer("Hel", end="none"))),
    "interrupted": Take(script(Shell("tail -f /dev/null"), "Done."), interrupt=True),
}


def record(binary: str, take: Take) -> tuple[bytes, int]:
    """Return the standard output of one run, with `/workspace` as its directory, and its exit status."""
    with tempfile.TemporaryDirectory(prefix="record-") as place:
        root = Path(place)
        workspace = root / "workspace"
        for directory in (workspace, root / "home", root / "tmp"):
            directory.mkdir()
        options = take.options
        if take.resume:
            output, _ = _run(binary, take, options, root)
            options = msgspec.structs.replace(
                options, resume=SessionSelector(json.loads(output.splitlines()[0])["session_id"])
            )
        output, status = _run(binary, take, options, root)
        for path in (str(workspace), str(root)):
            name = b"/workspace" if path.endswith("workspace") else b"/run-of"
            output = output.replace(path.encode(), name).replace(
                path.replace("/", "-").encode(), name.replace(b"/", b"-")
            )
        return output, status


def _run(binary: str, take: Take, options: RunOptions, root: Path) -> tuple[bytes, int]:
    """Return the standard output of one run and its exit status."""
    workspace = root / "workspace"
    scenario = _placed(take.scenario, workspace)
    with ModelServer(scenario) as server:
        own = {
            **{
                "PATH": os.environ["PATH"],
                "HOME": str(root / "home"),
                "TMPDIR": str(root / "tmp"),
                "SHELL": "/bin/bash",
            },
            **{"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}", "ANTHROPIC_API_KEY": "sk-ant-scripted"},
            **{"CLAUDE_CODE_MAX_RETRIES": "1", **take.env},
        }
        if "CLAUDE_CODE_OAUTH_TOKEN" in own:
            del own["ANTHROPIC_API_KEY"]
        env = merge_environment(own, ClaudeConfig(config_dir=str(root / "config")), {}, options)
        argv = build_argv(binary, options, cwd=str(workspace))
        process = subprocess.Popen(
            argv, cwd=workspace, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(encode_prompt("Do it."))
        process.stdin.flush()
        output = b""
        for line in process.stdout:
            output += line
            if take.interrupt and b'"tool_use"' in line:
                process.stdin.write(INTERRUPT)
                process.stdin.flush()
            elif b'"control_request"' in line:
                process.stdin.write(answer_to(msgspec.json.decode(line, type=ControlRequest)))
                process.stdin.flush()
            elif b'"type":"result"' in line:
                process.stdin.close()
        return output, process.wait()


def _placed(scenario: Scenario, workspace: Path) -> Scenario:
    text = msgspec.json.encode(scenario).replace(b"WORKSPACE", str(workspace).encode())
    return msgspec.json.decode(text, type=Scenario)


def main(binary: str, *names: str) -> None:
    """Record all scenarios, or those that are named."""
    release = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split()[0]
    folder = FIXTURES / release
    if not names:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    index = FIXTURES / "index.jsonl"
    rows = {row["scenario"]: row for row in map(json.loads, index.read_text().splitlines())} if index.exists() else {}
    for name in names or TAKES:
        output, status = record(binary, TAKES[name])
        (folder / f"{name}.jsonl").write_bytes(output)
        rows[name] = {"version": release, "scenario": name, "returncode": status}
        sys.stdout.write(f"{name}: {status}\n")
    index.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
