"""Write a scripted agent: an executable that replaces an agent CLI in tests, and in a demo without the CLI.

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
"""Bytes of a `#!` line that Linux does not truncate."""
_VERSION = """\
import sys
if sys.argv[1:2] in (["--version"], [{short!r}]):
    print({line!r})
    sys.exit()
sys.path.append({home!r})"""
"""The version is asked often, so no module is loaded for the answer."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The environment that an agent observed when it wrote its facts.

    `prompt` is None if the agent had not read it. Bytes in it that are not UTF-8 become surrogates. `blocked` has names
    of signals, and `open_files` numbers of descriptors.
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
    directory: str | os.PathLike[str],
    script: Iterable[Step],
    *,
    version: str = "0.163.0",
    name: str = "codex",
    version_line: str | None = None,
) -> str:
    """Write an executable that executes these steps, and return its path (TK2).

    It answers `--version` like the Codex CLI of that version. It exits with status 2 for arguments that the CLI would
    refuse, and with 0 after its last step. With `version_line`, it replaces another CLI: it answers `--version` with
    this line, and accepts all arguments. A missing directory is created.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.absolute() / name
    home = str(Path(agent_steps.__file__).parent)
    steps = json.loads(msgspec.json.encode(list(script)))
    short, line = ("-V", f"codex-cli {version}") if version_line is None else ("-v", version_line)
    code = [_first_lines(), _VERSION.format(short=short, line=line, home=home)]
    # Modules are compiled once for all agents.
    if version_line is None:
        code += ["import agent_arguments", "agent_arguments.answer_at_once(sys.argv[1:])"]
    code += ["import agent_descendants, agent_program", f"agent_program.main({steps!r}, agent_descendants.ACTIONS)"]
    # Replace the file atomically: a run may be starting the previous one.
    draft = path.with_name(f".{name}.{os.getpid()}")
    with draft.open("w", encoding="utf-8") as file:
        file.write("\n".join([*code, ""]))
        os.fchmod(file.fileno(), 0o755)
    draft.replace(path)
    return str(path)


def read_facts(path: str | os.PathLike[str]) -> Facts:
    """Return the facts that a `WriteFacts` step has written. Raise FileNotFoundError before the step."""
    # Its strings may contain surrogates, which only the standard library's decoder accepts.
    return msgspec.convert(json.loads(Path(path).read_bytes()), Facts)


def long_line(size: int) -> Step:
    """Return a step that prints an agent_message line of `size` bytes, without its newline, in constant memory."""
    before, after = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"', '"}}'
    if size < len(before + after):
        raise ValueError(f"size must be at least {len(before + after)} bytes for an agent_message line")
    return Fill(size - len(before + after), before, after + "\n")


def demo_script(
    *, path: str = "hello.txt", text: str = "Hello from the scripted agent.\n", pause: float = 0.0
) -> tuple[Step, ...]:
    """Return a short session as the real CLI prints it: reasoning, a command, a failed command, a new file, a message.

    The file at `path` is written. The real CLI prints absolute paths, so pass one for the same lines. `pause` is the
    time between lines, in seconds.
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
    # A text that sh executes and Python skips, for an interpreter whose path does not fit into a `#!` line.
    return f"#!/bin/sh\n'''exec' '{sys.executable}' -I -S \"$0\" \"$@\"\n'''"
