"""Prepare a demo run of Claude Code with a scripted model, without an account and without network (C3)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from codex_adapter.agent import Demo
from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.binary import find_binary
from codex_adapter.agents.claude.command import merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
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
_GREETING: Final = "Hello from Claude Code.\n"
_SESSION: Final = "0c0914cc-d18c-45ca-bc0c-ebfb0ed4991f"


def _scenario(file: Path) -> Scenario:
    return script(
        Shell("ls -A; pwd -P"),
        Shell(f"cat {_FILE}"),
        RawItem({"type": "tool_use", "name": "Write", "input": {"file_path": str(file), "content": _GREETING}}),
        Shell(f"wc -c {_FILE}"),
        f"I created {_FILE}; it did not exist before.",
    )


def _steps(file: Path) -> Iterator[Step]:
    """Yield the steps of a scripted agent that prints such a session, and writes the file."""
    listing, missing = {"command": "ls -A"}, {"command": f"cat {_FILE}"}
    lines: Sequence[dict[str, Any]] = (
        {"type": "system", "subtype": "init"},
        _assistant({"type": "text", "text": "The workspace first, then the greeting."}),
        _assistant({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": listing}),
        _result("toolu_1", "", {"stdout": "", "stderr": ""}),
        _assistant({"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": missing}),
        _result("toolu_2", f"Exit code 1\ncat: {_FILE}: No such file or directory", None),
        _assistant({"type": "tool_use", "id": "toolu_3", "name": "Write", "input": {"file_path": str(file)}}),
        _result("toolu_3", "File created successfully", {"type": "create", "filePath": str(file)}),
        _assistant({"type": "text", "text": f"I created {_FILE}; it did not exist before."}),
        {"type": "result", "subtype": "success", "is_error": False, "result": f"I created {_FILE}."},
    )
    yield WriteFile(str(file), _GREETING)
    for line in lines:
        yield Sleep(0.2)
        yield PrintJson({**line, "session_id": _SESSION})
    yield ReadPrompt()  # the input stays open until the result


def _assistant(block: dict[str, Any]) -> dict[str, Any]:
    message = {"id": f"msg_{block.get('id', 'text')}", "role": "assistant", "model": "scripted", "content": [block]}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None}


def _result(tool_use_id: str, content: str, result: dict[str, Any] | None) -> dict[str, Any]:
    """Return the line of a tool's result; None marks a failed tool."""
    block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": result is None}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "tool_use_result": result or content}


@contextmanager
def stage_demo(root: Path, binary: str | None) -> Iterator[Demo]:
    """Serve a scripted model during the block, and yield a run that uses it. All files are below `root`.

    If no CLI is installed and `binary` is None, a scripted agent replaces the CLI.
    """
    # An empty HOME, so that the agent's shells read no profile. Requests to the loopback do not use a proxy.
    home, temporary, config_dir, workspace = (root / name for name in ("home", "tmp", "config", "workspace"))
    for directory in (home, temporary, config_dir, workspace):
        directory.mkdir()
    with ModelServer(_scenario(workspace / _FILE)) as server:
        env = {
            **{"HOME": str(home), "TMPDIR": str(temporary), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
            **{"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}", "ANTHROPIC_API_KEY": "sk-ant-demo"},
        }
        config = ClaudeConfig(binary=binary, config_dir=str(config_dir))
        introduction = ""
        try:
            found = find_binary(config, merge_environment(os.environ, config, {}, RunOptions()))
            introduction = f"The real Claude Code: {found.path}"
        except SpawnError as error:
            if binary is None and error.not_found:
                agent = write_agent(root / "agent", _steps(workspace / _FILE), version_line="2.1.330 (Claude Code)")
                introduction = f"A scripted agent, not the real Claude Code. {error.advice}"
                config = replace(config, binary=agent)
        # The commands are fixed and harmless, and many containers do not support the CLI's sandbox.
        extensions = {keys.SANDBOX_MODE: "danger-full-access", keys.TOOL_PAYLOADS: "full"}
        request = RunRequest(prompt=_PROMPT, working_dir=str(workspace), env=env, extensions=extensions, timeout=120)
        yield Demo(introduction, request, config, workspace / _FILE)
