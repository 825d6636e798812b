"""Which Codex CLI a run would execute, and whether its release is supported: the first thing to know (C4)."""

from __future__ import annotations

import subprocess
from typing import Literal

import msgspec
import trio

from codex_adapter import BackendError, CodexConfig, SpawnError
from codex_adapter.agents.codex.binary import Binary, ask_version, find_binary
from codex_adapter.agents.codex.releases import MINIMUM, Version, is_supported
from codex_adapter.cli.arguments import in_our_words
from codex_adapter.cli.doctor.releases import differences_of, features_of
from codex_adapter.cli.present.narration import printable
from codex_adapter.file_systems import inquire

__all__ = ["BinaryFacts", "Finding", "Installed", "examine_binary", "finding_lines"]

_SIGNS = {"ok": "ok  ", "warning": "note", "failed": "FAIL"}


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at: how it is, and when something is amiss what to do about it."""

    subject: str
    state: Literal["ok", "warning", "failed"]
    found: str
    advice: str | None = None


class BinaryFacts(msgspec.Struct, frozen=True):
    """The binary as a report tells of it.

    Of a known release, `features` says what a run or a turn can ask of it, `differences` has its quirks (R1).
    """

    path: str
    origin: str
    launcher: bool
    version: str | None
    supported: bool | None
    features: dict[str, bool]
    differences: dict[str, str]


class Installed(msgspec.Struct, frozen=True):
    """The binary and its release, each None when there is none to be had, and what was found."""

    binary: BinaryFacts | None
    release: Version | None
    findings: list[Finding]


def finding_lines(finding: Finding) -> list[str]:
    """A finding for a person."""
    lines = [f"{_SIGNS[finding.state]} {finding.subject}: {finding.found}"]
    return lines if finding.advice is None else [*lines, f"     {finding.advice}"]


async def examine_binary(config: CodexConfig, environ: dict[str, str]) -> Installed:
    """Find the CLI as a run finds it and ask for its release (S6, S8)."""
    try:
        binary = await inquire(lambda inquiry: find_binary(config, environ, inquiry.at))
    except SpawnError as error:
        found_none = "not found" if error.not_found else "no program"
        return Installed(None, None, [Finding("codex", "failed", found_none, in_our_words(error.advice or ""))])
    except BackendError as error:
        return Installed(None, None, [Finding("codex", "failed", "no answer", error.advice)])
    release = await ask_version(binary, environ)
    kind = "npm launcher" if binary.launcher else "native"
    found = [Finding("codex", "ok", f"{printable(binary.path)} ({kind}, from {binary.origin})")]
    if binary.launcher:
        advice = (
            "The native binary beside the launcher was not found; install the CLI again, with its optional packages."
        )
        found[0] = msgspec.structs.replace(found[0], state="warning", advice=advice)
    if release is None:
        found.append(await _unknown_release(binary, environ))
    elif not is_supported(release):
        advice = f"Install release {MINIMUM} or newer: pip install --upgrade openai-codex-cli-bin"
        found.append(Finding("release", "failed", f"{release}, which is not supported", advice))
    else:
        found.append(Finding("release", "ok", f"{release}, supported"))
    supported = None if release is None else is_supported(release)
    told = None if release is None else str(release)
    known = release if supported else None
    features, differences = (features_of(known), differences_of(known)) if known is not None else ({}, {})
    facts = BinaryFacts(binary.path, binary.origin, binary.launcher, told, supported, features, differences)
    return Installed(facts, release, found)


async def _unknown_release(binary: Binary, environ: dict[str, str]) -> Finding:
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
        return Finding("release", "warning", "a build without a release", "Nothing is refused for its release.")
    advice = "Check that it is the Codex CLI and a program for this system: run it with --version."
    return Finding("release", "failed", "it does not tell one", advice)
