"""Define the cases in which the real pi can run without an account, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.testing import Answer, RawItem, Reasoning, Scenario, Shell, answer, script
from tests.releases.case import FIRST_SESSION, Case, Run

__all__ = ["CATALOGUE", "tool"]

UNKNOWN: Final = "11111111-1111-4111-8111-111111111111"


def tool(name: str, number: int = 0, **arguments: object) -> RawItem:
    """A call of a tool by its own name."""
    call = {"type": "function_call", "id": f"fc_{name}_{number}", "call_id": f"call_{name}_{number}"}
    return RawItem({**call, "status": "completed", "name": name, "arguments": json.dumps(arguments)})


def _with(**more: Any) -> dict[str, Any]:
    """Return extensions of a run that may use every tool; the arguments are names of `extension_keys`."""
    chosen = {"SANDBOX_MODE": "danger-full-access", "PROVIDER": "scripted", "MODEL": "mock-model", **more}
    return {getattr(keys, name): value for name, value in chosen.items()}


def _by_id(session_id: str) -> dict[str, str]:
    return {"selector": "id", "id": session_id}


def _case(name: str, about: str, scenario: Scenario, *runs: Run, **more: Any) -> Case:
    return Case(name=name, about=about, scenario=scenario, runs=runs or (Run(extensions=_with()),), **more)


def _refused(name: str, about: str, status: int, code: str) -> Case:
    body = {"error": {"type": code, "code": code, "message": "scripted"}}
    return _case(name, about, Scenario(answers=(), fallback=Answer(status=status, body=body)))


FILES: Final = (
    tool("write", path="a", content="1\n"),
    tool("read", path="a"),
    tool("edit", path="a", edits=[{"oldText": "1", "newText": "2"}]),
    tool("read", 1, path="missing"),
)
_CUT: Final = answer("Hel", end="none")

_CASES: Final = (
    _case("text", "A turn with one message.", script("Hello.")),
    _case(
        "pieces",
        "A thought and a message in pieces.",
        script(answer(Reasoning(("thinking about it",)), "One two three.", pieces=3)),
    ),
    _case(
        "commands",
        "Commands that succeed and fail, and two at the same time.",
        script(Shell("echo out; echo err >&2"), Shell("exit 3"), answer(Shell("true"), Shell("pwd")), "Done."),
    ),
    _case("shell_killed", "A command whose shell is killed.", script(Shell("echo out; kill -9 $$"), "Done.")),
    _case("files", "Tools that write, read and change files.", script(*FILES, "Done.")),
    _case(
        "big_output",
        "A command with more output than the model is shown.",
        script(Shell("yes x | head -n 2100"), "Done."),
    ),
    _case("unknown_tool", "A call of a tool that does not exist.", script(tool("no_such_tool", x=1), "Done.")),
    _case(
        "read_only",
        "Tools that only read, and a command and a file that may not be written.",
        script(Shell("echo a > in"), tool("write", path="x", content="x"), tool("ls", path="."), "Done."),
        Run(extensions=_with(SANDBOX_MODE="read-only")),
    ),
    _case(
        "no_tools",
        "A model without tools.",
        script(Shell("true"), "Done."),
        Run(extensions=_with(TOOLS="none")),
    ),
    _case("surrogate", "Half of a surrogate pair in a call.", script(tool("read", path="\ud800"), "Done.")),
    _case("thinking", "A level of thinking.", script("Hello."), Run(extensions=_with(THINKING="high"))),
    _case(
        "resume",
        "A session that is continued.",
        script(Shell("true"), "One.", Shell("true"), "Two.", "Three."),
        Run(extensions=_with()),
        Run(name="again", extensions=_with(RESUME=_by_id(FIRST_SESSION))),
        Run(name="last", extensions=_with(RESUME={"selector": "last"})),
    ),
    _case(
        "fork",
        "A session that is forked.",
        script("One.", "Two."),
        Run(extensions=_with()),
        Run(name="fork", extensions=_with(FORK=_by_id(FIRST_SESSION))),
    ),
    _case(
        "session_unknown",
        "A session that does not exist.",
        script("Hello."),
        Run(extensions=_with(RESUME=_by_id(UNKNOWN))),
    ),
    _case(
        "provider_unknown",
        "A provider that does not exist.",
        script("Hello."),
        Run(extensions=_with(PROVIDER="nobody")),
    ),
    _case(
        "not_logged_in",
        "A provider without a key.",
        script("Hello."),
        Run(extensions=_with(PROVIDER="openai", MODEL="gpt-5"), env={"OPENAI_API_KEY": ""}),
    ),
    _refused("unauthorized", "A key that the service refuses.", 401, "invalid_api_key"),
    _refused("forbidden", "An account without permission.", 403, "permission_error"),
    _refused("model_unknown", "A model that the service does not know.", 404, "model_not_found"),
    _refused("request_rejected", "A request that the service does not understand.", 400, "invalid_prompt"),
    _refused("rate_limited", "Too many requests.", 429, "rate_limit_exceeded"),
    _refused("quota_exceeded", "An account without money.", 429, "insufficient_quota"),
    _refused("server_error", "A service that fails.", 500, "server_error"),
    _refused("overloaded", "A service with too much load.", 503, "server_error"),
    _case(
        "failed_once",
        "A service that fails once.",
        script(Answer(status=500, body={"error": {"message": "scripted"}}), "Hello."),
    ),
    _case("ended_early", "An answer that ends in the middle, once.", script(_CUT, "Hello.")),
    _case("failed_later", "Answers that end in the middle, after a command.", script(Shell("true"), fallback=_CUT)),
    _case(
        "not_reached",
        "A service that does not exist.",
        script("Hello."),
        Run(extensions=_with(PROVIDER="unreachable")),
    ),
    _case(
        "answer_cut",
        "Connections that end in the middle of an answer.",
        Scenario(answers=(), fallback=answer("Hel", cut_after=2, pieces=3)),
    ),
    _case(
        "answer_failed",
        "Answers that report a failure.",
        Scenario(fallback=answer("Hel", end="failed", detail={"code": "server_error", "message": "scripted"})),
    ),
    _case(
        "incomplete",
        "An answer that is longer than allowed.",
        Scenario(fallback=answer("Hel", end="incomplete", detail={"reason": "max_output_tokens"})),
    ),
    _case(
        "terminated",
        "SIGTERM during a command.",
        script(Shell("sleep 1000"), "Done."),
        Run(extensions=_with(), signal="SIGTERM"),
    ),
    _case(
        "killed",
        "SIGKILL during a command.",
        script(Shell("exec sleep 1000"), "Done."),
        Run(extensions=_with(), signal="SIGKILL"),
    ),
)

CATALOGUE: Final[Mapping[str, Case]] = MappingProxyType({case.name: case for case in _CASES})
"""The cases by name (TK4)."""
