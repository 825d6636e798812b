"""A scripted agent: an executable that stands in for the Codex CLI, for tests and for a demo without the CLI.

binary = write_agent(directory, [ReadPrompt(), PrintJson(thread_started()), Exit(3)])
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from . import agent_steps
from .agent_steps import Fill, PrintJson, ReadPrompt, Sleep, Step, WriteFile
from .thread_lines import (
    THREAD_ID,
    agent_message,
    command_completed,
    command_started,
    file_change,
    reasoning,
    thread_started,
    turn_completed,
    turn_started,
)

__all__ = ["Facts", "demo_script", "long_line", "read_facts", "write_agent"]

LONGEST_SHEBANG = 250
"""Bytes of a first line that Linux still takes whole."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent saw when it wrote its facts.

    `prompt` is None when it had not read it; bytes in it that are no UTF-8 are surrogates. `blocked` are names of
    signals, `open_files` numbers of descriptors.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    prompt: str | None
    pid: int
    parent: int
    group: int
    session: int
    blocked: list[str]
    open_files: list[int]


def write_agent(
    directory: str | os.PathLike[str], script: Iterable[Step], *, version: str = "0.163.0", name: str = "codex"
) -> str:
    """Write an executable that carries out these steps, and return its path (TK2).

    It answers `--version` like the CLI of that version, refuses arguments that the CLI would refuse, with status 2, and
    otherwise exits with 0 after its last step. The directory is made when it is missing.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.absolute() / name
    home = str(Path(agent_steps.__file__).parent)
    steps = msgspec.json.encode(list(script)).decode()
    # As a module, it is compiled once for all agents.
    code = [
        "import sys",
        f"sys.path.append({home!r})",
        "import agent_arguments, agent_descendants, agent_program",
        f"agent_arguments.answer_at_once(sys.argv[1:], {version!r})",
        f"agent_program.main({steps!r}, agent_descendants.ACTIONS)",
    ]
    # Replaced as a whole: a run may be starting the one that was written before.
    draft = path.with_name(f".{name}.{os.getpid()}")
    draft.write_text("\n".join([_first_lines(), *code, ""]), encoding="utf-8")
    draft.chmod(0o755)
    draft.replace(path)
    return str(path)


def read_facts(path: str | os.PathLike[str]) -> Facts:
    """The facts that a `WriteFacts` step has written; raises FileNotFoundError before it has."""
    # Its strings may hold surrogates, which only the standard library's decoder lets through.
    return msgspec.convert(json.loads(Path(path).read_bytes()), Facts)


def long_line(size: int) -> Step:
    """Print one agent_message line of exactly `size` bytes, without its line feed, in constant memory."""
    before, after = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"', '"}}'
    if size < len(before + after):
        raise ValueError(f"a line of an agent_message has at least {len(before + after)} bytes")
    return Fill(size - len(before + after), before, after + "\n")


def demo_script(
    *, path: str = "hello.txt", text: str = "Hello from the scripted agent.\n", pause: float = 0.0
) -> tuple[Step, ...]:
    """A small session as the real CLI prints it: a thought, a command, one that fails, a new file, a message.

    The file at `path` is really written; give an absolute path for lines quite like the real ones, which have no other.
    `pause` is the time between lines, in seconds.
    """
    listing, missing = "/bin/bash -lc ls", f"/bin/bash -lc 'test -e {path}'"
    steps: list[Step] = [ReadPrompt()]

    def line(value: dict[str, Any]) -> None:
        steps.extend([Sleep(pause), PrintJson(value)] if pause else [PrintJson(value)])

    line(thread_started(THREAD_ID))
    line(turn_started())
    line(reasoning("item_0", "**Looking around**\n\nThe workspace first, then the file."))
    line(command_started("item_1", listing))
    line(command_completed("item_1", listing))
    line(command_started("item_2", missing))
    line(command_completed("item_2", missing, exit_code=1))
    line(file_change("item_3", {path: "add"}, "in_progress"))
    steps.append(WriteFile(path, text))
    line(file_change("item_3", {path: "add"}))
    line(agent_message("item_4", f"I wrote {path}."))
    line(turn_completed())
    return tuple(steps)


def _first_lines() -> str:
    direct = f"#!{sys.executable} -IS"
    if len(os.fsencode(direct)) <= LONGEST_SHEBANG and not any(c.isspace() for c in sys.executable):
        return direct
    # A text that sh runs and Python skips: for interpreters in places that a first line cannot name.
    return f"#!/bin/sh\n'''exec' '{sys.executable}' -I -S \"$0\" \"$@\"\n'''"
