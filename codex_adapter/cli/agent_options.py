"""Add the options of agents to a command line, and read them into a configuration (C6, C9)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from codex_adapter import InvalidRequestError
from codex_adapter.agent import Agent, Purpose
from codex_adapter.agents import agent_of, kinds
from codex_adapter.cli.arguments import Once, path, seconds
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.errors import DEFAULT_AGENT
from codex_adapter.options import Group, Option
from codex_adapter.request import RunConfig
from codex_adapter.runtime.containment.containment import LEVELS, Containment

__all__ = [
    "FOR_COMMANDS",
    "add_agent_kind",
    "add_agent_options",
    "add_backend_options",
    "add_program_options",
    "agent_kind",
    "command_containment",
    "convert_words",
    "find_agents",
    "program_config",
    "read_config",
    "read_environment",
    "run_config",
    "the_agent",
]

FOR_COMMANDS: Final = frozenset({"containment", "containment_max"})
"""The attributes of the options that also say how commands of `operations` and `mailbox` are contained (N3)."""


def find_agents(words: Sequence[str], name: str = "--agent") -> list[Agent]:
    """Return the agents that a command line names by an option, for the options that they add to it.

    A kind that is not known is left for the parser to refuse; the default agent stands in where none is named.
    """
    named: list[str] = []
    for number, word in enumerate(words):
        if word == "--":
            break
        option, equals, kind = word.partition("=")
        if option == name:
            named.append(kind if equals else "".join(words[number + 1 : number + 2]))
    known = [kind for kind in dict.fromkeys(named) if kind in kinds()]
    return [agent_of(kind) for kind in known or [DEFAULT_AGENT]]


def the_agent(options: argparse.Namespace) -> Agent:
    """Return the agent that parsed options name by `--agent`, else the default one."""
    return agent_of(options.agent or DEFAULT_AGENT)


def agent_kind(text: str) -> str:
    """Return the kind of an agent that is installed, as a type for argparse."""
    if text not in kinds():
        raise argparse.ArgumentTypeError(f"must be {' or '.join(kinds())}")
    return text


def add_agent_kind(parser: Any) -> None:
    """Add `--agent` to a parser, or to a group of one."""
    agent = f"the kind of agent (default: {DEFAULT_AGENT})"
    parser.add_argument("--agent", action=Once, type=agent_kind, metavar="KIND", help=agent)


def add_backend_options(parser: Any, agents: Sequence[Agent]) -> None:
    """Add the options that say how agents are run, of one run or of all runs of a daemon."""
    add = parser.add_argument
    add("--timeout", action=Once, type=seconds, metavar="SECONDS", help="end a run after this time (default: never)")
    idle = "end it after this time without progress (default: 1800 where there is no --timeout; 0: never)"
    add("--idle-timeout", action=Once, type=seconds, metavar="SECONDS", help=idle)
    add("--tool-timeout", action=Once, type=seconds, metavar="SECONDS", help="end it when one tool call takes longer")
    add("--env", action="append", metavar="NAME[=VALUE]", help="set a variable for the agent, or copy it; repeatable")
    add("--mask", action="append", metavar="NAME", help="a variable whose value never appears; repeatable")
    add_agent_options(parser, agents, "run")
    levels = ", ".join(LEVELS)
    add("--containment", action=Once, metavar="LEVEL", help=f"be content with no weaker one: {levels} (default: any)")
    add("--containment-max", action=Once, metavar="LEVEL", help="try no stronger one; guard: no user namespace")


def add_agent_options(parser: Any, agents: Sequence[Agent], group: Group) -> None:
    """Add the agents' own options of a group; one that several agents have is added once, as the first has it."""
    added: set[str] = set()
    for option in (option for agent in agents for option in agent.options if option.group == group):
        if not option.names or option.name in added:
            continue
        added.add(option.name)
        if option.flag is not None:
            parser.add_argument(*option.names, action="store_true", default=None, help=option.help)
        else:
            action: Any = "append" if option.takes == "words" else Once
            parser.add_argument(*option.names, action=action, metavar=option.metavar, help=option.help)


def add_program_options(parser: Any, agent: Agent, *, home: Literal["used", "created", "none"] = "used") -> None:
    """Add the options that say which program and which home an agent has; a home to create must be written in full."""
    for option in agent.options:
        if option.place == "program" or (option.place == "home" and home != "none"):
            kind = path if option.place == "home" and home == "created" else None
            parser.add_argument(*option.names, action=Once, type=kind, metavar=option.metavar, help=option.help)


def convert_words(option: Option, words: Any) -> Any:
    """Return the value that an option's words make, or its flag. Raises `UsageError`, which repeats none of them."""
    try:
        return option.convert(words) if option.flag is None else option.flag
    except ValueError as error:
        raise UsageError(f"{option.name}: {error}") from None


def command_containment(options: argparse.Namespace, agent: Agent) -> Containment:
    """Return what contains commands where the options of an agent choose the levels. Raises `UsageError` (N3)."""
    levels = {name: getattr(options, name) for name in FOR_COMMANDS}
    return Containment.of(_checked(agent.config_type(**levels), agent, "run"))


def read_config(options: argparse.Namespace, agent: Agent, purpose: Purpose = "run", **fields: Any) -> RunConfig:
    """Return the checked configuration that the options make for any number of runs (Q5, Q7).

    `fields` are other fields of it, or replace those of options. Raises `UsageError`.
    """
    chosen = _limits(options) | dict(_fields(options, agent.options)) | fields
    return _checked(agent.config_type(**chosen), agent, purpose)


def _checked(config: RunConfig, agent: Agent, purpose: Purpose) -> RunConfig:
    try:
        agent.check_config(config, purpose)
    except InvalidRequestError as error:
        raise UsageError(OptionNames(agent.options).for_fields(str(error))) from None
    return config


def program_config(options: argparse.Namespace, agent: Agent) -> RunConfig:
    """Return a configuration of the agent's program and home alone, unchecked."""
    return agent.config_type(**dict(_fields(options, [option for option in agent.options if option.place])))


def run_config(options: argparse.Namespace, agent: Agent) -> RunConfig:
    """Return the configuration of one run, unchecked, without what its request can have as well."""
    own = [option for option in agent.options if option.key is None]
    return agent.config_type(**_limits(options), **dict(_fields(options, own)))


def _limits(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "idle_timeout": options.idle_timeout,
        "tool_timeout": options.tool_timeout,
        "mask": tuple(options.mask or ()),
        "containment": options.containment,
        "containment_max": options.containment_max,
    }


def _fields(options: argparse.Namespace, agent_options: Sequence[Option]) -> Iterator[tuple[str, Any]]:
    for option in agent_options:
        words = getattr(options, option.attribute, None)
        if option.field is not None and words is not None:
            yield option.field, convert_words(option, words)


def read_environment(entries: Sequence[str]) -> dict[str, str]:
    """Return the variables of the `--env` options. Raises `UsageError`."""
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
