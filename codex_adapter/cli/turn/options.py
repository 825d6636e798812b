"""The options of `turn`, and the request that they make (C13); what `space` has of them, too (C14)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from codex_adapter.agent import Agent
from codex_adapter.agents import agent_of
from codex_adapter.cli.agent_options import (
    add_backend_options,
    agent_kind,
    find_agents,
    read_config,
    read_environment,
)
from codex_adapter.cli.arguments import Once, Parser, json_lines_or_pretty
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
    "resuming_words",
    "space_reference",
    "turn_agent",
    "turn_request",
]

_DESCRIPTION = """\
One turn of a conversation with an agent, in an environment that spaces make up: instructions, skills, hooks, MCP
servers, settings. Its events come as JSON Lines, the last one is complete; --session goes on with the conversation,
with the same spaces or with others.

exit status: 0 when the turn went well; 1 when it failed; 2 for a wrong command line, or spaces that cannot be resolved;
124 after a time limit; 125 for any other failure; 128+n when we were asked to stop by SIGINT, SIGTERM or SIGHUP: then
no event comes any more.
"""
_EXAMPLES = """\
  codex-adapter turn --space space:path:spaces/review 'Review the last commit'
  codex-adapter turn --space space:house@^1 --space space:path:. --session ID 'Now mend what you found'
  codex-adapter turn --target review --target-dir ~/src/project --cwd ~/src/project - < prompt.md
"""
_BY_PATH: Final = "space:path:"
_NOT_EMPTY: Final = frozenset(
    {"space", "target", "target_dir", "session", "model", "cwd", "attach", "asp_home", "directory"}
    | {"mask", "containment", "containment_max"}
)


class TurnParser(Parser):
    """Reads the command line of `turn`."""

    def __init__(self, words: Sequence[str]) -> None:
        agents = find_agents(words, "--harness")
        super().__init__("turn", "(--space REF... | --target NAME) [OPTIONS] [PROMPT]", _DESCRIPTION, _EXAMPLES)
        add = self.add_argument
        add("prompt", nargs="?", metavar="PROMPT", help="what to do; standard input when it is - or left out")
        add("--space", action="append", metavar="REF", help="a space, the last one wins; repeatable")
        add("--target", action=Once, metavar="NAME", help="instead of spaces, a target of asp-targets.toml")
        add("--target-dir", action=Once, metavar="DIR", help="where that file is (default: here)")
        add("--harness", action=Once, type=agent_kind, metavar="ID", help=f"whose agent (default: {DEFAULT_AGENT})")
        add("--session", action=Once, metavar="ID", help="go on with this conversation")
        add("--cwd", action=Once, metavar="DIR", help="where the agent works (default: here)")
        add("--attach", action="append", metavar="FILE", help="a file for the agent, images as images; repeatable")
        add_backend_options(self, agents)
        if "--model" in self._option_string_actions:
            self._option_string_actions["--model"].metavar = "PROVIDER/NAME"
        add_space_options(self)

    @override
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """As `Parser.read`, all of it checked that needs nothing but the words."""
        options = super().read(words)
        check_texts(options, find_agents(words, "--harness"))
        if bool(options.space) == (options.target is not None):
            raise UsageError("give either --space, once or more, or --target")
        if options.target_dir is not None and options.target is None:
            raise UsageError("--target-dir is for --target; leave it out, or give both")
        return options


def add_space_options(parser: Parser) -> None:
    """Add what all commands with spaces take."""
    add = parser.add_argument
    add("--asp-home", action=Once, metavar="DIR", help="registry and state of spaces (default: $ASP_HOME, ~/.asp)")
    accept = "use spaces and targets that an agent may have changed, as they are now"
    add("--accept-changed-spaces", action="store_true", help=accept)
    form = "jsonl, or pretty (default: pretty on a terminal, else jsonl)"
    add("--format", action=Once, type=json_lines_or_pretty, metavar="FORMAT", help=form)


def check_texts(options: argparse.Namespace, agents: Sequence[Agent] = ()) -> None:
    """Check that each value is text, and no path is empty. Raises `UsageError`."""
    not_empty = _NOT_EMPTY | {option.attribute for agent in agents for option in agent.options if option.place}
    for name, value in vars(options).items():
        option = f"--{name.replace('_', '-')}" if name not in ("prompt", "directory") else f"the {name}"
        for text in value if isinstance(value, list) else [value] if isinstance(value, str) else ():
            if not _is_text(text):
                raise UsageError(f"{option} must be UTF-8, without NUL")
            if not text and name in not_empty:
                raise UsageError(f"{option} must not be empty")


def asp_home(options: argparse.Namespace) -> str:
    """Where registry and state of spaces are: by the option, the environment, or in the user's home.

    Raises `UsageError`.
    """
    place: str | None = options.asp_home or os.environ.get("ASP_HOME") or None
    if place is None:
        try:
            home = Path.home()
        except RuntimeError:
            home = Path()
        if not home.is_absolute() or os.environ.get("HOME") == "":
            raise UsageError("--asp-home is missing, and you have no home; give the directory")
        place = str(home / ".asp")
    elif place.startswith("~"):
        raise UsageError(
            "--asp-home, or ASP_HOME, begins with ~, which no shell has replaced; write it in full, or ./~"
        )
    if not _is_text(place):
        raise UsageError("--asp-home must be UTF-8; give another directory than that of your environment")
    return _absolute(place)


def turn_agent(options: argparse.Namespace) -> Agent:
    """Return the agent of the harness that the options name."""
    return agent_of(options.harness or DEFAULT_AGENT)


def backend_config(options: argparse.Namespace, agent: Agent) -> RunConfig:
    """Return how the agent is run; its home is absolute, since a link elsewhere leads to it. Raises `UsageError`."""
    homes: dict[str, Any] = {}
    for option in agent.options:
        if option.place == "home" and option.field is not None:
            home = getattr(options, option.attribute)
            homes[option.field] = None if home is None else _absolute(home)
            named = homes[option.field] or os.environ.get(option.variable or "")
            if named and not Path(named).is_dir():
                # Without its login, the agent would be turned away by the service, or try for minutes to reach it.
                either = f"{option.name}, or {option.variable} without it,"
                raise UsageError(f"{either} is no directory; make it, or name another one")
    return read_config(options, agent, "turn", default_timeout=options.timeout, model=None, **homes)


def turn_request(options: argparse.Namespace, agent: Agent, prompt: str, run_id: str) -> RunTurnRequest:
    """Return the request of the options; `run_id` names the turn in its events. Raises `UsageError`."""
    env = read_environment(options.env or ())
    if not all(name and _is_text(name + value) for name, value in env.items()):
        raise UsageError("--env must be NAME=VALUE or NAME, in UTF-8")
    for name in agent.conversation_variables:
        if name in env:
            home = " and ".join(option.name for option in agent.options if option.place == "home")
            raise UsageError(f"--env: {name} is the conversation's own; {home} says whose login is used")
    cwd = _absolute("." if options.cwd is None else options.cwd)
    if not Path(cwd).is_dir():
        raise UsageError("--cwd: there is no such directory; make it first")
    return RunTurnRequest(
        external_session_id=run_id if options.session is None else options.session,
        external_run_id=run_id,
        asp_home=asp_home(options),
        spec=_spec(options),
        harness=agent.kind,
        cwd=cwd,
        prompt=prompt,
        model=options.model,
        harness_session_id=options.session,
        env=env,
        attachments=tuple(map(_absolute, options.attach or ())),
        accept_changed_spaces=options.accept_changed_spaces,
    )


def resuming_words(session: str, options: argparse.Namespace, agent: Agent, request: RunTurnRequest) -> list[str]:
    """Return the command line that resumes from anywhere, with all that holds for several turns and is not secret."""
    words = ["codex-adapter", "turn", "--session", session]
    target = request.spec.target
    if target is not None:
        words += ["--target", target.target_name, "--target-dir", target.target_dir]
    words += [word for reference in request.spec.spaces or () for word in ("--space", reference)]
    words += ["--asp-home", request.asp_home, "--cwd", request.cwd]
    words += [] if options.harness is None else ["--harness", agent.kind]
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


def _spec(options: argparse.Namespace) -> SpaceSpec:
    if options.target is not None:
        directory = _absolute("." if options.target_dir is None else options.target_dir)
        return SpaceSpec(target=Target(target_name=options.target, target_dir=directory))
    return SpaceSpec(spaces=tuple(map(space_reference, options.space)))


def space_reference(reference: str) -> str:
    """A reference by a path is one from here on the command line; others are as they are given (Z3)."""
    path = reference.removeprefix(_BY_PATH)
    return reference if path in ("", reference) else _BY_PATH + _absolute(path)


def _absolute(path: str) -> str:
    """From here on; a link stays as it is. Raises `UsageError`."""
    try:
        absolute = str(Path(path).absolute())
    except OSError:
        raise UsageError("the directory that you are in is no more; go to another one") from None
    if not _is_text(absolute):
        raise UsageError("the directory that you are in has a path that is not UTF-8; go to another one")
    return absolute


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and "\0" not in value and bool(value.encode() or True)
    except UnicodeError:
        return False
