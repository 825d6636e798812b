"""Examine Claude Code on this machine: program, release, login and sandbox (C4)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any, Final

import trio

from codex_adapter.agents.claude.binary import PROGRAM
from codex_adapter.agents.claude.command import config_directory, merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.agents.claude.releases import MINIMUM, RELEASES, SANDBOX
from codex_adapter.agents.claude.user_files import login_directory, state_file
from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.findings import AgentReport, Finding, home_finding
from codex_adapter.probes.installed import (
    Installed,
    binary_report,
    find_or_report,
    program_finding,
    release_finding,
)
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.login_files import read_json

__all__ = ["examine", "find_installed"]

_VARIABLES: Final = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
)
_NO_LOGIN: Final = (
    "Run `codex-adapter login --agent claude_code`, or set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN for a "
    "subscription."
)
_NO_RELEASE: Final = "Run it with --version. Check that it is Claude Code, built for this system."
_UPGRADE: Final = f"Install release {MINIMUM} or newer: npm install -g @anthropic-ai/claude-code"
_NO_SANDBOX: Final = (
    "A run with --sandbox read-only or workspace-write fails. Such a run has the hint sandbox_unavailable. Install "
    "bubblewrap and socat, and allow user namespaces here. If this container is itself the sandbox, run with --sandbox "
    "danger-full-access."
)
_OLD_RELEASE: Final = (
    "A run with this release is refused. Install a newer one: npm install -g @anthropic-ai/claude-code. Or run with "
    "--sandbox danger-full-access."
)
_SANDBOX_PROGRAMS: Final = ("bwrap", "socat")
_TRIAL: Final = ("--ro-bind", "/", "/", "--dev", "/dev", "--unshare-net", "--unshare-pid", "--proc", "/proc")
_PROOF: Final = 7
_PATIENCE: Final = 10.0


async def examine(config: ClaudeConfig) -> AgentReport:
    """Examine the CLI that a run with this configuration would execute, and try its sandbox (S6, S8)."""
    environ = merge_environment(os.environ, config, {}, RunOptions())
    binary, release, findings = await find_installed(config, environ)
    home, login = await inquire(partial(_read_home, environ=environ))
    findings.append(home)
    logins = [name for name, found in login.items() if found]
    if logins:
        findings.append(Finding("login", "ok", " and ".join(logins)))
    else:
        findings.append(Finding("login", "warning", "no login found", _NO_LOGIN))
    missing = [name for name in _SANDBOX_PROGRAMS if which(name, path=environ.get("PATH")) is None]
    works = False if missing else await _sandbox_works(environ)
    if release is not None and not SANDBOX.holds(release):
        works = False
        problem = f"the sandbox of releases before {SANDBOX.since} may not start"
        sandbox = Finding("agent sandbox", "warning", problem, _OLD_RELEASE)
    elif works:
        sandbox = Finding("agent sandbox", "ok", "bubblewrap and socat work here")
    else:
        problem = f"{' and '.join(missing)} not found" if missing else "bubblewrap cannot start a sandbox"
        sandbox = Finding("agent sandbox", "warning", problem, _NO_SANDBOX)
    return AgentReport(
        binary=binary,
        findings=findings,
        login=login,
        logged_in=bool(logins),
        sandbox=works,
        sandbox_findings=[sandbox],
    )


async def find_installed(config: ClaudeConfig, environ: Mapping[str, str]) -> Installed:
    """Find the CLI that a run would execute, and ask it for its release (S6, S8)."""
    binary = await find_or_report(PROGRAM, config, environ)
    if isinstance(binary, Installed):
        return binary
    release = await PROGRAM.ask_version(binary, environ, containment=Containment())
    if release is None:
        of_release = Finding("release", "failed", "the program prints no release", _NO_RELEASE)
    else:
        of_release = release_finding(release, RELEASES, _UPGRADE)
    findings = [program_finding(PROGRAM, binary), of_release]
    return Installed(binary_report(binary, release, RELEASES), release, findings)


def _read_home(inquiry: Inquiry, environ: Mapping[str, str]) -> tuple[Finding, dict[str, bool]]:
    """Return whether each place of a login has one: of a subscription, an API key, a helper or a cloud."""
    directory, logins, state = config_directory(environ), login_directory(environ), state_file(environ)
    inquiry.at("CLAUDE_CONFIG_DIR directory", directory or "")
    settings = {} if directory is None else _read(Path(directory, "settings.json"))
    variables = settings.get("env")
    login = {
        ".credentials.json": logins is not None and bool(_read(Path(logins, ".credentials.json")).get("claudeAiOauth")),
        ".claude.json": state is not None and bool(_read(Path(state)).get("primaryApiKey")),
        "settings.json": bool(settings.get("apiKeyHelper"))
        or (isinstance(variables, dict) and any(variables.get(name) for name in _VARIABLES)),
        **{name: bool(environ.get(name)) for name in _VARIABLES},
    }
    return home_finding("CLAUDE_CONFIG_DIR", environ.get("CLAUDE_CONFIG_DIR"), "~/.claude"), login


def _read(file: Path) -> dict[str, Any]:
    content = read_json(file)
    return content if isinstance(content, dict) else {}


async def _sandbox_works(environ: Mapping[str, str]) -> bool:
    """Return whether bubblewrap can start a sandbox as the CLI starts it."""
    bubblewrap = which("bwrap", path=environ.get("PATH"))
    argv = [str(bubblewrap), *_TRIAL, "/bin/sh", "-c", f"exit {_PROOF}"]
    try:
        with tempfile.TemporaryDirectory(prefix="codex-adapter-doctor-") as place, trio.move_on_after(_PATIENCE):
            async with Containment().silent(argv, env=environ, cwd=place) as contained:
                return (await contained.wait()).code == _PROOF
    except (OSError, BackendError):
        pass
    return False
