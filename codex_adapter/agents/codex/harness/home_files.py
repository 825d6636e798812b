"""What a turn's environment comes to for the Codex CLI: its settings, instructions and hooks, as files (U9)."""

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
from codex_adapter.agents.codex.harness.own_home import OwnHome
from codex_adapter.agents.codex.harness.servers import server_settings, servers_told
from codex_adapter.spaces import Environment

__all__ = ["foreign_skills", "materials", "told_digest"]

_MOST_FOREIGN: Final = 1000


def materials(
    environment: Environment, own: OwnHome, provider: str, *, home: Path, hidden: Sequence[Path]
) -> dict[str, bytes]:
    """The files of a CODEX_HOME at `home`, which has no links in its path, by their names (U9).

    `hidden` are skills that are none of the environment's. Raises `TurnError` for a
    hook that cannot be had.
    """
    settings: dict[str, Any] = {**own.settings, "model_provider": provider}
    # A login that the CLI renews must come back to where it is from, and not into a keyring.
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
    told = _told(environment)
    if told:
        files["AGENTS.md"] = told.encode()
    return {**files, "config.toml": tomli_w.dumps(settings).encode()}


def told_digest(environment: Environment) -> str:
    """A digest of what the agent is told when a conversation begins."""
    skills = sorted((skill.name, skill.description) for skill in environment.skills)
    return hashlib.sha256(msgspec.json.encode((_told(environment), skills))).hexdigest()


def foreign_skills(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The skills that the CLI finds in the user's home directory, which are no part of any environment (U9). Blocks."""
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
        # A name that is no UTF-8 cannot stand in the settings; the CLI does not list it either.
        if "SKILL.md" in files and directory.isprintable():
            yield Path(directory, "SKILL.md")


def _told(environment: Environment) -> str:
    parts = (environment.instructions.strip(), servers_told(environment.servers))
    return "\n\n".join(part for part in parts if part)
