"""List agents whose CLI is a scripted one: a row for each agent that can be probed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from codex_adapter.agents.claude import doctor as claude_doctor
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.probes import ClaudeStage
from codex_adapter.agents.codex import doctor as codex_doctor
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.probes import CodexStage
from codex_adapter.agents.pi import doctor as pi_doctor
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.probes import PiStage
from codex_adapter.probes.probe import Promise
from codex_adapter.probes.stage import Stage
from codex_adapter.testing import Hang, PrintJson, ReadPrompt, Step, write_agent
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

__all__ = ["SCRIPTED", "ScriptedAgent", "each_scripted"]

SESSION = "01a20018-057d-7ce3-b0c7-a173a1ba2c6a"


class ScriptedAgent(NamedTuple):
    """An agent with a scripted CLI.

    `opening` are the lines that name the session, `lines` those of a turn with one message. `at_end` is whether the
    CLI's input stays open until its last line. `option` names its program on the command line, and `printed` is what
    it prints for `--version`. `too_old` is a release that is not supported.
    """

    kind: str
    stage: Callable[[str], Stage]
    option: str
    printed: str
    too_old: str
    opening: Sequence[Mapping[str, Any]]
    lines: Sequence[Mapping[str, Any]]
    at_end: bool = False

    @property
    def promises(self) -> list[Promise]:
        """All promises of its probes, in order."""
        return [promise for probe in self.stage("").probes for promise in probe.promises]

    def write(self, directory: Path, *steps: Step, release: str | None = None) -> str:
        """Write a CLI that executes these steps, and return its path."""
        if self.kind == "codex":
            return write_agent(directory, steps, **({} if release is None else {"version": release}))
        line = self.printed if release is None else self.printed.replace(self.printed.partition(" ")[0], release)
        return write_agent(directory, steps, name=self.kind, version_line=line)

    def speaking(self, *more: Step, named: bool = True) -> list[Step]:
        """Return the steps of a turn with a message, with more of them before its lines."""
        lines = [PrintJson(line) for line in (*(self.opening if named else ()), *self.lines)]
        return [*more, *lines, ReadPrompt()] if self.at_end else [ReadPrompt(), *more, *lines]

    def hanging(self) -> list[Step]:
        """Return the steps of a CLI that never does anything."""
        return [Hang()]


_RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Hello."}
_USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}
_TEXTS = [{"type": "text", "text": "Hello."}]

SCRIPTED: Mapping[str, ScriptedAgent] = MappingProxyType(
    {
        "codex": ScriptedAgent(
            "codex",
            lambda binary: CodexStage(partial(codex_doctor.find_installed, CodexConfig(binary=binary))),
            "--codex",
            "codex-cli 0.163.0",
            "0.42.0",
            [thread_started(SESSION)],
            [turn_started(), agent_message("item_0", "Hello."), turn_completed()],
        ),
        "claude_code": ScriptedAgent(
            "claude_code",
            lambda binary: ClaudeStage(partial(claude_doctor.find_installed, ClaudeConfig(binary=binary))),
            "--claude",
            "2.1.330 (Claude Code)",
            "1.0.100",
            [{"type": "system", "subtype": "init", "session_id": SESSION}],
            [
                {"type": "assistant", "message": {"id": "m", "model": "scripted", "content": _TEXTS}},
                {**_RESULT, "usage": {"input_tokens": 1, "output_tokens": 1}},
            ],
            at_end=True,
        ),
        "pi": ScriptedAgent(
            "pi",
            lambda binary: PiStage(partial(pi_doctor.find_installed, PiConfig(binary=binary))),
            "--pi",
            "0.87.1",
            "0.70.0",
            [{"type": "session", "version": 3, "id": SESSION}],
            [
                {"type": "agent_start"},
                {
                    "type": "message_end",
                    "message": {"role": "assistant", "content": _TEXTS, "stopReason": "stop", "usage": _USAGE},
                },
                {"type": "agent_end", "messages": [], "willRetry": False},
                {"type": "agent_settled"},
            ],
        ),
    }
)

each_scripted = pytest.mark.parametrize("agent", SCRIPTED.values(), ids=SCRIPTED)
"""Run a test once for each agent that can be probed; it receives the row as `agent`."""
