"""Build the argv and the environment of a run from its checked options (S1, S2, S5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.extensions import RunOptions

__all__ = ["QUIET", "READING_TOOLS", "agent_directory", "build_argv", "merge_environment"]

READING_TOOLS: Final = "read,grep,find,ls"
"""The tools of the CLI that can neither write a file nor start a program."""

QUIET: Final = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}


def build_argv(binary: str, options: RunOptions, *, asks_for_trust: bool, sessions: str, fork: str | None) -> list[str]:
    """Build the argv of a run whose prompt is read from standard input.

    `asks_for_trust` is whether the release has the flags `--approve` and `--no-approve`. `sessions` is the directory of
    the sessions, and `fork` the session to fork.
    """
    argv = [binary, "-p", "--mode", "json"]
    if options.tools == "none":
        argv.append("--no-tools")
    elif options.sandbox_mode == "read-only":
        argv += ["--tools", READING_TOOLS]
    # A prompt that begins with a slash is a prompt, and not the name of a template.
    argv += ["--no-prompt-templates", "--no-themes"]
    if not options.trust_project:
        # Extensions run inside of the CLI. The CLI cannot load those of the user without those of the project.
        argv += ["--no-extensions", "--no-skills", "--no-context-files", "--session-dir", sessions]
    if options.skills is not None:
        # A directory that is named is used, also with `--no-skills`.
        argv += ["--skill", options.skills]
    if asks_for_trust:
        # Without a flag, the CLI's own list of trusted projects decides.
        argv.append("--approve" if options.trust_project else "--no-approve")
    if options.provider is not None:
        argv += ["--provider", options.provider]
    if options.model is not None:
        argv += ["--model", options.model]
    if options.thinking is not None:
        argv += ["--thinking", options.thinking]
    if options.resume is not None:
        argv += ["--continue"] if options.resume.id is None else ["--session", options.resume.id]
    if fork is not None:
        argv += ["--fork", fork]
    return argv + [f"@{path}" for path in options.images]


def merge_environment(parent: Mapping[str, str], config: PiConfig, request_env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a run as a new dictionary.

    Later sources win: the defaults for unattended use, the parent, `PI_CODING_AGENT_DIR`, the configuration, the
    request (S5).
    """
    merged = {**QUIET, **parent}
    if config.agent_dir is not None:
        merged["PI_CODING_AGENT_DIR"] = config.agent_dir
    merged.update(config.env)
    merged.update(request_env)
    return merged


def agent_directory(env: Mapping[str, str]) -> str | None:
    """Return the directory of the CLI's own files, or None if `env` does not name it. The path can be relative."""
    home = env.get("HOME")
    named = env.get("PI_CODING_AGENT_DIR")
    if named and home and (named == "~" or named.startswith("~/")):
        return home + named[1:]
    return named or (f"{home}/.pi/agent" if home else None)
