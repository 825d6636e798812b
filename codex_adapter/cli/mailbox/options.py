"""Parse the options of `mailbox`, and check which of them fit together (C12)."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from codex_adapter.agent import Agent
from codex_adapter.agents import agent_of, kinds
from codex_adapter.cli.agent_options import FOR_COMMANDS, add_backend_options, find_agents
from codex_adapter.cli.arguments import Once, Parser, alternatives, json_lines_or_pretty, path
from codex_adapter.cli.errors import HelpRequested, UsageError
from codex_adapter.errors import DEFAULT_AGENT

__all__ = ["MailboxParser", "answering_agent", "options_agent"]

_DESCRIPTION = """\
Let a model without a network connection work on a task in a workspace, through files:

  1. The adapter writes an outbox, a text file with everything that the model needs.
  2. You copy its text to the model, and save the answer as a .txt file in the inbox.
  3. The adapter executes the commands of the answer, and writes the results to the next outbox.

This repeats until the model reports that the task is done.

  start [TASK]   Start a session and work on it. TASK is standard input if it is - or missing.
  resume [ID]    Continue a session; without ID, the session that is not complete.
  once           Execute the waiting answers, write the next outbox and return. For scripts.
  status         Show the sessions, and the files that wait in the inbox.
  end [ID]       Complete a session without the model.

exit status:
  0              The task is complete, or the action is done.
  1              The mailbox cannot be read or written, or the command of --answer failed.
  2              The command line is wrong, or the state of the mailbox does not allow the action.
  75             `once` found no answer.
  125            Standard output could not be written.
  128+n          Signal n (SIGINT, SIGTERM or SIGHUP) stopped the command, or the reader of standard output left (141).
                 To continue, use `resume`.
  as for `run`   The agent of --answer failed.
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
"""The actions that execute commands of answers."""
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
    """The parser of the command line of `mailbox`: `action` is its first word."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__("mailbox", "ACTION --mailbox DIR [OPTIONS] [TASK|ID]", _DESCRIPTION, _EXAMPLES)
        add = self.add_argument
        add("subject", nargs="?", metavar="TASK|ID", help="the task, or the id of a session")
        mailbox = "the directory of the mailbox, outside the workspace; `start` creates it"
        add("--mailbox", action=Once, type=path, metavar="DIR", help=mailbox)
        add("--workspace", action=Once, metavar="DIR", help="the directory to work in; file operations stay inside it")
        add("--no-wait", action="store_true", help="write the first outbox, and return")
        add("--network", action="store_true", help="allow commands in the sandbox to use the network")
        add("--no-sandbox", action="store_true", help="run commands without a sandbox")
        add("--clipboard", action="store_true", help="copy each outbox to the clipboard")
        form = "jsonl, or pretty (default: pretty on a terminal, else jsonl)"
        add("--format", action=Once, type=json_lines_or_pretty, metavar="FORMAT", help=form)
        answer = (
            "let an agent, by its kind, or a shell command answer; a command reads the outbox and prints the answer"
        )
        add("--answer", action=Once, metavar="KIND|CMD", help=answer)
        title = "an agent of --answer (--timeout also applies to a command, --containment to all commands)"
        add_backend_options(self.add_argument_group(title), find_agents(words, "--answer"))

    @override
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the options like `Parser.read`, with all checks that need only the command line."""
        action, *rest = words or [""]
        if action in ("-h", "--help"):
            raise HelpRequested(self.format_help())
        if action not in _ACTIONS:
            raise UsageError(f"The first argument must be {alternatives(_ACTIONS)}")
        options = super().read(rest)
        options.action = action
        _check_combinations(options)
        _check_values(options)
        return options


def answering_agent(options: argparse.Namespace) -> Agent | None:
    """Return the agent that answers; None if a person or a command answers."""
    return agent_of(options.answer) if options.answer is not None and options.answer in kinds() else None


def options_agent(options: argparse.Namespace) -> Agent:
    """Return the agent whose options the command line has: the agent that answers, else the default agent."""
    return answering_agent(options) or agent_of(DEFAULT_AGENT)


def _check_combinations(options: argparse.Namespace) -> None:
    for name, actions in _ONLY.items():
        if getattr(options, name) not in (None, False) and options.action not in actions:
            raise UsageError(f"{_option(name)} works only with {_join_words(actions)}. Remove it")
    if options.subject is not None and options.action not in _SUBJECTS:
        raise UsageError(f"{options.action} takes only options. Remove the other arguments")
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
        raise UsageError(f"{_option(name)} needs {which}. Specify both, or remove it")
    if options.no_wait and options.answer is not None:
        raise UsageError("--no-wait and --answer exclude each other. Use one of them")


def _check_values(options: argparse.Namespace) -> None:
    if not options.mailbox:
        raise UsageError("--mailbox is missing. Specify the directory of the mailbox")
    if options.action == "start" and not options.workspace:
        raise UsageError("--workspace is missing. Specify the directory to work in")
    for name in ("mailbox", "workspace"):
        if "\0" in (getattr(options, name) or ""):
            raise UsageError(f"{_option(name)} must be a path")
    if options.workspace == "":
        raise UsageError("--workspace must be a path")
    if options.answer is not None and (not options.answer.strip() or "\0" in options.answer):
        raise UsageError(f"--answer must be the kind of an agent, such as {DEFAULT_AGENT}, or a shell command")
    if answering_agent(options) is None and options.timeout is not None and not 0 <= options.timeout < math.inf:
        raise UsageError("--timeout must be a finite number of seconds, zero or more")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _join_words(actions: Sequence[str]) -> str:
    return actions[0] if len(actions) == 1 else f"{', '.join(actions[:-1])} and {actions[-1]}"


def _backend_names(agent: Agent) -> list[str]:
    """Return the attributes of the options for the run of an agent."""
    parser: Any = argparse.ArgumentParser(add_help=False)
    add_backend_options(parser, [agent])
    return list(vars(parser.parse_args([])))
