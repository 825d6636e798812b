"""Stage real turns of Claude Code: a workspace, a user's configuration, a scripted model, and an oracle."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import trio
from typing_extensions import override

from codex_adapter import BackendError, Event, RunHandle
from codex_adapter.agents.claude.binary import find_binary
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.harness import ClaudeHarness
from codex_adapter.agents.claude.releases import TURNS
from codex_adapter.errors import SpawnError
from codex_adapter.harness import Harness
from codex_adapter.testing import Answer, ModelServer, Scenario

from .oracle import Oracle
from .stage import SOON, Outcome

__all__ = ["ClaudeTurnRelease", "ClaudeTurnStage", "claude_for_turns"]


class ClaudeTurnRelease(NamedTuple):
    """One program of Claude Code. It has every feature of a turn, and needs no pause before an answer."""

    version: tuple[int, ...]
    binary: Path
    pause: float = 0.0

    def needs(self, *_version: int, what: str) -> None:
        """Skip nothing: these versions are of another agent."""
        del what

    def before(self, *_version: int) -> bool:
        """Return false, as `needs` skips nothing."""
        return False

    @override
    def __str__(self) -> str:
        return f"claude-{'.'.join(map(str, self.version))}"


class ClaudeTurnStage:
    """Where the turns of one test take place, with the interface of `Stage`."""

    harness_id = "agent-sdk"
    kind = "claude_code"
    shell_tool = "Bash"
    skill_file = "$CLAUDE_CONFIG_DIR/skills/greeting/SKILL.md"
    skill_line = "{name}: {description}"
    permissions: str | None = None
    """The permissions of spaces for a test whose agent runs commands; None for the harness's default."""
    model_names = ("api/opus", "api/sonnet")
    session_files = "projects"
    agent_name = "Claude Code"
    missing_server: Mapping[str, Any] = {"hint": "mcp_server_failed", "failure": "other"}

    def __init__(self, release: ClaudeTurnRelease, root: Path) -> None:
        self.release = release
        self.oracle = Oracle()
        self.root = root
        self.workspace = root / "workspace"
        self.home = root / "config"
        for name in ("workspace", "home", "config"):
            (root / name).mkdir()
        self._address = ""

    @contextmanager
    def model(self, scenario: Scenario) -> Iterator[ModelServer]:
        """A model that plays the scenario, to which the CLI is pointed."""
        with ModelServer(scenario) as server:
            self._address = f"http://127.0.0.1:{server.port}"
            yield server

    @property
    def env(self) -> dict[str, str]:
        """The environment of a turn."""
        return {
            **{"HOME": str(self.root / "home"), "SHELL": "/bin/bash"},
            **{"ANTHROPIC_BASE_URL": self._address, "ANTHROPIC_API_KEY": "sk-ant-scripted"},
            **{"CLAUDE_CODE_MAX_RETRIES": "1", **self.oracle.environment},
        }

    @property
    def config_fields(self) -> dict[str, Any]:
        """The fields of the configuration."""
        return {"binary": str(self.release.binary), "config_dir": str(self.home)}

    def harness(self) -> Harness:
        """A harness that knows nothing of earlier ones."""
        return ClaudeHarness(ClaudeConfig(**self.config_fields))

    @property
    def turn_options(self) -> list[str]:
        """The options by which the command line uses this program."""
        program = ["--claude", str(self.release.binary), "--claude-config-dir", str(self.home)]
        return ["--harness", self.harness_id, *program]

    @property
    def daemon_options(self) -> list[str]:
        """The options by which a daemon uses this program."""
        return ["--agent", "claude_code", *self.turn_options[2:]]

    @staticmethod
    def model_refusal(text: str) -> Answer:
        """The answer of a service that does not know the model."""
        return Answer(status=404, body={"type": "error", "error": {"type": "not_found_error", "message": text}})

    @staticmethod
    def sent(request: Mapping[str, Any]) -> str:
        """All that the model was sent besides its tools."""
        return json.dumps([request.get("system"), request["messages"]])

    async def outcome(self, run: RunHandle) -> Outcome:
        """The rest of a run."""
        started, events = trio.current_time(), list[Event]()
        completion, error = None, None
        with trio.fail_after(SOON * 2):
            async for event in run.events:
                if event.kind == "tool_call":
                    self.oracle.look()
                events.append(event)
            try:
                completion = await run.wait_completed()
            except BackendError as failure:
                error = failure
        return Outcome(events, completion, error, trio.current_time() - started)

    async def asked(self, server: ModelServer, count: int = 1) -> None:
        """Wait until the model has been asked so many times."""
        with trio.fail_after(SOON):
            await trio.to_thread.run_sync(server.wait_for_requests, count, abandon_on_cancel=True)
        self.oracle.look()

    def signal(self, name: str) -> None:
        """Send the signal `SIG{name}` to the CLI."""
        os.kill(self.agent_pid(), getattr(signal, f"SIG{name}"))

    def agent_pid(self) -> int:
        """The process of the CLI itself; raises LookupError."""
        for process in self.oracle.look():
            if process.argv[:1] == (str(self.release.binary),) and "-p" in process.argv:
                return process.pid
        raise LookupError("no living process of the turn is Claude Code")


def claude_for_turns() -> list[ClaudeTurnRelease]:
    """Every program that supports turns: those in `$CLAUDE_RELEASES/<version>/`, or the one in the wheel."""
    below = os.environ.get("CLAUDE_RELEASES")
    found = [
        ClaudeTurnRelease(tuple(map(int, path.parents[3].name.split("."))), path)
        for path in (Path(below).glob("*/node_modules/@anthropic-ai/claude-code-linux-*/claude") if below else ())
        if re.fullmatch(r"[\d.]+", path.parents[3].name)
    ]
    if not below:
        try:
            found = [ClaudeTurnRelease((0,), Path(find_binary(ClaudeConfig(), os.environ).path))]
        except SpawnError:
            return []
    return sorted(release for release in found if release.version == (0,) or release.version >= TURNS[:3])
