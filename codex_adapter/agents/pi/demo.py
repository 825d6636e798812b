"""Prepare a demo run of pi with a scripted model, without an account and without network (C3)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from codex_adapter.agent import Demo
from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.binary import find_binary
from codex_adapter.agents.pi.command import merge_environment
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.errors import SpawnError
from codex_adapter.request import RunRequest
from codex_adapter.testing import (
    ModelServer,
    PrintJson,
    RawItem,
    ReadPrompt,
    Scenario,
    Shell,
    Sleep,
    Step,
    WriteFile,
    script,
    write_agent,
)

__all__ = ["stage_demo"]

_PROMPT: Final = "Have a look around, and leave me a greeting in hello.txt."
_FILE: Final = "hello.txt"
_GREETING: Final = "Hello from pi.\n"
_MISSING: Final = f"cat: {_FILE}: No such file or directory\n\n\nCommand exited with code 1"
_SESSION: Final = "01a20000-0000-7000-8000-000000000001"


def _scenario() -> Scenario:
    call = {"type": "function_call", "id": "fc_write", "call_id": "call_write", "status": "completed"}
    arguments = json.dumps({"path": _FILE, "content": _GREETING})
    return script(
        Shell("ls -A; pwd -P"),
        Shell(f"cat {_FILE}"),
        RawItem({**call, "name": "write", "arguments": arguments}),
        Shell(f"wc -c {_FILE}"),
        f"I created {_FILE}; it did not exist before.",
    )


def _steps(file: Path) -> Iterator[Step]:
    """Yield the steps of a scripted agent that prints such a session, and writes the file."""
    lines: Sequence[dict[str, Any]] = (
        {"type": "session", "version": 3, "id": _SESSION},
        {"type": "agent_start"},
        _answer("The workspace first, then the greeting.", "toolUse"),
        {**_tool("start", "call_1", "bash"), "args": {"command": "ls -A"}},
        {**_tool("end", "call_1", "bash"), "result": _result("(no output)"), "isError": False},
        {**_tool("start", "call_2", "bash"), "args": {"command": f"cat {_FILE}"}},
        {**_tool("end", "call_2", "bash"), "result": _result(_MISSING), "isError": True},
        {**_tool("start", "call_3", "write"), "args": {"path": _FILE, "content": _GREETING}},
        {**_tool("end", "call_3", "write"), "result": _result(f"Successfully wrote to {_FILE}"), "isError": False},
        _answer(f"I created {_FILE}; it did not exist before.", "stop"),
        {"type": "agent_end", "messages": [], "willRetry": False},
        {"type": "agent_settled"},
    )
    yield ReadPrompt()
    yield WriteFile(str(file), _GREETING)
    for line in lines:
        yield Sleep(0.2)
        yield PrintJson(line)


def _answer(text: str, reason: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": reason}
    return {"type": "message_end", "message": message}


def _tool(phase: str, call_id: str, name: str) -> dict[str, Any]:
    return {"type": f"tool_execution_{phase}", "toolCallId": call_id, "toolName": name}


def _result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


@contextmanager
def stage_demo(root: Path, binary: str | None) -> Iterator[Demo]:
    """Serve a scripted model during the block, and yield a run that uses it. All files are below `root`.

    If no CLI is installed and `binary` is None, a scripted agent replaces the CLI.
    """
    # An empty HOME, so that the agent's shells read no profile. Requests to the loopback do not use a proxy.
    home, agent_dir, workspace = root / "home", root / "agent", root / "workspace"
    for directory in (home, agent_dir, workspace):
        directory.mkdir()
    with ModelServer(_scenario()) as server:
        provider = {
            "baseUrl": server.base_url,
            "api": "openai-responses",
            "apiKey": "sk-demo",
            "models": [{"id": "demo"}],
        }
        (agent_dir / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
        env = {"HOME": str(home), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        config = PiConfig(binary=binary, agent_dir=str(agent_dir))
        introduction = ""
        try:
            introduction = f"The real pi: {find_binary(config, merge_environment(os.environ, config, {})).path}"
        except SpawnError as error:
            if binary is None and error.not_found:
                agent = write_agent(root / "program", _steps(workspace / _FILE), name="pi", version_line="0.87.1")
                introduction = f"A scripted agent, not the real pi. {error.advice}"
                config = replace(config, binary=agent)
        extensions = {
            **{keys.SANDBOX_MODE: "danger-full-access", keys.TOOL_PAYLOADS: "full"},
            **{keys.PROVIDER: "scripted", keys.MODEL: "demo"},
        }
        request = RunRequest(prompt=_PROMPT, working_dir=str(workspace), env=env, extensions=extensions, timeout=120)
        yield Demo(introduction, request, config, workspace / _FILE)
