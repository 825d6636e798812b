"""Define the cases in which the real Claude Code can run without an account, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.testing import Answer, RawItem, Reasoning, Route, Scenario, Shell, answer, script
from tests.releases.case import FIRST_SESSION, WORKSPACE, Case, Run

__all__ = ["CATALOGUE"]

UNKNOWN: Final = "11111111-1111-4111-8111-111111111111"
SCHEMA: Final = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
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
SONNET: Final = "claude-sonnet-4-5-20250929"
"""A model with which the CLI offers its tools for tasks."""
PART: Final = {"description": "part", "prompt": "PARTOFIT", "subagent_type": "general-purpose"}


def _free(**more: Any) -> tuple[Run, ...]:
    return (Run(extensions=_with(**more)),)


def _with(**more: Any) -> dict[str, Any]:
    """Return extensions of a run that may use every tool; the arguments are names of `extension_keys`."""
    return {keys.SANDBOX_MODE: "danger-full-access", **{getattr(keys, name): value for name, value in more.items()}}


def _by_id(session_id: str) -> dict[str, str]:
    return {"selector": "id", "id": session_id}


def _tool(name: str, **arguments: object) -> RawItem:
    return RawItem({"type": "tool_use", "name": name, "input": arguments})


def _case(name: str, about: str, scenario: Scenario, runs: tuple[Run, ...] | None = None, **more: Any) -> Case:
    return Case(name=name, about=about, scenario=scenario, runs=_free() if runs is None else runs, **more)


def _refused(name: str, about: str, status: int, type_: str) -> Case:
    body = {"type": "error", "error": {"type": type_, "message": "scripted"}}
    return _case(name, about, Scenario(answers=(), fallback=Answer(status=status, body=body)))


_CASES: Final = (
    _case("text", "A turn with one message.", script("Hello.")),
    _case("reasoning", "A message with a thought before it.", script(answer(Reasoning(("thinking",)), "Done."))),
    _case(
        "commands",
        "Commands that succeed and fail, and two at the same time.",
        script(Shell("echo out; echo err >&2"), Shell("exit 3"), answer(Shell("true"), Shell("pwd")), "Done."),
    ),
    _case(
        "files",
        "Tools that write, read, change and search files.",
        script(
            _tool("Write", file_path=f"{WORKSPACE}/a", content="1\n"),
            _tool("Read", file_path=f"{WORKSPACE}/a"),
            _tool("Edit", file_path=f"{WORKSPACE}/a", old_string="1", new_string="2"),
            _tool("Grep", pattern="2"),
            "Done.",
        ),
    ),
    _case("plan", "A plan with a completed step.", script(_tool("TodoWrite", todos=TODOS), "Done.")),
    _case(
        "tasks",
        "A plan whose steps are created and changed one by one.",
        script(
            _tool("TaskCreate", subject="one", description="first", activeForm="doing one"),
            answer(
                _tool("TaskCreate", subject="two", description="second"),
                _tool("TaskCreate", subject="three", description="third"),
            ),
            _tool("TaskUpdate", taskId="1", status="in_progress"),
            _tool("TaskUpdate", taskId="1", status="completed"),
            _tool("TaskUpdate", taskId="2", subject="two more", status="in_progress"),
            _tool("TaskUpdate", taskId="3", status="deleted"),
            _tool("TaskUpdate", taskId="9", status="completed"),
            _tool("TaskList"),
            "Done.",
        ),
        _free(MODEL=SONNET),
        since="2.1.330",
    ),
    _case(
        "background",
        "Two commands in the background, one of which fails.",
        script(
            answer(
                _tool("Bash", command="sleep 1; echo b", description="one (exit code 5)", run_in_background=True),
                _tool("Bash", command="sleep 1; exit 3", description="two", run_in_background=True),
            ),
            Shell("sleep 1.9"),
            "Done.",
            fallback=answer("Seen."),
        ),
        _free(MODEL=SONNET),
        since="2.1.330",
    ),
    _case(
        "background_agent",
        "A sub-agent in the background.",
        Scenario(
            answers=(answer(_tool("Agent", **PART, run_in_background=True)), answer("Working.")),
            routes=(
                Route(match='"text": ?"PARTOFIT', answers=(answer("Looking.", Shell("true")), answer("Part done."))),
            ),
            fallback=answer("Done."),
        ),
        _free(MODEL=SONNET),
        since="2.1.330",
    ),
    _case(
        "foreground_agent",
        "A sub-agent in the foreground.",
        Scenario(
            answers=(answer(_tool("Agent", **PART, run_in_background=False)), answer("Done.")),
            routes=(Route(match='"text": ?"PARTOFIT', answers=(answer(Shell("true")), answer("Part done."))),),
        ),
        _free(MODEL=SONNET),
        since="2.1.330",
    ),
    _case(
        "retried",
        "A service with too much load, once.",
        Scenario(answers=(OVERLOADED, answer("Done."))),
        since="2.1.152",  # before, the one retry that the environment allows is the first request
    ),
    _case(
        "limit_near",
        "An account that is near its limit.",
        script(answer("Done.", headers=LIMIT)),
        (Run(extensions=_with(), env={"CLAUDE_CODE_OAUTH_TOKEN": "token-of-a-test", "ANTHROPIC_API_KEY": ""}),),
    ),
    _case("unknown_tool", "A call of a tool that does not exist.", script(_tool("NoSuchTool", x=1), "Done.")),
    _case(
        "sub_agent",
        "A sub-agent with a command.",
        Scenario(
            answers=(
                answer(_tool("Task", description="part", prompt="PARTOFIT", subagent_type="general-purpose")),
                answer("Done."),
            ),
            routes=(Route(match='"text": ?"PARTOFIT', answers=(answer(Shell("true")), answer("Part done."))),),
            fallback=answer("Done."),
        ),
    ),
    _case(
        "partial_messages",
        "Messages in pieces.",
        script(answer("One two three.", Shell("true"), pieces=3), "Done."),
        _free(PARTIAL_MESSAGES=True),
    ),
    _case(
        "structured_output",
        "An answer with a schema.",
        script(_tool("StructuredOutput", n=7), "Done."),
        _free(OUTPUT_SCHEMA=SCHEMA),
    ),
    _case(
        "schema_ignored",
        "An answer that never matches its schema.",
        Scenario((), fallback=answer(_tool("StructuredOutput", n="seven"))),
        _free(OUTPUT_SCHEMA=SCHEMA),
    ),
    _case("no_tools", "A model without tools.", script("Hello."), _free(TOOLS="none")),
    _case(
        "sandboxed",
        "Commands and a file inside and outside of the sandbox.",
        script(
            Shell("echo a > in"),
            Shell("echo b > /usr/outside"),
            _tool("Write", file_path="/usr/x", content="x"),
            "Done.",
        ),
        (Run(),),
    ),
    _case(
        "read_only",
        "A command and a file that may not be written.",
        script(Shell("echo a > in"), _tool("Write", file_path=f"{WORKSPACE}/x", content="x"), "Done."),
        (Run(extensions={keys.SANDBOX_MODE: "read-only"}),),
    ),
    _case(
        "no_sandbox",
        "A sandbox whose programs are not installed.",
        script("Hello."),
        (Run(env={"PATH": "/nowhere"}),),
        since="2.1.152",  # before, a run with a sandbox is refused, and the CLI needs node on PATH
    ),
    _case("max_turns", "More turns than allowed.", script(Shell("true"), Shell("true"), "Done."), _free(MAX_TURNS=1)),
    _case(
        "max_budget",
        "Higher costs than allowed.",
        script(Shell("true"), Shell("true"), "Done."),
        _free(MAX_BUDGET=0.000001),
    ),
    _case(
        "resume",
        "A session that is continued.",
        script(Shell("true"), "One.", Shell("true"), "Two."),
        (Run(extensions=_with()), Run(name="again", extensions=_with(RESUME=_by_id(FIRST_SESSION)))),
    ),
    _case(
        "fork",
        "A session that is forked.",
        script("One.", "Two."),
        (Run(extensions=_with()), Run(name="fork", extensions=_with(FORK=_by_id(FIRST_SESSION)))),
    ),
    _case("session_unknown", "A session that does not exist.", script("Hello."), _free(RESUME=_by_id(UNKNOWN))),
    _refused("unauthorized", "A key that the service refuses.", 401, "authentication_error"),
    _refused("forbidden", "An account without permission.", 403, "permission_error"),
    _refused("model_unknown", "A model that the service does not know.", 404, "not_found_error"),
    _refused("rate_limited", "Too many requests.", 429, "rate_limit_error"),
    _refused("server_error", "A service that fails.", 500, "api_error"),
    _refused("overloaded", "A service with too much load.", 529, "overloaded_error"),
    _case(
        "policy_refused",
        "An answer that the service stops by its policy.",
        Scenario((), fallback=answer("no", end="incomplete", detail={"stop_reason": "refusal"})),
    ),
    _case(
        "not_reached",
        "A service that does not exist.",
        script("Hello."),
        (Run(extensions=_with(), env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}),),
    ),
    _case("answer_cut", "Answers that end in the middle.", Scenario(answers=(), fallback=answer("Hel", end="none"))),
    _case(
        "interrupted",
        "SIGINT during a command.",
        script(Shell("sleep 1000"), "Done."),
        (Run(extensions=_with(), signal="SIGINT"),),
    ),
)

CATALOGUE: Final[Mapping[str, Case]] = MappingProxyType({case.name: case for case in _CASES})
"""The cases by name (TK4)."""
