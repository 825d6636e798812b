"""Convert an environment to files of a CODEX_HOME: settings, instructions and hooks (U9)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import tomli_w

from codex_adapter.agents.codex.harness.hooks import hooks_file, trusted_hooks
from codex_adapter.agents.codex.harness.servers import server_settings, servers_paragraph
from codex_adapter.agents.codex.harness.user_home import UserHome
from codex_adapter.spaces import Environment

__all__ = ["foreign_skills", "home_files", "instructions_digest"]

_MOST_FOREIGN: Final = 1000


def home_files(
    environment: Environment, user: UserHome, provider: str, *, home: Path, hidden: Sequence[Path]
) -> dict[str, bytes]:
    """Return the files of a CODEX_HOME by name. `home` is its path, without links. (U9)

    `hidden` are skills to disable, because they are not in the environment. Raise `TurnError` if the CLI does not
    support a hook.
    """
    settings: dict[str, Any] = {**user.settings, "model_provider": provider}
    # The CLI must write a renewed login back to its file, not to a keyring.
    settings["cli_auth_credentials_store"] = "file"
    settings["skills"] = {"bundled": {"enabled": False}}
    if hidden:
        settings["skills"]["config"] = [{"path": str(path), "enabled": False} for path in hidden]
    if environment.servers:
        settings["mcp_servers"] = {server.name: server_settings(server) for server in environment.servers}
    files: dict[str, bytes] = {}
    if environment.hooks:
        settings["hooks"] = {"state": trusted_hooks(environment.hooks, home / "hooks.json")}
        files["hooks.json"] = json.dumps(hooks_file(environment.hooks), ensure_ascii=False).encode()
    instructions = _instructions(environment)
    if instructions:
        files["AGENTS.md"] = instructions.encode()
    return {**files, "config.toml": tomli_w.dumps(settings).encode()}


def instructions_digest(environment: Environment) -> str:
    """Return a digest of the instructions and skills with which a conversation begins."""
    skills = sorted((skill.name, skill.description) for skill in environment.skills)
    return hashlib.sha256(msgspec.json.encode((_instructions(environment), skills))).hexdigest()


def foreign_skills(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the skills in the user's home directory, which no environment contains. Block on files. (U9)"""
    home = env.get("HOME")
    return tuple(_skills_below(Path(home, ".agents", "skills"))) if home else ()


def _skills_below(root: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for directory, below, files in os.walk(root, followlinks=True):
        real = os.path.realpath(directory)
        if real in seen or len(seen) >= _MOST_FOREIGN:
            below.clear()
            continue
        seen.add(real)
        # A name that is not UTF-8 cannot be in the settings, and the CLI does not list it.
        if "SKILL.md" in files and directory.isprintable():
            yield Path(directory, "SKILL.md")


def _instructions(environment: Environment) -> str:
    parts = (environment.instructions.strip(), servers_paragraph(environment.servers))
    return "\n\n".join(part for part in parts if part)
