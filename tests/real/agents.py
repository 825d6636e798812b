"""List the real agent CLIs whose commands are tested: one row for each agent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from codex_adapter.agents import agent_of
from codex_adapter.agents.claude.binary import find_binary
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.pi.binary import find_binary as find_pi
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.errors import SpawnError
from codex_adapter.testing import ModelServer, RawItem
from codex_adapter.testing.scenario import Item, Message

from ..needs import PROGRAMS, without
from .releases import installed

__all__ = [
    "AGENTS",
    "OtherRelease",
    "RealAgent",
    "claude_programs",
    "each_agent",
    "node_path",
    "pi_programs",
    "write_pi_files",
]


class RealAgent(NamedTuple):
    """One agent CLI with a scripted model.

    `program` is its newest release on this machine, None if it is not installed. `prepare` writes its settings below a
    directory and returns the variables that connect it to the model. `structured` is the item with which the model
    answers for an output schema, None if the agent has none. `login` is the exit status of its login's `status` with
    these variables, None if the agent logs in only in its own program.
    """

    kind: str
    program: Path | None
    prepare: Callable[[Path, ModelServer], Mapping[str, str]]
    structured: Callable[[str, Any], Item] | None
    login: int | None

    def options(self) -> list[str]:
        """Return the option of the command line that names the program."""
        [name] = [option.name for option in agent_of(self.kind).options if option.place == "program"]
        return [name, str(self.program)]

    def unrestricted(self) -> dict[str, Any]:
        """Return the extension with which the agent's own sandbox is off, or nothing if it has none."""
        keys = [option.key for option in agent_of(self.kind).options if "--sandbox" in option.names]
        return {key: "danger-full-access" for key in keys if key is not None}

    def environment(self, root: Path, server: ModelServer) -> dict[str, str]:
        """Return all variables of a command: no login, no profile of a shell and no network. `root` is short."""
        for name in ("home", "tmp"):
            (root / name).mkdir(exist_ok=True)
        places = {"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "PATH": os.environ["PATH"]}
        return {**places, "LANG": "C.UTF-8", **self.prepare(root, server)}


class OtherRelease(NamedTuple):
    """One program of an agent besides Codex: the name of its directory, and its path. It needs no pause."""

    name: str
    binary: Path
    pause: float = 0.0

    def needs(self, *_version: int, what: str) -> None:
        """Skip a test of what no release of this agent has; the versions are of Codex."""
        del what

    def before(self, *_version: int) -> bool:
        """Return false, as the versions are of Codex."""
        return False


def claude_programs() -> list[Path]:
    """Return the programs of Claude Code: those in `$CLAUDE_RELEASES/<version>/`, else the one that a run finds."""
    directory = os.environ.get("CLAUDE_RELEASES")
    found = Path(directory).glob("*/node_modules/@anthropic-ai/claude-code-linux-*/claude") if directory else ()
    programs = sorted(found, key=lambda path: [int(number) for number in path.parents[3].name.split(".")])
    if programs:
        return programs
    try:
        return [Path(find_binary(ClaudeConfig(), os.environ).path)]
    except SpawnError:
        return []


def pi_programs() -> list[Path]:
    """Return the programs of pi: those in `$PI_RELEASES/<version>/`, else the one that a run finds."""
    directory = os.environ.get("PI_RELEASES")
    found = Path(directory).glob("*/node_modules/.bin/pi") if directory else ()
    programs = sorted(found, key=lambda path: [int(number) for number in path.parents[2].name.split(".")])
    if programs:
        return programs
    try:
        return [Path(find_pi(PiConfig(), os.environ).path)]
    except SpawnError:
        return []


def node_path(program: Path) -> str:
    """Return a PATH that begins with the Node.js that npm installed beside a program, if it did."""
    found = [node.parent for node in program.parents[1].glob("node*/bin/node")]
    return ":".join([*map(str, found), os.environ["PATH"]])


def write_pi_files(
    directory: Path, address: str, names: Sequence[str] = ("mock-model",), *, api: str = "openai-responses"
) -> None:
    """Write the files that connect pi to a service, and let it try a failed request once more."""
    directory.mkdir(exist_ok=True)
    models = [{"id": name, "input": ["text", "image"]} for name in names]
    provider = {"baseUrl": address, "api": api, "apiKey": "sk-scripted", "models": models}
    (directory / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
    retry = {"enabled": True, "maxRetries": 1, "baseDelayMs": 1}
    # Without a default, the CLI takes the first model that has a key, such as ANTHROPIC_API_KEY.
    settings = {"defaultProvider": "scripted", "defaultModel": "mock-model", "retry": retry}
    (directory / "settings.json").write_text(json.dumps(settings))


def _prepare_pi(root: Path, server: ModelServer) -> Mapping[str, str]:
    write_pi_files(root / "pi", server.base_url)
    path = {} if (program := _newest(pi_programs())) is None else {"PATH": node_path(program)}
    return {"PI_CODING_AGENT_DIR": str(root / "pi"), **path}


def _prepare_codex(root: Path, server: ModelServer) -> Mapping[str, str]:
    return {"CODEX_HOME": server.write_codex_home(root / "codex_home")}


def _prepare_claude(root: Path, server: ModelServer) -> Mapping[str, str]:
    (root / "config").mkdir(exist_ok=True)
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.port}",
        "ANTHROPIC_API_KEY": "sk-ant-scripted",
        "CLAUDE_CONFIG_DIR": str(root / "config"),
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def _claude_answer(text: str, value: Any) -> Item:
    del text
    return RawItem({"type": "tool_use", "name": "StructuredOutput", "input": value})


def _message(text: str, value: Any) -> Item:
    del value
    return Message(text)


def _codex_program() -> Path | None:
    found = installed()
    return found[0].binary if found else None


def _newest(programs: list[Path]) -> Path | None:
    return programs[-1] if programs else None


AGENTS: Final = (
    RealAgent("codex", _codex_program(), _prepare_codex, _message, login=1),
    RealAgent("claude_code", _newest(claude_programs()), _prepare_claude, _claude_answer, login=0),
    RealAgent("pi", _newest(pi_programs()), _prepare_pi, None, login=None),
)


def _row(agent: RealAgent) -> Any:
    missing = without(PROGRAMS[agent.kind], agent.program is None)
    return pytest.param(agent, id=agent.kind, marks=missing)


each_agent: Final = partial(pytest.mark.parametrize, "agent", [_row(agent) for agent in AGENTS])
"""Run a test once for each agent that is installed; it receives the row as `agent`."""
