"""`codex-adapter doctor`: what is installed, and whether a run could be started (C4, N3)."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
from pathlib import Path
from typing import Literal

import msgspec
import trio

from codex_adapter import CodexConfig, SpawnError
from codex_adapter.cli.arguments import Command, Once, Parser, in_our_words
from codex_adapter.cli.complaints import UsageError
from codex_adapter.cli.levels import levels_given
from codex_adapter.cli.narration import printable
from codex_adapter.cli.orphans import look_after_orphans, orphans_text
from codex_adapter.cli.output import Output
from codex_adapter.cli.signals import StopSignals
from codex_adapter.cli.versions import installed_version
from codex_adapter.core.command import merge_environment
from codex_adapter.core.releases import FEATURES, MINIMUM, Version, is_supported
from codex_adapter.runtime.binary import Binary, ask_version, find_binary

__all__ = ["COMMAND"]

_DESCRIPTION = """\
Looks at what a run needs: the Codex CLI and its release, a login, this machine. Exits with 0 when a run could be
started, else with 1. Shows no secret, and no value of an environment variable but the path of the CLI.

With --orphans it looks for processes of runs whose adapter was killed, and exits with 0 when none is left, else with 1.
"""
_EXAMPLES = """\
  codex-adapter doctor
  codex-adapter doctor --codex ./node_modules/.bin/codex
  codex-adapter doctor --json | jq .ok
  codex-adapter doctor --orphans --kill
"""
_LOGIN_VARIABLE = "CODEX_API_KEY"


class _Finding(msgspec.Struct, frozen=True):
    """One thing looked at: how it is, and when something is amiss what to do about it."""

    subject: str
    state: Literal["ok", "warning", "failed"]
    found: str
    advice: str | None = None


class _BinaryFacts(msgspec.Struct, frozen=True):
    path: str
    origin: str
    launcher: bool
    version: str | None
    supported: bool | None
    features: dict[str, bool]


class _Report(msgspec.Struct, frozen=True):
    """What `--json` prints; no field holds a secret."""

    ok: bool
    adapter: str
    python: str
    trio: str
    msgspec: str
    containment: str
    containment_levels: list[str]
    binary: _BinaryFacts | None
    login: dict[str, bool]
    findings: list[_Finding]


def _parser() -> Parser:
    parser = Parser("doctor", "[OPTIONS]", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("--codex", action=Once, metavar="BINARY", help="the Codex CLI (default: $CODEX_BINARY, the wheel, PATH)")
    add("--codex-home", action=Once, metavar="DIR", help="as CODEX_HOME")
    add("--json", action="store_true", help="one JSON object instead of text")
    add("--orphans", action="store_true", help="list what adapters that were killed have left running")
    add("--kill", action="store_true", help="end what --orphans lists, and remove what it left on disk")
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    if options.kill and not options.orphans:
        raise UsageError("--kill: goes with --orphans only")
    if options.orphans:
        found = await look_after_orphans(kill=options.kill)
        text = orphans_text(found, kill=options.kill)
        await output.write(msgspec.json.encode(found) + b"\n" if options.json else text)
        return 0 if found.ok else 1
    report = None
    with stop.interrupting():
        report = await _examine(CodexConfig(binary=options.codex, codex_home=options.codex_home))
    if report is None:
        return stop.exit_status or 1
    await output.write(msgspec.json.encode(report) + b"\n" if options.json else _text(report))
    return 0 if report.ok else 1


async def _examine(config: CodexConfig) -> _Report:
    environ = merge_environment(os.environ, config, {})
    binary, findings = await _examine_binary(config, environ)
    login = _login(environ)
    findings += [_home_finding(environ), _login_finding(login)]
    levels = await levels_given(environ)
    findings.append(_containment_finding(levels))
    versions = {name: installed_version(name) for name in ("codex-adapter", "trio", "msgspec")}
    return _Report(
        ok=all(finding.state != "failed" for finding in findings),
        adapter=versions["codex-adapter"],
        python=platform.python_version(),
        trio=versions["trio"],
        msgspec=versions["msgspec"],
        containment=levels[0] if levels else "none",
        containment_levels=levels,
        binary=binary,
        login=login,
        findings=findings,
    )


async def _examine_binary(config: CodexConfig, environ: dict[str, str]) -> tuple[_BinaryFacts | None, list[_Finding]]:
    try:
        binary = find_binary(config, environ)
    except SpawnError as error:
        return None, [
            _Finding(
                "codex", "failed", "not found" if error.not_found else "no program", in_our_words(error.advice or "")
            )
        ]
    release = await ask_version(binary, environ)
    kind = "npm launcher" if binary.launcher else "native"
    found = [_Finding("codex", "ok", f"{printable(binary.path)} ({kind}, from {binary.origin})")]
    if binary.launcher:
        advice = (
            "The native binary beside the launcher was not found; install the CLI again, with its optional packages."
        )
        found[0] = msgspec.structs.replace(found[0], state="warning", advice=advice)
    features: dict[str, bool] = {}
    if release is None:
        found.append(await _unknown_release(binary, environ))
    elif not is_supported(release):
        advice = f"Install release {MINIMUM} or newer: pip install --upgrade openai-codex-cli-bin"
        found.append(_Finding("release", "failed", f"{release}, which is not supported", advice))
    else:
        found.append(_Finding("release", "ok", f"{release}, supported"))
        features = {feature.name: _has(release, feature.since, feature.until) for feature in FEATURES}
    supported = None if release is None else is_supported(release)
    told = None if release is None else str(release)
    return _BinaryFacts(binary.path, binary.origin, binary.launcher, told, supported, features), found


def _has(release: Version, since: Version | None, until: Version | None) -> bool:
    return (since is None or release[:3] >= since[:3]) and (until is None or release[:3] < until[:3])


async def _unknown_release(binary: Binary, environ: dict[str, str]) -> _Finding:
    """A build from source has no release of its own; what does not even say that it is Codex cannot be used."""
    said = b""
    with trio.move_on_after(10):
        try:
            done = await trio.run_process(
                [binary.path, "--version"],
                capture_stdout=True,
                stderr=subprocess.DEVNULL,
                stdin=b"",
                check=False,
                env=environ,
            )
            said = done.stdout if done.returncode == 0 else b""
        except OSError:
            pass
    if said.startswith(b"codex"):
        return _Finding("release", "warning", "a build without a release", "Nothing is refused for its release.")
    advice = "Check that it is the Codex CLI and a program for this system: run it with --version."
    return _Finding("release", "failed", "it does not tell one", advice)


def _login(environ: dict[str, str]) -> dict[str, bool]:
    home = _home(environ)
    return {
        "auth_json": (home / "auth.json").is_file(),
        "config_toml": (home / "config.toml").is_file(),
        _LOGIN_VARIABLE: bool(environ.get(_LOGIN_VARIABLE)),
    }


def _home(environ: dict[str, str]) -> Path:
    return Path(environ.get("CODEX_HOME") or Path(environ.get("HOME", "/")) / ".codex")


def _home_finding(environ: dict[str, str]) -> _Finding:
    if not environ.get("CODEX_HOME"):
        return _Finding("home", "ok", "~/.codex")
    if _home(environ).is_dir():
        return _Finding("home", "ok", "CODEX_HOME")
    advice = "Make the directory that CODEX_HOME names, or unset the variable: the CLI refuses to start."
    return _Finding("home", "failed", "CODEX_HOME, which is no directory", advice)


def _login_finding(login: dict[str, bool]) -> _Finding:
    there = [name for name, text in (("auth_json", "auth.json"), (_LOGIN_VARIABLE, _LOGIN_VARIABLE)) if login[name]]
    if there:
        return _Finding("login", "ok", " and ".join(there))
    advice = f"Run `codex login`, or set {_LOGIN_VARIABLE}; a model provider of your own may need neither."
    return _Finding(
        "login", "warning", "none found" + (", config.toml is there" if login["config_toml"] else ""), advice
    )


def _containment_finding(levels: list[str]) -> _Finding:
    if not levels:
        return _Finding("containment", "failed", "no agent can be started", "Check that /bin/sh can be executed.")
    found = levels[0] + (f" (also {', '.join(levels[1:])})" if levels[1:] else "")
    if levels[0] != "process_group":
        return _Finding("containment", "ok", found)
    advice = "What outlives a killed adapter is not ended here; a Linux where processes can be read in /proc has more."
    return _Finding("containment", "warning", found, advice)


def _text(report: _Report) -> bytes:
    signs = {"ok": "ok  ", "warning": "note", "failed": "FAIL"}
    lines = [f"codex-adapter {report.adapter}, Python {report.python}, trio {report.trio}, msgspec {report.msgspec}"]
    for finding in report.findings:
        lines.append(f"{signs[finding.state]} {finding.subject}: {finding.found}")
        if finding.advice is not None:
            lines.append(f"     {finding.advice}")
        if finding.subject == "release" and report.binary is not None:
            lines += [f"     {line}" for line in _abilities(report.binary.features)]
    lines.append("A run could be started." if report.ok else "A run could not be started.")
    return "".join(f"{line}\n" for line in lines).encode()


def _abilities(features: dict[str, bool]) -> list[str]:
    takes, lacks = (", ".join(name for name, has in features.items() if has is wanted) for wanted in (True, False))
    return [f"{verb}: {names}" for verb, names in (("takes", takes), ("does not take", lacks)) if names]


COMMAND = Command(_parser, _perform)
