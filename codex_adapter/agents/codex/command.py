"""Build the argv and the environment of a run from its checked options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.core.checks import toml_string
from codex_adapter.core.extension_checks import SessionSelector

__all__ = ["MACHINE_SETTINGS", "MOST_TRUST_BYTES", "build_argv", "home_of_cli", "merge_environment", "trust_setting"]

MACHINE_SETTINGS: Final = "/etc/codex"
"""The directory of the settings that the CLI reads for every user of the machine."""
MOST_TRUST_BYTES: Final = 100_000
"""The limit of the result of `trust_setting`; the system accepts 131,072 bytes in one argument."""


def build_argv(binary: str, options: ExecOptions, *, schema_file: str | None, trust: str) -> list[str]:
    """Build the argv of a run that reads its prompt from stdin (S1, S2).

    `schema_file` is the path of the file with `options.output_schema`, or None. `trust` is the result of
    `trust_setting`. `options` is the result of `read_extensions`: its paths are absolute, and its ids have no leading
    dash.
    """
    argv = [binary]
    if options.approval_policy is not None:
        argv += ["--ask-for-approval", options.approval_policy]
    argv += ["exec", "--config", trust, "--color", "never", "--json"]
    # --image consumes all arguments up to the next flag, so `-` or a subcommand cannot follow it.
    for image in options.images:
        argv += ["--image", image]
    argv += ["--skip-git-repo-check", "--sandbox", options.sandbox_mode]
    if options.model is not None:
        argv += ["--model", options.model]
    for directory in options.add_dirs:
        argv += ["--add-dir", directory]
    if schema_file is not None:
        argv += ["--output-schema", schema_file]
    for setting in options.settings:
        argv += ["--config", setting]
    # These subcommands refuse or ignore most of the flags above, so the flags precede them.
    if options.resume is not None:
        argv += ["resume", _selector(options.resume)]
    elif options.fork is not None:
        argv += ["fork", _selector(options.fork)]
    argv.append("-")
    return argv


def trust_setting(directories: Sequence[str], *, trusted: bool) -> str:
    """Return the setting that makes the CLI trust or distrust these directories in one run, as `KEY=TOML` (S11).

    The CLI looks up each directory separately, and ignores a dotted key that contains a quoted path.
    """
    level = "trusted" if trusted else "untrusted"
    tables = (f"{toml_string(directory)}={{trust_level={toml_string(level)}}}" for directory in directories)
    return f"projects={{{','.join(tables)}}}"


def merge_environment(parent: Mapping[str, str], config: CodexConfig, request_env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a run as a new mapping (S5).

    A later source overrides an earlier one: `parent`, `config.codex_home`, `config.env`, `request_env`. The default of
    `RUST_LOG` is `error`.
    """
    merged = dict(parent)
    if config.codex_home is not None:
        merged["CODEX_HOME"] = config.codex_home
    merged.setdefault("RUST_LOG", "error")
    merged.update(config.env)
    merged.update(request_env)
    return merged


def home_of_cli(env: Mapping[str, str]) -> str | None:
    """Return the directory of the CLI's files, relative to the run's directory; None if `env` names none."""
    return env.get("CODEX_HOME") or (f"{env['HOME']}/.codex" if env.get("HOME") else None)


def _selector(session: SessionSelector) -> str:
    return "--last" if session.id is None else session.id
