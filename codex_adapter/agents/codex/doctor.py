"""Examine the Codex CLI on this machine: program, release, CODEX_HOME, login and sandbox (C4)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

from codex_adapter.agents.codex.binary import PROGRAM
from codex_adapter.agents.codex.command import home_of_cli, merge_environment
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.releases import MINIMUM, RELEASES
from codex_adapter.errors import BackendError
from codex_adapter.findings import AgentReport, Finding, home_finding
from codex_adapter.probes.installed import (
    Installed,
    binary_report,
    find_or_report,
    program_finding,
    release_finding,
)
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.program_output import read_output
from codex_adapter.runtime.programs import Binary

__all__ = ["agent_sandbox_works", "examine", "find_installed"]

_TEMPORARY_HOME: Final = (
    "The CLI cannot start its sandbox there, so every command of an agent fails. Commands could also write to the "
    "settings of the CLI. Move CODEX_HOME, or set TMPDIR to a directory that is not above it."
)
_NO_SANDBOX: Final = (
    "Every command of an agent fails, although its turn completes. Such a run has the hint sandbox_unavailable. "
    "Allow user namespaces here (in Docker: --security-opt seccomp=unconfined, with AppArmor also --security-opt "
    "apparmor=unconfined). If this container is itself the sandbox, run with --sandbox danger-full-access."
)
_UPGRADE: Final = f"Install release {MINIMUM} or newer: pip install --upgrade openai-codex-cli-bin"
_LOGIN_VARIABLE: Final = "CODEX_API_KEY"
_UNUSED_VARIABLE: Final = "OPENAI_API_KEY"
_SANDBOX_SUBCOMMANDS: Final = (("sandbox", "--"), ("sandbox", "linux", "--"))
"""The arguments in newer and in older releases."""
_PROOF: Final = 7
_PATIENCE: Final = 10.0


async def examine(config: CodexConfig) -> AgentReport:
    """Examine the CLI that a run with this configuration would execute, and try its sandbox with a command (S6, S8)."""
    environ = merge_environment(os.environ, config, {})
    installed = await find_installed(config, environ)
    login = _login(environ)
    home = home_finding("CODEX_HOME", environ.get("CODEX_HOME"), "~/.codex")
    works = None if installed.binary is None else await agent_sandbox_works(installed.binary.path, environ)
    if works and _is_temporary(_home(environ), environ):
        works = False
        sandbox = [Finding("agent sandbox", "warning", "CODEX_HOME is in the temporary directory", _TEMPORARY_HOME)]
    else:
        sandbox = _sandbox_findings(works)
    return AgentReport(
        binary=installed.binary,
        findings=[*installed.findings, home, _login_finding(login, environ)],
        login=login,
        logged_in=login["auth_json"] or login[_LOGIN_VARIABLE],
        sandbox=works,
        sandbox_findings=sandbox,
    )


async def find_installed(config: CodexConfig, environ: Mapping[str, str]) -> Installed:
    """Find the CLI that a run would execute, and ask it for its release (S6, S8)."""
    binary = await find_or_report(PROGRAM, config, environ)
    if isinstance(binary, Installed):
        return binary
    release = await PROGRAM.ask_version(binary, environ, containment=Containment())
    if release is None:
        of_release = await _unknown_release(binary, environ)
    else:
        of_release = release_finding(release, RELEASES, _UPGRADE)
    findings = [program_finding(PROGRAM, binary), of_release]
    return Installed(binary_report(binary, release, RELEASES), release, findings)


async def _unknown_release(binary: Binary, environ: Mapping[str, str]) -> Finding:
    """Report on a program that prints no release: a build from source, or not the Codex CLI."""
    printed = await read_output([binary.path, "--version"], environ, containment=Containment(), seconds=_PATIENCE)
    if printed.data.startswith(b"codex") and printed.status is not None and printed.status.success:
        return Finding(
            "release", "warning", "a build without a release number", "No request is refused because of its release."
        )
    advice = "Run it with --version. Check that it is the Codex CLI, built for this system."
    return Finding("release", "failed", "the program prints no release", advice)


def _login(environ: Mapping[str, str]) -> dict[str, bool]:
    home = _home(environ)
    return {
        "auth_json": (home / "auth.json").is_file(),
        "config_toml": (home / "config.toml").is_file(),
        _LOGIN_VARIABLE: bool(environ.get(_LOGIN_VARIABLE)),
    }


def _home(environ: Mapping[str, str]) -> Path:
    return Path(home_of_cli(environ) or "/.codex")


def _is_temporary(home: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the CLI regards its home as temporary, and so installs no sandbox programs there (F12)."""
    with suppress(OSError, ValueError):
        return home.resolve().is_relative_to(Path(environ.get("TMPDIR") or "/tmp").resolve())  # noqa: S108 - as the CLI
    return False


def _login_finding(login: Mapping[str, bool], environ: Mapping[str, str]) -> Finding:
    logins = [name for name, text in (("auth_json", "auth.json"), (_LOGIN_VARIABLE, _LOGIN_VARIABLE)) if login[name]]
    if logins:
        return Finding("login", "ok", " and ".join(logins))
    advice = f"Run `codex-adapter login`, or set {_LOGIN_VARIABLE}. Your own model provider may need neither."
    found = "no login found"
    if environ.get(_UNUSED_VARIABLE):
        found += f"; {_UNUSED_VARIABLE} is set, and the CLI does not use it"
        advice = f"Set {_LOGIN_VARIABLE} to the same key, or run `codex-adapter login -- --with-api-key`."
    return Finding("login", "warning", found + ("; config.toml exists" if login["config_toml"] else ""), advice)


def _sandbox_findings(works: bool | None) -> list[Finding]:
    if works is None:
        return []
    if works:
        return [Finding("agent sandbox", "ok", "the Codex CLI can run commands in its sandbox")]
    return [Finding("agent sandbox", "warning", "the Codex CLI cannot start its sandbox", _NO_SANDBOX)]


async def agent_sandbox_works(binary: str, environ: Mapping[str, str]) -> bool | None:
    """Return whether the CLI can run a command in its sandbox here; None if the attempt is impossible (C4).

    The CLI uses a temporary home and a temporary TMPDIR. Both are removed afterwards.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="codex-adapter-doctor-") as place:
            home, temporary = Path(place, "home"), Path(place, "tmp")
            home.mkdir()
            temporary.mkdir()
            env = {**environ, "CODEX_HOME": str(home), "TMPDIR": str(temporary)}
            for words in _SANDBOX_SUBCOMMANDS:
                if await _status([binary, *words, "/bin/sh", "-c", f"exit {_PROOF}"], env, place) == _PROOF:
                    return True
    except (OSError, BackendError):
        return None
    return False


async def _status(argv: list[str], env: Mapping[str, str], place: str) -> int | None:
    async with Containment().silent(argv, env=env, cwd=place) as contained:
        with trio.move_on_after(_PATIENCE):
            return (await contained.wait()).code
    return None
