"""Probe Claude Code: its stage, its own probes, and those that all agents share (C8)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import override

from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.binary import PROGRAM
from codex_adapter.agents.claude.command import QUIET
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.kind import KIND
from codex_adapter.agents.claude.releases import RELEASES
from codex_adapter.events import TextPart
from codex_adapter.probes import failures, requests, sessions, turns
from codex_adapter.probes.probe import WORKSPACE, Evidence, Probe, Promise, Start
from codex_adapter.probes.stage import Connection, Stage
from codex_adapter.probes.turns import finished, finished_in_sandbox
from codex_adapter.runtime.programs import Version
from codex_adapter.testing.mcp_config import MCP_SERVER
from codex_adapter.testing.model_server import ModelServer
from codex_adapter.testing.scenario import RawItem, answer, script

__all__ = ["ClaudeStage"]

_QUESTION: Final = "AskUserQuestion"
_SERVERS: Final = {
    "mcpServers": {turns.SERVER: {"command": sys.executable, "args": ["-I", "-S", MCP_SERVER, "ok"], "env": {}}}
}


def _deltas(seen: Evidence) -> str | None:
    phases = [event.data.phase for event in seen.last.events if isinstance(event.data, TextPart)]
    right = phases.count("delta") > 1 and seen.last.texts("agent_message") == [turns.WORDS]
    return None if right else f"{phases.count('delta')} pieces; {seen.last.describe()}"


def _not_offered(seen: Evidence) -> str | None:
    offered = {tool.get("name") for request in seen.last.asked for tool in request.get("tools") or []}
    return "the model can call it" if _QUESTION in offered else finished(seen)


def _denied(seen: Evidence) -> str | None:
    reported = any(event.message == "permission denied: Write" for event in seen.last.events)
    trouble = finished_in_sandbox(seen)
    return trouble if reported or trouble else f"no denial was reported; {seen.last.describe()}"


def _write(file: str) -> RawItem:
    arguments = {"file_path": f"{WORKSPACE}/{file}", "content": turns.GREETING}
    return RawItem({"type": "tool_use", "name": "Write", "input": arguments})


class ClaudeStage(Stage):
    """Claude Code, with a directory of its own files for each probe."""

    kind: ClassVar[str] = KIND
    extensions: ClassVar[Mapping[str, Any]] = {keys.SANDBOX_MODE: "danger-full-access", keys.TOOL_PAYLOADS: "full"}
    prefixes: ClassVar[tuple[str, ...]] = ("ANTHROPIC_", "CLAUDE", "AWS_", "DISABLE_", "MCP_", "BASH_", "VERTEX_")
    program_variable: ClassVar[str] = PROGRAM.variable
    probes: ClassVar[tuple[Probe, ...]] = (
        turns.message({"input_tokens": 100, "cache_read_input_tokens": 40, "output_tokens": 20}),
        turns.commands(),
        turns.secret(),
        turns.long_lines(1024),
        turns.file_change(_write(turns.FILE)),
        turns.mcp_calls(json.dumps(_SERVERS)),
        requests.image(keys.IMAGES),
        turns.read_only(keys.SANDBOX_MODE, _write(turns.FORBIDDEN)),
        Probe(
            "permission",
            script(_write(turns.FORBIDDEN), "Done."),
            (Promise("AG9", "a denied permission is reported, and the run continues", _denied),),
            (Start(wishes={keys.SANDBOX_MODE: "read-only"}),),
        ),
        Probe(
            "question",
            script(RawItem({"type": "tool_use", "name": _QUESTION, "input": {"questions": []}}), "Done."),
            (Promise("AG9", "a tool that waits for a person is not offered", _not_offered),),
        ),
        Probe(
            "partial messages",
            script(answer(turns.WORDS, pieces=4)),
            (Promise("M2", "a message is reported piece by piece on request", _deltas),),
            (Start(wishes={keys.PARTIAL_MESSAGES: True}),),
        ),
        requests.prompt(),
        requests.model(),
        requests.schema(
            keys.OUTPUT_SCHEMA, RawItem({"type": "tool_use", "name": "StructuredOutput", "input": requests.VALUE})
        ),
        requests.directories(),
        *sessions.PROBES,
        failures.RESUME_CANCELLED,
        *failures.ENDS,
        failures.refused(),
        failures.retried((RELEASES.quirk("retries_reported"),)),
    )

    @override
    def connect(
        self, probe: Probe, server: ModelServer, root: Path, *, binary: str | None, release: Version | None
    ) -> Connection:
        """Implement `Stage.connect`."""
        directory = root / "config"
        directory.mkdir()
        if probe.settings:
            (directory / ".claude.json").write_text(probe.settings)
        return Connection(
            ClaudeConfig(binary=binary),
            {
                **QUIET,
                "CLAUDE_CONFIG_DIR": str(directory),
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}",
                "ANTHROPIC_API_KEY": "sk-ant-scripted",
                "CLAUDE_CODE_MAX_RETRIES": str(probe.retries),
            },
        )
