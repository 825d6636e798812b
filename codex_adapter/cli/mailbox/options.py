"""The options of `mailbox`, and which of them belong together (C12)."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from codex_adapter.agent import Agent
from codex_adapter.agents import agent_of, kinds
from codex_adapter.cli.agent_options import FOR_COMMANDS, add_backend_options, find_agents
from codex_adapter.cli.arguments import Once, Parser, json_lines_or_pretty, path
from codex_adapter.cli.errors import HelpRequested, UsageError
from codex_adapter.errors import DEFAULT_AGENT

__all__ = ["MailboxParser", "answering_agent", "options_agent"]

_DESCRIPTION = """\
Has a model that no network reaches work on a task in a workspace. What it must know goes out as a text file, an
outbox, which you carry to it; its answer, saved as a .txt file in the inbox, is carried out, and the next outbox says
what came of it, until the model says that the task is done.

  start [TASK]   begin a session, and work on it; TASK is standard input when it is - or left out
  resume [ID]    go on with the session that is not complete, or with this one
  once           carry out the answers that wait, write the next outbox, and return: for scripts
  status         what sessions there are, and what waits in the inbox
  end [ID]       complete a session without the model

exit status: 0 when the task is complete, or what was asked for is done; 75 when `once` found no answer; 2 for a wrong
command line, or a mailbox that cannot be used so; 128+n when we were asked to stop by SIGINT, SIGTERM or SIGHUP, 141
when nobody reads standard output any more: `resume` goes on; as for run when the agent that was to answer failed; 1
when the mailbox cannot be read or written, or the command that was to answer failed; 125 when standard output could
not be written.
"""
_EXAMPLES = """\
  codex-adapter mailbox start --workspace ~/src/project --mailbox ~/mailbox 'Fix the failing test'
  codex-adapter mailbox resume --mailbox ~/mailbox --clipboard
  codex-adapter mailbox start --workspace . --mailbox ~/mailbox --no-wait - < task.txt
  codex-adapter mailbox once --mailbox ~/mailbox
  codex-adapter mailbox start --workspace . --mailbox ~/mailbox --answer codex 'Fix the failing test'
  codex-adapter mailbox start --workspace . --mailbox ~/mailbox --answer 'ssh lab ask-the-model' 'Fix the failing test'
"""
_ACTIONS: Final = ("start", "resume", "once", "status", "end")
_AT_WORK: Final = ("start", "resume", "once")
"""The actions by which work is done."""
_ONLY: Final = {
    "workspace": _AT_WORK,
    "no_wait": ("start",),
    "answer": _AT_WORK,
    "network": _AT_WORK,
    "no_sandbox": _AT_WORK,
    "clipboard": _AT_WORK,
}
_SUBJECTS: Final = ("start", "resume", "end")
"""The actions that take a task or an id."""


class MailboxParser(Parser):
    """Reads the command line of `mailbox`: `action` is its first word."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__("mailbox", "ACTION --mailbox DIR [OPTIONS] [TASK|ID]", _DESCRIPTION, _EXAMPLES)
        add = self.add_argument
        add("subject", nargs="?", metavar="TASK|ID", help="what is to be done, or the id of a session")
        add(
            "--mailbox",
            action=Once,
            type=path,
            metavar="DIR",
            help="where the mailbox is, or is to be: outside of the workspace",
        )
        add("--workspace", action=Once, metavar="DIR", help="the directory to work in; no file operation leaves it")
        add("--no-wait", action="store_true", help="write the first outbox, and return")
        add("--network", action="store_true", help="commands in the sandbox have network")
        add("--no-sandbox", action="store_true", help="run commands without a sandbox")
        add("--clipboard", action="store_true", help="copy each outbox to the clipboard")
        form = "jsonl, or pretty (default: pretty on a terminal, else jsonl)"
        add("--format", action=Once, type=json_lines_or_pretty, metavar="FORMAT", help=form)
        who = "who answers instead of you: the Codex CLI, or a command that reads the outbox and writes the answer"
        add("--answer", action=Once, metavar="codex|CMD", help=who)
        title = f"with --answer {DEFAULT_AGENT} (--timeout for a command, too; --containment for all commands)"
        add_backend_options(self.add_argument_group(title), find_agents(words, "--answer"))

    @override
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """As `Parser.read`, all of it checked that needs nothing but the words."""
        action, *rest = words or [""]
        if action in ("-h", "--help"):
            raise HelpRequested(self.format_help())
        if action not in _ACTIONS:
            raise UsageError(f"after mailbox must come {', '.join(_ACTIONS[:-1])} or {_ACTIONS[-1]}")
        options = super().read(rest)
        options.action = action
        _check_belonging(options)
        _check_values(options)
        return options


def answering_agent(options: argparse.Namespace) -> Agent | None:
    """Return the agent that answers; None where a person or a command does."""
    return agent_of(options.answer) if options.answer is not None and options.answer in kinds() else None


def options_agent(options: argparse.Namespace) -> Agent:
    """Return the agent whose options the command line has: the one that answers, else the default one."""
    return answering_agent(options) or agent_of(DEFAULT_AGENT)


def _check_belonging(options: argparse.Namespace) -> None:
    for name, actions in _ONLY.items():
        if getattr(options, name) not in (None, False) and options.action not in actions:
            raise UsageError(f"{_option(name)} is for {_listed(actions)}; leave it out")
    if options.subject is not None and options.action not in _SUBJECTS:
        raise UsageError(f"{options.action} takes nothing but options; leave out the rest")
    for name in () if answering_agent(options) is not None else _backend_names(options_agent(options)):
        if name in FOR_COMMANDS and options.action in _AT_WORK:
            continue
        if (
            getattr(options, name) is None
            or answering_agent(options) is not None
            or (name == "timeout" and options.answer)
        ):
            continue
        which = "--answer" if name == "timeout" else f"--answer {DEFAULT_AGENT}"
        raise UsageError(f"{_option(name)} is for whoever answers; give {which} with it")
    if options.no_wait and options.answer is not None:
        raise UsageError("--no-wait and --answer are two things; leave out one of them")


def _check_values(options: argparse.Namespace) -> None:
    if not options.mailbox:
        raise UsageError("--mailbox is missing; give the directory of the mailbox")
    if options.action == "start" and not options.workspace:
        raise UsageError("--workspace is missing; give the directory to work in")
    for name in ("mailbox", "workspace"):
        if "\0" in (getattr(options, name) or ""):
            raise UsageError(f"{_option(name)} must be a path")
    if options.workspace == "":
        raise UsageError("--workspace must be a path")
    if options.answer is not None and (not options.answer.strip() or "\0" in options.answer):
        raise UsageError(f"--answer must be {DEFAULT_AGENT}, or a command of your shell")
    if answering_agent(options) is None and options.timeout is not None and not 0 <= options.timeout < math.inf:
        raise UsageError("--timeout must be a finite number of seconds, zero or more")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _listed(actions: Sequence[str]) -> str:
    return actions[0] if len(actions) == 1 else f"{', '.join(actions[:-1])} and {actions[-1]}"


def _backend_names(agent: Agent) -> list[str]:
    """Return the attributes of the options that say how an agent is run."""
    parser: Any = argparse.ArgumentParser(add_help=False)
    add_backend_options(parser, [agent])
    return list(vars(parser.parse_args([])))
