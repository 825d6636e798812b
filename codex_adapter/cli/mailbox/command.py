"""Execute `codex-adapter mailbox`: a model without a network connection works on a task through files (C12)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec.structs import replace

from codex_adapter.cli.agent_options import command_containment
from codex_adapter.cli.agent_places import agent_homes, agent_places, require_outside
from codex_adapter.cli.arguments import Command
from codex_adapter.cli.errors import UsageError, report_error
from codex_adapter.cli.mailbox.answerers import FAILED, report_failure, select_answerer
from codex_adapter.cli.mailbox.options import MailboxParser, answering_agent, options_agent
from codex_adapter.cli.mailbox.output import SessionOutput
from codex_adapter.cli.mailbox.status import show_sessions
from codex_adapter.cli.mailbox.work import SessionWork
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import View, is_for_a_program, live_view
from codex_adapter.cli.prompts import require_prompt
from codex_adapter.cli.signals import StopSignals
from codex_adapter.protocols.mailbox.answerers import AnswerFailed
from codex_adapter.protocols.mailbox.events import MailboxEvent
from codex_adapter.protocols.mailbox.layout import MailboxError, MailboxLayout, MailboxRefusal
from codex_adapter.protocols.mailbox.opening import begin_session, end_session, open_session, sessions, workspace_of
from codex_adapter.protocols.mailbox.session import Session
from codex_adapter.records import encode_lines
from codex_adapter.workspace import Sandbox, WorkspaceError, find_sandbox, seal_imports

__all__ = ["COMMAND"]


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    try:
        places = MailboxLayout(options.mailbox)
        if options.action == "status":
            await show_sessions(places, sessions(places), options.format, output)
            return 0
        if options.action == "end":
            await show_sessions(places, [end_session(places, options.subject)], options.format, output)
            return 0
        return await _work(options, places, output, stop)
    except MailboxRefusal as error:
        raise UsageError(f"--mailbox: {error}") from None
    except MailboxError as error:
        report_error(f"--mailbox: {error}")
        return FAILED
    except AnswerFailed as error:
        return report_failure(error, options, stop)


async def _work(options: argparse.Namespace, places: MailboxLayout, output: Output, stop: StopSignals) -> int:
    task = ""
    answerer = None
    with stop.interrupting():
        if options.action == "start":
            task = (await require_prompt(options.subject, "task", context=False)).strip()
        answerer = await select_answerer(options)
    if stop.exit_status is not None:
        return stop.exit_status
    starting = options.action == "start"
    workspace = str(options.workspace) if starting else workspace_of(places, options.subject)
    agent = answering_agent(options)
    if agent is not None:
        require_outside(options, agent, workspace)
    sandbox = None if options.no_sandbox else _sandbox(options, workspace)
    session_output = SessionOutput(output, _view(options, output))
    work = SessionWork(options, places, session_output, stop, sandbox=sandbox, answerer=answerer)
    with _open_session(options, places, task, work, sandbox) as session:
        seal_imports(workspace)
        return await work.run(session)


def _view(options: argparse.Namespace, output: Output) -> View[MailboxEvent]:
    if is_for_a_program(options.format, output):
        return View(encode_lines)
    from codex_adapter.cli.present.mailbox_narration import MailboxNarrator  # noqa: PLC0415 - for a person only

    return live_view(MailboxNarrator(clipboard=options.clipboard), output, unbroken=True)


def _sandbox(options: argparse.Namespace, workspace: str) -> Sandbox | None:
    """Return a sandbox that works, with the agent's login hidden; None without one. Raise `MailboxError` (H14)."""
    agent = options_agent(options)
    try:
        sandbox = find_sandbox(agents=agent_places(options, agent), workspace=workspace)
    except WorkspaceError as error:
        raise MailboxError(error.text[:1].lower() + error.text[1:]) from None
    return None if sandbox is None else replace(sandbox, hidden=(*sandbox.hidden, *agent_homes(options, agent)))


@contextmanager
def _open_session(
    options: argparse.Namespace, places: MailboxLayout, task: str, work: SessionWork, sandbox: Sandbox | None
) -> Iterator[Session]:
    agent = options_agent(options)
    settings = {
        "agents": agent_places(options, agent),
        "sandbox": sandbox,
        "network": options.network,
        "containment": command_containment(options, agent),
    }
    with ExitStack() as opened:
        try:
            if options.action == "start":
                opening = begin_session(places, options.workspace, task, work.observe, **settings)
            else:
                opening = open_session(places, options.subject, work.observe, workspace=options.workspace, **settings)
            session = opened.enter_context(opening)
        except WorkspaceError as error:
            what = "--workspace" if options.action == "start" else "--mailbox: the workspace of its session"
            missing = "Move it back" if what.startswith("--mailbox") else "Create it first"
            problem = f"the directory does not exist. {missing}" if error.code == "not_found" else error.text
            raise UsageError(f"{what}: {problem}") from None
        yield session


COMMAND = Command(MailboxParser, _perform)
