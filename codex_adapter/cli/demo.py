"""Execute `codex-adapter demo`: a real run without an account and without a network (C3)."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, suppress
from pathlib import Path

from typing_extensions import override

from codex_adapter import AdapterError, Completion, Event, InvalidRequestError, RunHandle, open_run
from codex_adapter.agent import Agent, Demo
from codex_adapter.cli.agent_options import (
    add_agent_kind,
    add_program_options,
    examples_for,
    find_agents,
    program_config,
    the_agent,
)
from codex_adapter.cli.arguments import Command, Parser
from codex_adapter.cli.drive_run import drive_run
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.lines import Line, printable
from codex_adapter.cli.present.run_narration import RunItem, RunNarrator
from codex_adapter.cli.present.views import live_view
from codex_adapter.cli.signals import StopSignals
from codex_adapter.events import ToolCall
from codex_adapter.own_directories import remove_tree

__all__ = ["COMMAND"]

_DESCRIPTION = """\
Run {} once, without an account and without a network. The agent executes commands and writes a file. One
of the commands fails on purpose. Workspace and settings are in a temporary directory. If the agent CLI is not
installed, a scripted agent can take its place.

exit status: 0 if the run succeeded and the agent wrote the file.
"""
_EXAMPLES = """\
  codex-adapter demo
  codex-adapter demo --keep
"""


class _DemoNarrator(RunNarrator):
    """A narrator that also collects the facts for the summary at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.events_seen = 0
        self.statuses: list[int] = []
        self.outcome: Completion | AdapterError | None = None

    @override
    def narrate(self, item: RunItem | None) -> list[Line]:
        if isinstance(item, Event):
            self.events_seen += 1
            if item.kind == "tool_result" and isinstance(item.data, ToolCall) and item.data.tool.exit_code is not None:
                self.statuses.append(item.data.tool.exit_code)
        else:
            self.outcome = item
        return super().narrate(item)


def _parser(words: Sequence[str]) -> Parser:
    agent = find_agents(words)[0]
    parser = Parser("demo", "[OPTIONS]", _DESCRIPTION.format(agent.name), examples_for(agent, "demo", _EXAMPLES))
    add_agent_kind(parser)
    add_program_options(parser, agent, home="none")
    parser.add_argument("--keep", action="store_true", help="keep the workspace, and print its path")
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    narrator = _DemoNarrator()
    agent = the_agent(options)
    binary = program_config(options, agent).binary
    with _make_directory(keep=options.keep) as root, _stage(agent, root, binary) as demo:
        if demo.introduction:
            await output.write(f"# {printable(demo.introduction)}\n".encode())

        def opening() -> AbstractAsyncContextManager[RunHandle]:
            return open_run(demo.request, agent=agent.kind, config=demo.config)

        view = live_view(narrator, output)
        status = await drive_run(opening, view, output, stop, form="pretty", names=OptionNames(agent.options))
        written = demo.file.read_text(encoding="utf-8") if demo.file.is_file() else None
    if status == 0 and written is None:
        status = 1
    lines = [*_summary(narrator, demo.file.name, written), *([f"Kept: {root}"] if options.keep else [])]
    await output.write("".join(f"{line}\n" for line in ["", *lines]).encode())
    return status


@contextmanager
def _make_directory(*, keep: bool) -> Iterator[Path]:
    try:
        root = tempfile.mkdtemp(prefix="codex-adapter-demo-")
    except OSError:
        raise UsageError("The temporary directory is not writable. Set TMPDIR to another directory") from None
    try:
        yield Path(root)
    finally:
        if not keep:
            with suppress(OSError):
                remove_tree(root)


def _stage(agent: Agent, root: Path, binary: str | None) -> AbstractContextManager[Demo]:
    try:
        return agent.stage_demo(root, binary)
    except InvalidRequestError as error:
        raise UsageError(str(error)) from None


def _summary(narrator: _DemoNarrator, file: str, written: str | None) -> list[str]:
    statuses = ", ".join(map(str, narrator.statuses))
    lines = [
        f"{narrator.events_seen} events. The commands exited with {statuses}."
        if statuses
        else "The agent ran no command.",
        f"{file} contains: {printable(written).rstrip()}"
        if written is not None
        else f"The agent did not write {file}.",
    ]
    if isinstance(narrator.outcome, Completion):
        session = printable(narrator.outcome.session_id or "unknown")
        lines += [f"The agent ended with {narrator.outcome.status}.", f"Session: {session}"]
    return lines


COMMAND = Command(_parser, _perform)
