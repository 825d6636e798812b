"""Execute `codex-adapter login`: replace this process with the login of the agent CLI (C16)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from codex_adapter import InvalidRequestError, SpawnError
from codex_adapter.agent import Agent
from codex_adapter.cli.agent_options import (
    add_agent_kind,
    add_program_options,
    examples_for,
    find_agents,
    program_config,
    selection,
)
from codex_adapter.cli.arguments import Parser
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.option_names import OptionNames

__all__ = ["log_in"]

_DESCRIPTION = """\
Log in with {}, the same program that runs use. Put arguments for its login after --.
"""
_EXAMPLES = """\
  codex-adapter login
  codex-adapter login -- status
"""


def log_in(words: Sequence[str]) -> NoReturn:
    """Replace this process with `BINARY login ARGUMENTS`. Raise `UsageError` and `HelpRequested` (C16)."""
    [agent] = find_agents(words)[:1]
    options = _parser(agent).read(words)
    names = OptionNames(agent.options)
    try:
        argv, environ = agent.login_command(program_config(options, agent), options.arguments)
    except SpawnError as error:
        raise UsageError(names.for_fields(str(error.advice)).rstrip(".")) from None
    except InvalidRequestError as error:
        raise UsageError(names.for_fields(str(error))) from None
    try:
        os.execve(argv[0], argv, environ)  # noqa: S606 - the user's own arguments
    except (OSError, ValueError):
        raise UsageError(
            f"{agent.name} cannot be executed. Check it with `codex-adapter doctor{selection(agent)}`"
        ) from None


def _parser(agent: Agent) -> Parser:
    parser = Parser(
        "login", "[OPTIONS] [-- ARGUMENTS]", _DESCRIPTION.format(agent.name), examples_for(agent, "login", _EXAMPLES)
    )
    add_agent_kind(parser)
    add_program_options(parser, agent, home="created")
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENTS", help="arguments for the login of the agent CLI")
    return parser
