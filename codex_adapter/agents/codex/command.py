"""Build the argv and the environment of a run from its checked options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.extensions import ExecOptions, SessionSelector
from codex_adapter.core.checks import toml_string

__all__ = ["MACHINE_SETTINGS", "MOST_TRUST_BYTES", "build_argv", "home_of_cli", "merge_environment", "trust_setting"]

MACHINE_SETTINGS: Final = "/etc/codex"
"""The directory of the settings that the CLI reads for every user of the machine."""
MOST_TRUST_BYTES: Final = 100_000
"""The most that `trust_setting` may have; the system takes 131,072 bytes in one argument."""


def build_argv(binary: str, options: ExecOptions, *, schema_file: str | None, trust: str) -> list[str]:
    """Build the argv of a run whose prompt is read from stdin (S1, S2).

    `schema_file` is where `options.output_schema` has been written, None when there is none, and `trust` is what
    `trust_setting` returned. The options are taken as `read_extensions` gives them: paths absolute, ids without a
    leading dash.
    """
    argv = [binary]
    if options.approval_policy is not None:
        argv += ["--ask-for-approval", options.approval_policy]
    argv += ["exec", "--config", trust, "--color", "never", "--json"]
    # --image takes every word up to the next flag, so it cannot be before `-` or before a subcommand
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
    # These subcommands refuse or drop most of the flags above, so they are last.
    if options.resume is not None:
        argv += ["resume", _selector(options.resume)]
    elif options.fork is not None:
        argv += ["fork", _selector(options.fork)]
    argv.append("-")
    return argv


def trust_setting(directories: Sequence[str], *, trusted: bool) -> str:
    """Return the setting by which the CLI trusts or distrusts these directories in one run, as `KEY=TOML` (S11).

    The CLI looks each directory up by itself and ignores a dotted key with a quoted path in it.
    """
    level = "trusted" if trusted else "untrusted"
    tables = (f"{toml_string(directory)}={{trust_level={toml_string(level)}}}" for directory in directories)
    return f"projects={{{','.join(tables)}}}"


def merge_environment(parent: Mapping[str, str], config: CodexConfig, request_env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a run. Later wins: parent, `CODEX_HOME`, `RUST_LOG`, configured, the request's (S5).

    `RUST_LOG=error` is the default for a run that sets none. The result is new, and `parent` is not changed.
    """
    merged = dict(parent)
    if config.codex_home is not None:
        merged["CODEX_HOME"] = config.codex_home
    merged.setdefault("RUST_LOG", "error")
    merged.update(config.env)
    merged.update(request_env)
    return merged


def home_of_cli(env: Mapping[str, str]) -> str | None:
    """Return the directory that the CLI keeps its files in, from the run's directory; None where `env` has none."""
    return env.get("CODEX_HOME") or (f"{env['HOME']}/.codex" if env.get("HOME") else None)


def _selector(session: SessionSelector) -> str:
    return "--last" if session.id is None else session.id
