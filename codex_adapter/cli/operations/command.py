"""`codex-adapter operations`: operations of an agent, carried out in a workspace (C11)."""

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
Carries out operations of an agent in a workspace: files and commands, each answered by an event. One message or one
decision a line on standard input, one events message a line on standard output, until standard input ends. With
--agent an agent CLI works on --task, and whatever it changes or runs is an operation: standard input has decisions,
or with --approve ask more about the task, and standard output a record a line of all that happens.

exit status: 0 at the end of standard input, or when the agent is done; 2 for a wrong command line; 75 when nobody
decided on what waits; 124 after the last of --turns; 125 when the state could not be kept or standard output not be
written; 128+n when we were asked to stop by SIGINT, SIGTERM or SIGHUP; as for run when the agent's run failed.
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
    add("--workspace", action=Once, metavar="DIR", help="the directory to work in; no file operation leaves it")
    presets = ", ".join(PRESETS)
    add("--policy", action=Once, metavar="FILE|PRESET", help=f"what may be done: {presets} (default: {_STANDARD})")
    add(
        "--state",
        action=Once,
        type=path,
        metavar="FILE",
        help="keep what waits, and the log; go on with it after a restart",
    )
    add("--approve", action=Once, type=one_of("ask"), metavar="ask", help="ask the person at the terminal")
    add("--format", action=Once, type=json_lines_or_pretty, metavar="F", help=_FORMAT)
    add("--audit", action="store_true", help="show the log of --state, and carry out nothing")
    add_work_options(parser, words)
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    check_work_options(options)
    try:
        if options.audit:
            return await _show_log(options, output)
        with _opened(options) as runtime, _person(options, runtime) as decide:
            wires = _wires(options, output)
            if options.agent is not None:
                task = await read_task(options, stop)
                if task is None:
                    return stop.exit_status or FAILURE_STATUS
                return await work_with_agent(options, task, runtime, wires, stop, decide=decide)
            explain_wait("the operations messages of an agent, or decisions, on standard input, one a line")
            server = Server(runtime, wires, decide)
            with stop.governing(server):
                await server.serve()
    except StateError as error:
        report_error(f"--state: {error}")
        return FAILURE_STATUS
    return stop.exit_status or 0


def _wires(options: argparse.Namespace, output: Output) -> StandardTransport:
    if is_for_a_program(options.format, output):
        return StandardTransport(output)
    from codex_adapter.cli.present.operations_narration import OperationsNarrator  # noqa: PLC0415 - for a person only

    return _PrettyWires(output, lines_view(OperationsNarrator().narrate, output))


class _PrettyWires(StandardTransport):
    """Standard input as it is, and on standard output text in the place of records."""

    def __init__(self, output: Output, view: View[bytes]) -> None:
        super().__init__(output)

        async def write(data: bytes) -> bool:
            return await output.write(view.show(data.splitlines()))

        self.write = write
        self.write_now = lambda data: 0  # `write` does all of it


@contextmanager
def _opened(options: argparse.Namespace) -> Iterator[OperationExecutor]:
    if not options.workspace:
        raise UsageError("--workspace is missing; give the directory to work in")
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
            problem = "there is no such directory; make it first" if missing else error.text
            raise UsageError(f"--workspace: {problem}") from None
        seal_imports(options.workspace)
        yield runtime


@contextmanager
def _person(options: argparse.Namespace, runtime: OperationExecutor) -> Iterator[Decide | None]:
    if options.approve is None:
        yield None
        return
    with ExitStack() as opened:
        try:
            person = opened.enter_context(at_the_terminal(runtime))
        except NoTerminal:
            raise UsageError("--approve: there is no terminal to ask at; send decisions instead") from None
        yield person.decide


async def _show_log(options: argparse.Namespace, output: Output) -> int:
    if options.state is None:
        raise UsageError("--state is missing; give the file whose log is to be shown")
    for record in read_audit(Path(options.state)):
        if not await output.write(encode_lines((record,))):
            break
    return 0


COMMAND = Command(_parser, _perform)
