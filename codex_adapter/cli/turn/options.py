"""Parse the options of `turn` into a request, and the options that `space` shares with it (C13, C14)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from codex_adapter.agent import Agent
from codex_adapter.agents import agent_of, agent_of_harness, harness_ids
from codex_adapter.cli.agent_options import (
    add_backend_options,
    option_values,
    read_config,
    read_environment,
)
from codex_adapter.cli.arguments import Once, Parser, alternatives, json_lines_or_pretty
from codex_adapter.cli.errors import UsageError
from codex_adapter.errors import DEFAULT_AGENT
from codex_adapter.protocols.turns import RunTurnRequest, SpaceSpec, Target
from codex_adapter.request import RunConfig

__all__ = [
    "TurnParser",
    "add_space_options",
    "asp_home",
    "backend_config",
    "check_texts",
    "resume_command",
    "space_reference",
    "turn_agent",
    "turn_request",
]

_DESCRIPTION = """\
Run one turn of a conversation with {}, in an environment composed of spaces: instructions, skills, hooks,
MCP servers, settings. Events are written as JSON Lines. The last event has the type `complete`. To continue the
conversation, with the same or other spaces, use --session.

exit status:
  0              The turn succeeded.
  1              The turn failed, or its model, session or an attachment was refused.
  2              The command line is wrong, or the spaces cannot be resolved.
  124            A time limit passed.
  125            Another failure.
  128+n          Signal n (SIGINT, SIGTERM or SIGHUP) stopped the command. No more events are written.
"""
_EXAMPLES = """\
  codex-adapter turn --space space:path:spaces/review 'Review the last commit'
  codex-adapter turn --space space:house@^1 --space space:path:. --session ID 'Now fix what you found'
  codex-adapter turn --target review --target-dir ~/src/project --cwd ~/src/project - < prompt.md
"""
_DEFAULT_HARNESS: Final = str(agent_of(DEFAULT_AGENT).harness_id)
_BY_PATH: Final = "space:path:"
_NOT_EMPTY: Final = frozenset(
    {"space", "target", "target_dir", "session", "model", "cwd", "attach", "asp_home", "directory"}
    | {"mask", "containment", "containment_max"}
)


class TurnParser(Parser):
    """The parser of the command line of `turn`."""

    def __init__(self, words: Sequence[str]) -> None:
        agents = _find_agents(words)
        description = _DESCRIPTION.format(agents[0].name)
        super().__init__("turn", "(--space REF... | --target NAME) [OPTIONS] [PROMPT]", description, _EXAMPLES)
        add = self.add_argument
        add("prompt", nargs="?", metavar="PROMPT", help="the task of the agent; standard input if it is - or missing")
        add("--space", action="append", metavar="REF", help="a space; later spaces override earlier ones; repeatable")
        add("--target", action=Once, metavar="NAME", help="a target in asp-targets.toml, instead of spaces")
        add("--target-dir", action=Once, metavar="DIR", help="the directory of asp-targets.toml (default: here)")
        add(
            "--harness",
            action=Once,
            type=_harness_id,
            metavar="ID",
            help=f"{', '.join(harness_ids())} (default: {_DEFAULT_HARNESS})",
        )
        add("--session", action=Once, metavar="ID", help="the conversation to continue")
        add("--cwd", action=Once, metavar="DIR", help="the working directory of the agent (default: here)")
        add("--attach", action="append", metavar="FILE", help="a file for the agent; repeatable")
        add_backend_options(self, agents)
        if "--model" in self._option_string_actions:
            self._option_string_actions["--model"].metavar = "PROVIDER/NAME"
        add_space_options(self)

    @override
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the options like `Parser.read`, with all checks that need only the command line."""
        options = super().read(words)
        check_texts(options, _find_agents(words))
        if bool(options.space) == (options.target is not None):
            raise UsageError("Specify either --space, once or more, or --target")
        if options.target_dir is not None and options.target is None:
            raise UsageError("--target-dir needs --target. Specify both, or remove it")
        return options


def add_space_options(parser: Parser) -> None:
    """Add the options of all commands with spaces."""
    add = parser.add_argument
    home = "the directory of the registry and the state of spaces (default: $ASP_HOME, ~/.asp)"
    add("--asp-home", action=Once, metavar="DIR", help=home)
    accept = "accept the current content of spaces and targets that an agent may have changed"
    add("--accept-changed-spaces", action="store_true", help=accept)
    form = "jsonl, or pretty (default: pretty on a terminal, else jsonl)"
    add("--format", action=Once, type=json_lines_or_pretty, metavar="FORMAT", help=form)


def check_texts(options: argparse.Namespace, agents: Sequence[Agent] = ()) -> None:
    """Check that each value is text, and that no path is empty. Raise `UsageError`."""
    not_empty = _NOT_EMPTY | {option.attribute for agent in agents for option in agent.options if option.place}
    for name, value in vars(options).items():
        option = f"--{name.replace('_', '-')}" if name not in ("prompt", "directory") else f"the {name}"
        for text in value if isinstance(value, list) else [value] if isinstance(value, str) else ():
            if not _is_text(text):
                raise UsageError(f"{option} must be UTF-8, without NUL")
            if not text and name in not_empty:
                raise UsageError(f"{option} must not be empty")


def asp_home(options: argparse.Namespace) -> str:
    """Return the directory of the registry and state of spaces: the option, ASP_HOME, or `.asp` in the user's home.

    Raise `UsageError`.
    """
    place: str | None = options.asp_home or os.environ.get("ASP_HOME") or None
    if place is None:
        try:
            home = Path.home()
        except RuntimeError:
            home = Path()
        if not home.is_absolute() or os.environ.get("HOME") == "":
            raise UsageError("--asp-home is missing, and HOME is not set. Specify the directory")
        place = str(home / ".asp")
    elif place.startswith("~"):
        raise UsageError(
            "--asp-home, or ASP_HOME, begins with ~, which the shell did not expand. Use an absolute path, or ./~"
        )
    if not _is_text(place):
        raise UsageError("--asp-home must be UTF-8. ASP_HOME or HOME is not: specify another directory")
    return _absolute(place)


def turn_agent(options: argparse.Namespace) -> Agent:
    """Return the agent of the harness that the options name."""
    return agent_of_harness(options.harness or _DEFAULT_HARNESS)


def backend_config(options: argparse.Namespace, agent: Agent) -> RunConfig:
    """Return the configuration of the agent. Its home is absolute, because links lead to it. Raise `UsageError`."""
    homes: dict[str, Any] = {}
    for option in agent.options:
        if option.place == "home" and option.field is not None:
            home = getattr(options, option.attribute)
            homes[option.field] = None if home is None else _absolute(home)
            named = homes[option.field] or os.environ.get(option.variable or "")
            if named and not Path(named).is_dir():
                # Without its login, the service would refuse the agent, or the agent would retry for minutes.
                source = option.name if homes[option.field] else str(option.variable)
                raise UsageError(f"{source} is not a directory. Create it, or specify another directory")
    return read_config(options, agent, "turn", default_timeout=options.timeout, model=None, **homes)


def turn_request(options: argparse.Namespace, agent: Agent, prompt: str, run_id: str) -> RunTurnRequest:
    """Return the request of the options; `run_id` identifies the turn in its events. Raise `UsageError`."""
    env = read_environment(options.env or ())
    if not all(name and _is_text(name + value) for name, value in env.items()):
        raise UsageError("--env must be NAME=VALUE or NAME, in UTF-8")
    for name in agent.conversation_variables:
        if name in env:
            home = " and ".join(option.name for option in agent.options if option.place == "home")
            raise UsageError(f"--env: {name} is reserved for the conversation. To select a login, use {home}")
    cwd = _absolute("." if options.cwd is None else options.cwd)
    if not Path(cwd).is_dir():
        raise UsageError("--cwd: the directory does not exist. Create it first")
    return RunTurnRequest(
        external_session_id=run_id if options.session is None else options.session,
        external_run_id=run_id,
        asp_home=asp_home(options),
        spec=_spec(options),
        harness=options.harness or _DEFAULT_HARNESS,
        cwd=cwd,
        prompt=prompt,
        model=options.model,
        harness_session_id=options.session,
        env=env,
        attachments=tuple(map(_absolute, options.attach or ())),
        accept_changed_spaces=options.accept_changed_spaces,
    )


def resume_command(session: str, options: argparse.Namespace, agent: Agent, request: RunTurnRequest) -> list[str]:
    """Return the command line that resumes a session from any directory.

    It has all options that apply to later turns and are not secret.
    """
    words = ["codex-adapter", "turn", "--session", session]
    target = request.spec.target
    if target is not None:
        words += ["--target", target.target_name, "--target-dir", target.target_dir]
    words += [word for reference in request.spec.spaces or () for word in ("--space", reference)]
    words += ["--asp-home", request.asp_home, "--cwd", request.cwd]
    words += [] if options.harness is None else ["--harness", options.harness]
    for option in (option for option in agent.options if option.place is not None):
        place: str | None = getattr(options, option.attribute)
        if place is not None:
            words += [option.name, _absolute(place) if option.place == "home" or "/" in place else place]
    for name in ("timeout", "idle_timeout", "tool_timeout"):
        limit: float | None = getattr(options, name)
        words += [] if limit is None else [f"--{name.replace('_', '-')}", f"{limit:.15g}"]
    words += [word for name in options.mask or () for word in ("--mask", name)]
    for name in ("containment", "containment_max"):
        level: str | None = getattr(options, name)
        words += [] if level is None else [f"--{name.replace('_', '-')}", level]
    return words


def _find_agents(words: Sequence[str]) -> list[Agent]:
    """Return the agents of the harnesses that a command line names, or of the default harness."""
    known = [name for name in dict.fromkeys(option_values(words, "--harness")) if name in harness_ids()]
    return [agent_of_harness(name) for name in known or [_DEFAULT_HARNESS]]


def _harness_id(text: str) -> str:
    """Return the id of a harness; a type for argparse."""
    if text not in harness_ids():
        raise argparse.ArgumentTypeError(f"must be {alternatives(harness_ids())}")
    return text


def _spec(options: argparse.Namespace) -> SpaceSpec:
    if options.target is not None:
        directory = _absolute("." if options.target_dir is None else options.target_dir)
        return SpaceSpec(target=Target(target_name=options.target, target_dir=directory))
    return SpaceSpec(spaces=tuple(map(space_reference, options.space)))


def space_reference(reference: str) -> str:
    """Return a reference with an absolute path; a reference without a path is returned unchanged (Z3)."""
    path = reference.removeprefix(_BY_PATH)
    return reference if path in ("", reference) else _BY_PATH + _absolute(path)


def _absolute(path: str) -> str:
    """Return a path relative to the current directory as an absolute path, with links unresolved.

    Raise `UsageError`.
    """
    try:
        absolute = str(Path(path).absolute())
    except OSError:
        raise UsageError("The current directory no longer exists. Change to another directory") from None
    if not _is_text(absolute):
        raise UsageError("The path of the current directory is not UTF-8. Change to another directory")
    return absolute


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and "\0" not in value and bool(value.encode() or True)
    except UnicodeError:
        return False
