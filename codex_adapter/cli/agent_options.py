"""Add the options of agents to a command line, and read them into a configuration (C6, C9)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from codex_adapter import InvalidRequestError
from codex_adapter.agent import Agent, Purpose
from codex_adapter.agents import agent_of, kinds
from codex_adapter.cli.arguments import Once, alternatives, path, seconds
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
    "examples_for",
    "find_agents",
    "option_values",
    "program_config",
    "read_config",
    "read_environment",
    "run_config",
    "selection",
    "the_agent",
]

FOR_COMMANDS: Final = frozenset({"containment", "containment_max"})
"""The attributes of the options that also set the containment of commands of `operations` and `mailbox` (N3)."""


def find_agents(words: Sequence[str], name: str = "--agent") -> list[Agent]:
    """Return the agents that a command line names by an option, or the default agent.

    Their options are added to the command line. The parser refuses an unknown kind later.
    """
    known = [kind for kind in dict.fromkeys(option_values(words, name)) if kind in kinds()]
    return [agent_of(kind) for kind in known or [DEFAULT_AGENT]]


def option_values(words: Sequence[str], name: str) -> list[str]:
    """Return the values of an option in a command line that is not parsed yet."""
    values: list[str] = []
    for number, word in enumerate(words):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        if option == name:
            values.append(value if equals else "".join(words[number + 1 : number + 2]))
    return values


def selection(agent: Agent) -> str:
    """Return the words that select an agent on a command line, with a space before them; empty for the default."""
    return "" if agent.kind == DEFAULT_AGENT else f" --agent {agent.kind}"


def examples_for(agent: Agent, command: str, examples: str) -> str:
    """Return the examples of a command for an agent: `examples` for all agents, then its own (C23)."""
    general = examples.replace(f"codex-adapter {command}", f"codex-adapter {command}{selection(agent)}")
    return general + "".join(f"  {example}\n" for example in agent.examples.get(command, ()))


def the_agent(options: argparse.Namespace) -> Agent:
    """Return the agent that parsed options name by `--agent`, or the default agent."""
    return agent_of(options.agent or DEFAULT_AGENT)


def agent_kind(text: str) -> str:
    """Return the kind of an installed agent; a type for argparse."""
    if text not in kinds():
        raise argparse.ArgumentTypeError(f"must be {alternatives(kinds())}")
    return text


def add_agent_kind(parser: Any) -> None:
    """Add `--agent` to a parser or to an argument group."""
    agent = f"the kind of agent (default: {DEFAULT_AGENT})"
    parser.add_argument("--agent", action=Once, type=agent_kind, metavar="KIND", help=agent)


def add_backend_options(parser: Any, agents: Sequence[Agent]) -> None:
    """Add the options of a run, or of all runs of a daemon: time limits, environment, containment."""
    add = parser.add_argument
    add("--timeout", action=Once, type=seconds, metavar="SECONDS", help="end a run after this time (default: never)")
    idle = "end a run after this time without progress (default: 1800 without --timeout; 0: never)"
    add("--idle-timeout", action=Once, type=seconds, metavar="SECONDS", help=idle)
    tool = "end a run when one tool call takes longer (default: never)"
    add("--tool-timeout", action=Once, type=seconds, metavar="SECONDS", help=tool)
    add("--env", action="append", metavar="NAME[=VALUE]", help="set a variable for the agent, or copy it; repeatable")
    add("--mask", action="append", metavar="NAME", help="mask the value of this variable in all output; repeatable")
    add_agent_options(parser, agents, "run")
    levels = ", ".join(LEVELS)
    weakest = f"the weakest level that is acceptable: {levels} (default: any)"
    add("--containment", action=Once, metavar="LEVEL", help=weakest)
    strongest = "the strongest level to try; guard avoids user namespaces"
    add("--containment-max", action=Once, metavar="LEVEL", help=strongest)


def add_agent_options(parser: Any, agents: Sequence[Agent], group: Group) -> None:
    """Add the agents' own options of a group. An option of several agents is added once, as the first defines it."""
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
    """Add the options for the program and the home of an agent. A home to create must not begin with `~`."""
    for option in agent.options:
        if option.place == "program" or (option.place == "home" and home != "none"):
            kind = path if option.place == "home" and home == "created" else None
            parser.add_argument(*option.names, action=Once, type=kind, metavar=option.metavar, help=option.help)


def convert_words(option: Option, words: Any) -> Any:
    """Return the value of an option's words, or its flag. Raise `UsageError`, which never repeats a word."""
    try:
        return option.convert(words) if option.flag is None else option.flag
    except ValueError as error:
        raise UsageError(f"{option.name}: {error}") from None


def command_containment(options: argparse.Namespace, agent: Agent) -> Containment:
    """Return the containment of commands, at the levels that options select. Raise `UsageError` (N3)."""
    levels = {name: getattr(options, name) for name in FOR_COMMANDS}
    return Containment.of(_check_config(agent.config_type(**levels), agent, "run"))


def read_config(options: argparse.Namespace, agent: Agent, purpose: Purpose = "run", **fields: Any) -> RunConfig:
    """Return the checked configuration of the options, for any number of runs. Raise `UsageError` (Q5, Q7).

    `fields` are more fields of the configuration; they win over options.
    """
    values = _limits(options) | dict(_fields(options, agent.options)) | fields
    return _check_config(agent.config_type(**values), agent, purpose)


def _check_config(config: RunConfig, agent: Agent, purpose: Purpose) -> RunConfig:
    try:
        agent.check_config(config, purpose)
    except InvalidRequestError as error:
        raise UsageError(OptionNames(agent.options).for_fields(str(error))) from None
    return config


def program_config(options: argparse.Namespace, agent: Agent) -> RunConfig:
    """Return an unchecked configuration with only the agent's program and home."""
    return agent.config_type(**dict(_fields(options, [option for option in agent.options if option.place])))


def run_config(options: argparse.Namespace, agent: Agent) -> RunConfig:
    """Return the unchecked configuration of one run, without the fields that its request has too."""
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
    """Return the variables of the `--env` options. Raise `UsageError`."""
    env: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        name, equals, value = entry.partition("=")
        if name in env:
            raise UsageError(f"--env: number {number} sets a variable again. Set each variable once")
        if not equals:
            copied = os.environ.get(name)
            if copied is None:
                raise UsageError(f"--env: number {number} is not set here and cannot be copied. Specify NAME=VALUE")
            value = copied
        env[name] = value
    return env
