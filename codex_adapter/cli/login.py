"""`codex-adapter login`: log in with the Codex CLI that runs use, in place of this process (C16)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from codex_adapter import CodexConfig, SpawnError
from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.cli.arguments import Once, Parser, in_our_words, place
from codex_adapter.cli.errors import UsageError

__all__ = ["log_in"]

_DESCRIPTION = """\
Runs `login` of the Codex CLI that runs use, with its own questions and answers. Arguments for the CLI stand after --.
"""
_EXAMPLES = """\
  codex-adapter login
  codex-adapter login -- status
  printenv OPENAI_API_KEY | codex-adapter login -- --with-api-key
"""


def log_in(words: Sequence[str]) -> NoReturn:
    """Become `BINARY login ARGUMENTS`. Raises `UsageError`, and `HelpRequested` (C16)."""
    options = _parser().read(words)
    config = CodexConfig(binary=options.codex, codex_home=options.codex_home)
    environ = merge_environment(os.environ, config, {})
    try:
        binary = find_binary(config, environ)
    except SpawnError as error:
        raise UsageError(in_our_words(str(error.advice)).rstrip(".")) from None
    home = environ.get("CODEX_HOME")
    try:
        if home:
            Path(home).mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError):
        raise UsageError("--codex-home, or CODEX_HOME without it, cannot be made; give another directory") from None
    try:
        os.execve(binary.path, [binary.path, "login", *options.arguments], environ)  # noqa: S606 - its own words
    except (OSError, ValueError):
        raise UsageError("the Codex CLI cannot be executed. Check it with `codex-adapter doctor`") from None


def _parser() -> Parser:
    parser = Parser("login", "[OPTIONS] [-- ARGUMENTS]", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("--codex", action=Once, metavar="BINARY", help="the Codex CLI (default: $CODEX_BINARY, the wheel, PATH)")
    add(
        "--codex-home", action=Once, type=place, metavar="DIR", help="sets CODEX_HOME, and makes it (default: as it is)"
    )
    add("arguments", nargs="*", metavar="ARGUMENTS", help="arguments for `codex login`")
    return parser
