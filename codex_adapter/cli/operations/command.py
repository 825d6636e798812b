"""Execute `codex-adapter operations`: the operations of an agent in a workspace (C11)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from codex_adapter.cli.agent_options import command_containment, the_agent
from codex_adapter.cli.agent_places import agent_homes, agent_places
from codex_adapter.cli.arguments import Command, Once, Parser, json_lines_or_pretty, one_of, path
from codex_adapter.cli.errors import FAILURE_STATUS, UsageError, explain_wait, report_error
from codex_adapter.cli.operations.agent import add_work_options, check_work_options, read_task, work_with_agent
from codex_adapter.cli.operations.approvals import NoTerminal, at_the_terminal
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import View, is_for_a_program, lines_view
from codex_adapter.cli.serve.standard_io import StandardTransport
from codex_adapter.cli.signals import StopSignals
from codex_adapter.protocols.operations.audit import read_audit
from codex_adapter.protocols.operations.executor import OperationExecutor
from codex_adapter.protocols.operations.opening import open_executor
from codex_adapter.protocols.operations.policy import PRESETS, PolicyError, load_policy
from codex_adapter.protocols.operations.serve import Decide, Server
from codex_adapter.protocols.operations.state_file import StateError
from codex_adapter.records import encode_lines
from codex_adapter.workspace import WorkspaceError, seal_imports

__all__ = ["COMMAND"]

_DESCRIPTION = """\
Execute operations of an agent in a workspace: file operations and commands, under a policy. Each line of standard input
is a message with operations, or a decision. Each line of standard output is a message with events: the results.

With --agent, an agent CLI works on --task. All its changes and commands are operations. Standard input has decisions;
with --approve ask, it is added to the task. Each line of standard output is a record.

exit status:
  0              Standard input ended, or the agent completed the task.
  2              The command line is wrong.
  75             An operation still waits for a decision.
  124            The agent reached the limit of --turns.
  125            The state or standard output could not be written.
  128+n          Signal n (SIGINT, SIGTERM or SIGHUP) stopped the command.
  as for `run`   The agent's run failed.
"""
_EXAMPLES = """\
  codex-adapter operations --workspace ~/src/project < messages.jsonl
  codex-adapter operations --workspace . --policy restrictive --state ~/.local/state/project.db
  codex-adapter operations --workspace . --approve ask < messages.jsonl
  codex-adapter operations --workspace . --agent codex --task 'Fix the failing test'
  git diff | codex-adapter operations --workspace . --agent codex --approve ask --task 'Review this, and fix it'
  codex-adapter operations --audit --state ~/.local/state/project.db
"""
_STANDARD: Final = "standard"
_FORMAT: Final = "jsonl or pretty (default: pretty on a terminal, else jsonl)"


def _parser(words: Sequence[str]) -> Parser:
    parser = Parser("operations", "--workspace DIR [OPTIONS]", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("--workspace", action=Once, metavar="DIR", help="the directory to work in; file operations stay inside it")
    policy = f"the policy: {', '.join(PRESETS)}, or a file (default: {_STANDARD})"
    add("--policy", action=Once, metavar="FILE|PRESET", help=policy)
    state = "store pending operations and the log in FILE, to continue after a restart"
    add("--state", action=Once, type=path, metavar="FILE", help=state)
    add("--approve", action=Once, type=one_of("ask"), metavar="ask", help="ask for decisions at the terminal")
    add("--format", action=Once, type=json_lines_or_pretty, metavar="FORMAT", help=_FORMAT)
    add("--audit", action="store_true", help="show the log of --state, and execute nothing")
    add_work_options(parser, words)
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    check_work_options(options)
    try:
        if options.audit:
            return await _show_log(options, output)
        with _open_executor(options) as runtime, _open_terminal(options, runtime) as decide:
            transport = _make_transport(options, output)
            if options.agent is not None:
                task = await read_task(options, stop)
                if task is None:
                    return stop.exit_status or FAILURE_STATUS
                return await work_with_agent(options, task, runtime, transport, stop, decide=decide)
            explain_wait("messages with operations, or decisions, on standard input, one for each line")
            server = Server(runtime, transport, decide)
            with stop.governing(server):
                await server.serve()
    except StateError as error:
        report_error(f"--state: {error}")
        return FAILURE_STATUS
    return stop.exit_status or 0


def _make_transport(options: argparse.Namespace, output: Output) -> StandardTransport:
    if is_for_a_program(options.format, output):
        return StandardTransport(output)
    from codex_adapter.cli.present.operations_narration import OperationsNarrator  # noqa: PLC0415 - for a person only

    return _PrettyTransport(output, lines_view(OperationsNarrator().narrate, output))


class _PrettyTransport(StandardTransport):
    """Standard input unchanged, and text instead of records on standard output."""

    def __init__(self, output: Output, view: View[bytes]) -> None:
        super().__init__(output)

        async def write(data: bytes) -> bool:
            return await output.write(view.show(data.splitlines()))

        self.write = write
        self.write_now = lambda data: 0  # `write` writes all of it


@contextmanager
def _open_executor(options: argparse.Namespace) -> Iterator[OperationExecutor]:
    if not options.workspace:
        raise UsageError("--workspace is missing. Specify the directory to work in")
    agent = the_agent(options)
    with ExitStack() as opened:
        try:
            source = _STANDARD if options.policy is None else options.policy
            agents = agent_places(options, agent)
            policy = load_policy(source, agents=agents, workspace=options.workspace)
            runtime = opened.enter_context(
                open_executor(
                    options.workspace,
                    policy,
                    agents=agents,
                    state=options.state,
                    containment=command_containment(options, agent),
                    hidden=agent_homes(options, agent),
                )
            )
        except PolicyError as error:
            raise UsageError(f"--policy: {error}") from None
        except WorkspaceError as error:
            missing = error.code == "not_found"
            problem = "the directory does not exist. Create it first" if missing else error.text
            raise UsageError(f"--workspace: {problem}") from None
        seal_imports(options.workspace)
        yield runtime


@contextmanager
def _open_terminal(options: argparse.Namespace, runtime: OperationExecutor) -> Iterator[Decide | None]:
    if options.approve is None:
        yield None
        return
    with ExitStack() as opened:
        try:
            person = opened.enter_context(at_the_terminal(runtime))
        except NoTerminal:
            raise UsageError("--approve: no terminal is available. Send decisions on standard input") from None
        yield person.decide


async def _show_log(options: argparse.Namespace, output: Output) -> int:
    if options.state is None:
        raise UsageError("--state is missing. Specify the file that has the log")
    for record in read_audit(Path(options.state)):
        if not await output.write(encode_lines((record,))):
            break
    return 0


COMMAND = Command(_parser, _perform)
