"""Examine pi on this machine: program, release and login (C4)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from codex_adapter.agents.pi.advice import INSTALL, LOGIN
from codex_adapter.agents.pi.binary import PROGRAM, release_of
from codex_adapter.agents.pi.command import agent_directory, merge_environment
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.releases import PROJECT_TRUST, RELEASES
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
from codex_adapter.runtime.program_output import read_output
from codex_adapter.runtime.programs import Binary

__all__ = ["examine", "find_installed"]

_VARIABLES: Final = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
"""The variables of the most used providers; the CLI knows many more."""
_HOME: Final = "PI_CODING_AGENT_DIR"
_PATIENCE: Final = 20.0
_NO_START: Final = f"It needs Node.js 22.19 or newer on PATH (0.74: 20.6). Then install it again: {INSTALL}"
_NO_RELEASE: Final = f"Check that it is pi: {INSTALL}"
_UPGRADE: Final = f"Install release {PROJECT_TRUST.since} or newer: {INSTALL}"
_NO_SANDBOX: Final = (
    "With --sandbox read-only, the agent has only tools that read files. With danger-full-access, nothing limits its "
    "commands: run it in a container."
)


async def examine(config: PiConfig) -> AgentReport:
    """Examine the CLI that a run with this configuration would execute (S6, S8)."""
    environ = merge_environment(os.environ, config, {})
    binary, _, findings = await find_installed(config, environ)
    home, login = await inquire(partial(_read_home, environ=environ))
    findings.append(home)
    logins = [name for name, found in login.items() if found]
    if logins:
        findings.append(Finding("login", "ok", " and ".join(logins)))
    else:
        findings.append(Finding("login", "warning", "no login found", LOGIN))
    return AgentReport(
        binary=binary,
        findings=findings,
        login=login,
        logged_in=bool(logins),
        sandbox_findings=[Finding("agent sandbox", "warning", "pi has no sandbox", _NO_SANDBOX)],
    )


async def find_installed(config: PiConfig, environ: Mapping[str, str]) -> Installed:
    """Find the CLI that a run would execute, its release, and whether it starts (S6, S8)."""
    binary = await find_or_report(PROGRAM, config, environ)
    if isinstance(binary, Installed):
        return binary
    release = await release_of(binary, environ, config)
    report = binary_report(binary, release, RELEASES)
    if not await _starts(binary, environ):
        return Installed(report, release, [Finding("pi", "failed", f"{binary.path} does not start", _NO_START)])
    if release is None:
        of_release = Finding("release", "failed", "the program prints no release", _NO_RELEASE)
    else:
        of_release = release_finding(release, RELEASES, _UPGRADE)
    return Installed(report, release, [program_finding(PROGRAM, binary), of_release])


async def _starts(binary: Binary, environ: Mapping[str, str]) -> bool:
    """Return whether the program prints its release and exits with 0. It needs a suitable Node.js."""
    printed = await read_output([binary.path, "--version"], environ, containment=Containment(), seconds=_PATIENCE)
    return printed.status is not None and printed.status.success


def _read_home(inquiry: Inquiry, environ: Mapping[str, str]) -> tuple[Finding, dict[str, bool]]:
    directory = agent_directory(environ)
    files = dict.fromkeys(("auth.json", "models.json"), False)
    if directory is not None:
        inquiry.at(f"{_HOME} directory", directory)
        models: Any = read_json(Path(directory, "models.json"))
        # The CLI creates an empty auth.json on its first start.
        files = {
            "auth.json": bool(read_json(Path(directory, "auth.json"))),
            "models.json": isinstance(models, dict) and bool(models.get("providers")),
        }
    home = home_finding(_HOME, directory if environ.get(_HOME) else None, "~/.pi/agent")
    return home, {**files, **{name: bool(environ.get(name)) for name in _VARIABLES}}
