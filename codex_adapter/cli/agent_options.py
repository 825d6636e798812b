"""The options that say how the Codex CLI is run, of one run or of all runs of a daemon (C6, C9)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from codex_adapter import CodexConfig, InvalidRequestError
from codex_adapter.agents.codex.settings import Scope, check_settings
from codex_adapter.cli.arguments import Once, in_our_words, seconds
from codex_adapter.cli.errors import UsageError
from codex_adapter.core.request_checks import CONTAINMENT_LEVELS

__all__ = ["FOR_COMMANDS", "add_backend_options", "read_config", "read_environment", "read_settings", "run_config"]

FOR_COMMANDS: Final = frozenset({"containment", "containment_max"})
"""The attributes of the options that also say how commands of `operations` and `mailbox` are held (N3)."""


def add_backend_options(parser: Any) -> None:
    """Add them to a parser, or to a group of one."""
    add = parser.add_argument
    add("--timeout", action=Once, type=seconds, metavar="SECONDS", help="end a run after this time (default: never)")
    idle = "end it after this time without progress (default: 1800 where there is no --timeout; 0: never)"
    add("--idle-timeout", action=Once, type=seconds, metavar="SECONDS", help=idle)
    add("--tool-timeout", action=Once, type=seconds, metavar="SECONDS", help="end it when one tool call takes longer")
    add("--env", action="append", metavar="NAME[=VALUE]", help="set a variable for the agent, or copy it; repeatable")
    add("--mask", action="append", metavar="NAME", help="a variable whose value never appears; repeatable")
    add("--model", action=Once, metavar="ID", help="the model to use")
    setting = "a setting of the Codex CLI, VALUE as TOML or plain text; repeatable"
    add("-c", "--config", action="append", metavar="KEY=VALUE", help=setting)
    add("--codex", action=Once, metavar="BINARY", help="the Codex CLI (default: $CODEX_BINARY, the wheel, PATH)")
    add("--codex-home", action=Once, metavar="DIR", help="sets CODEX_HOME (default: as it is)")
    levels = ", ".join(CONTAINMENT_LEVELS)
    add("--containment", action=Once, metavar="LEVEL", help=f"be content with no weaker one: {levels} (default: any)")
    add("--containment-max", action=Once, metavar="LEVEL", help="try no stronger one; guard: no user namespace")


def read_config(options: argparse.Namespace, scope: Scope = "run") -> CodexConfig:
    """Return the configuration that they make, with settings of the CLI for `scope` (Q7). Raises `UsageError`."""
    settings = read_settings(options.config or ())
    try:
        check_settings("config.settings", settings, scope)
    except InvalidRequestError as error:
        raise UsageError(in_our_words(str(error))) from None
    return replace(run_config(options), settings=settings)


def run_config(options: argparse.Namespace) -> CodexConfig:
    """Return the configuration that they make, without what a request may have as well."""
    return CodexConfig(
        binary=options.codex,
        codex_home=options.codex_home,
        idle_timeout=options.idle_timeout,
        tool_timeout=options.tool_timeout,
        mask=tuple(options.mask or ()),
        containment=options.containment,
        containment_max=options.containment_max,
    )


def read_environment(entries: Sequence[str]) -> dict[str, str]:
    """The variables of the `--env` options. Raises `UsageError`."""
    env: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        name, equals, value = entry.partition("=")
        if name in env:
            raise UsageError(f"--env: number {number} sets a variable again; give each variable once")
        if not equals:
            copied = os.environ.get(name)
            if copied is None:
                raise UsageError(f"--env: number {number} is not set here, so it cannot be copied; give NAME=VALUE")
            value = copied
        env[name] = value
    return env


def read_settings(entries: Sequence[str]) -> dict[str, Any]:
    """Read the settings of the `--config` options, by dotted keys; what may be set is not looked at.

    Raises `UsageError`, which repeats nothing of an entry.
    """
    settings: dict[str, Any] = {}
    for number, entry in enumerate(entries, 1):
        key, equals, text = entry.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"--config: number {number} must be KEY=VALUE")
        if key in settings:
            raise UsageError(f"--config: number {number} sets a key again; give each key once")
        settings[key] = _toml_value(number, text.strip())
    return settings


def _toml_value(number: int, text: str) -> Any:
    """Return the value of a TOML text, or the text itself where it is none, as the CLI does it."""
    import tomllib  # noqa: PLC0415 - few command lines have settings

    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        document = {}
    if document.keys() == {"value"}:
        return document["value"]
    if document or text.startswith(("{", "[", '"', "'")):
        raise UsageError(f"--config: the value of number {number} is not TOML; check its quotes and brackets")
    return text
