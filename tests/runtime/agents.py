"""Define scripted agents and their configurations for the tests of processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from codex_adapter import CodexConfig
from codex_adapter.agents.codex.backend import CodexBackend
from codex_adapter.runtime.containment.containment import Containment, Level
from codex_adapter.testing import PrintText, StartDescendant, Step, write_agent
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

__all__ = ["DESCENDANTS", "WHOLE_TURN", "backend", "config", "kinds_of", "start_all_kinds", "write_turn"]

THREAD = "01a20018-057d-7ce3-b0c7-a173a1ba2c6a"
DESCENDANTS: dict[str, dict[str, Any]] = {
    "same group": {},
    "own session": {"session": True},
    "daemon": {"session": True, "daemon": True},
    "ignores signals": {"ignore": ("SIGTERM", "SIGINT", "SIGHUP")},
    "cleared environment": {"clear_environment": True},
    "cleared environment, own session": {"clear_environment": True, "session": True, "daemon": True},
}
"""What a descendant can do to be overlooked, by kind."""


def lines(*values: object) -> list[Step]:
    """Steps that print these thread events."""
    return [PrintText(msgspec.json.encode(value).decode()) for value in values]


def turn_lines(answer: str) -> list[dict[str, Any]]:
    """The lines of a whole turn."""
    return [thread_started(THREAD), turn_started(), agent_message("item_0", answer), turn_completed()]


WHOLE_TURN = lines(*turn_lines("done"))


def write_turn(path: Path, *, answer: str = "done") -> Path:
    """A file of the lines of a whole turn, for an agent that is a shell script."""
    path.write_bytes(msgspec.json.Encoder().encode_lines(turn_lines(answer)))
    return path


def config(tmp_path: Path, *steps: Step, **limits: Any) -> CodexConfig:
    """The configuration for an agent of these steps that works in `tmp_path`."""
    return CodexConfig(binary=write_agent(tmp_path / "bin", steps), default_working_dir=str(tmp_path), **limits)


def backend(level: Level, settings: CodexConfig) -> CodexBackend:
    """A backend that holds its runs at this level and at no other."""
    return CodexBackend(settings, containment=Containment(allowed=(level,)))


def start_all_kinds() -> list[Step]:
    """Steps that start one descendant of each kind."""
    return [StartDescendant(f"{kind}.pid", **options) for kind, options in DESCENDANTS.items()]


def kinds_of(tmp_path: Path, inner_pids: set[int]) -> set[str]:
    """The kinds of descendants of these ids, each as the descendant itself sees its own."""
    return {kind for kind in DESCENDANTS if int((tmp_path / f"{kind}.pid").read_text()) in inner_pids}
