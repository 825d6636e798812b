"""`codex-adapter demo`: a real run that needs neither account nor network (C3)."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from codex_adapter import AdapterError, CodexConfig, Completion, Event, RunHandle, RunRequest, SpawnError, open_run
from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.cli.arguments import Command, Once, Parser
from codex_adapter.cli.drive_run import conduct
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.narration import printable
from codex_adapter.cli.present.views import View, text_view
from codex_adapter.cli.signals import StopSignals
from codex_adapter.events import ToolCall
from codex_adapter.testing import (
    ModelServer,
    Patch,
    Reasoning,
    Scenario,
    Shell,
    answer,
    demo_script,
    script,
    write_agent,
)

__all__ = ["COMMAND"]

_DESCRIPTION = """\
Runs the real Codex CLI through the adapter, offline: a scripted model on the loopback tells it to look around, to run
commands, one of which fails, and to write a file, all in a temporary workspace with a CODEX_HOME of its own. Where no
CLI is installed, a scripted agent takes its place. Exits with 0 when the file is there in the end.
"""
_EXAMPLES = """\
  codex-adapter demo
  codex-adapter demo --codex ./node_modules/.bin/codex
  codex-adapter demo --keep
"""
_PROMPT: Final = "Have a look around, and leave me a greeting in hello.txt."
_MODEL: Final = "gpt-5.5"
"""One that most releases know; with any other they work as well, and warn."""
_FILE: Final = "hello.txt"
_GREETING: Final = "Hello from the Codex CLI.\n"
_PATCH: Final = f"*** Begin Patch\n*** Add File: {_FILE}\n+{_GREETING}*** End Patch"


def _scenario() -> Scenario:
    return script(
        answer(Reasoning(("**Looking around**\n\nThe workspace first, then the greeting.",)), Shell("ls -A; pwd -P")),
        Shell(f"cat {_FILE}"),
        Patch(_PATCH),
        Shell(f"wc -c {_FILE}"),
        f"I wrote {_FILE}; there was none before.",
    )


class _Place(msgspec.Struct, frozen=True):
    """Where a demo takes place: all of it below one directory."""

    root: Path

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def file(self) -> Path:
        return self.workspace / _FILE

    def environment(self) -> dict[str, str]:
        # A HOME of its own, so that the agent's shells read nobody's profile; no proxy on the way to the loopback.
        here = {"HOME": "home", "TMPDIR": "tmp"}
        for name in (*here.values(), "workspace"):
            (self.root / name).mkdir()
        return {name: str(self.root / folder) for name, folder in here.items()} | {
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }


class _Witness:
    """Shows a run as another view does, and remembers what the story at the end needs."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.events_seen = 0
        self.statuses: list[int] = []
        self.outcome: Completion | AdapterError | None = None

    @property
    def refresh_seconds(self) -> float | None:
        """As `View.refresh_seconds`."""
        return self._view.refresh_seconds

    @property
    def shows_hint(self) -> bool:
        """As `View.shows_hint`."""
        return self._view.shows_hint

    def events(self, batch: Sequence[Event]) -> bytes:
        """As `View.events`."""
        self.events_seen += len(batch)
        results = (
            event.data.tool for event in batch if event.kind == "tool_result" and isinstance(event.data, ToolCall)
        )
        self.statuses += [tool.exit_code for tool in results if tool.exit_code is not None]
        return self._view.events(batch)

    def refresh(self) -> bytes:
        """As `View.refresh`."""
        return self._view.refresh()

    def completion(self, outcome: Completion | AdapterError) -> bytes:
        """As `View.completion`."""
        self.outcome = outcome
        return self._view.completion(outcome)


def _parser() -> Parser:
    parser = Parser("demo", "[OPTIONS]", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("--codex", action=Once, metavar="BINARY", help="the Codex CLI (default: as for run)")
    parser.add_argument("--keep", action="store_true", help="keep the workspace, and say where it is")
    return parser


async def _perform(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    witness = _Witness(text_view(output)())
    with _place(keep=options.keep) as place, ModelServer(_scenario()) as server:
        env = place.environment()
        home = server.write_codex_home(place.root / "codex_home", model=_MODEL)
        config = CodexConfig(binary=options.codex, codex_home=home)
        config = await _with_agent(config, place, output)

        @asynccontextmanager
        async def opening() -> AsyncIterator[RunHandle]:
            # The commands are ours and harmless; the CLI's sandbox cannot be had in every container.
            wishes = {"backend.codex.exec.sandbox_mode": "danger-full-access", "backend.codex.tool_payloads": "full"}
            request = RunRequest(
                prompt=_PROMPT, working_dir=str(place.workspace), env=env, extensions=wishes, timeout=120
            )
            async with open_run(request, config=config) as run:
                yield run

        status = await conduct(opening, witness, output, stop)
        written = place.file.read_text(encoding="utf-8") if place.file.is_file() else None
    if status == 0 and written is None:
        status = 1
    story = _story(witness, written, place if options.keep else None)
    await output.write("".join(f"{line}\n" for line in ["", *story]).encode())
    return status


@contextmanager
def _place(*, keep: bool) -> Iterator[_Place]:
    with ExitStack() as leaving:
        try:
            root = tempfile.mkdtemp(prefix="codex-adapter-demo-")
        except OSError:
            raise UsageError("the temporary directory cannot be written to; name another one in TMPDIR") from None
        if not keep:
            leaving.callback(shutil.rmtree, root, ignore_errors=True)
        yield _Place(Path(root))


async def _with_agent(config: CodexConfig, place: _Place, output: Output) -> CodexConfig:
    """The configuration with the scripted agent where there is no CLI; says which of the two it is."""
    try:
        binary = find_binary(config, merge_environment(os.environ, config, {}))
    except SpawnError as error:
        if config.binary is not None or not error.not_found:
            return config
        agent = write_agent(place.root / "agent", demo_script(path=str(place.file), text=_GREETING, pause=0.2))
        await output.write(f"# A scripted agent, and not the real one. {error.advice}\n".encode())
        return msgspec.structs.replace(config, binary=agent)
    await output.write(f"# The real Codex CLI: {printable(binary.path)}\n".encode())
    return config


def _story(witness: _Witness, written: str | None, kept: _Place | None) -> list[str]:
    statuses = ", ".join(map(str, witness.statuses))
    lines = [
        f"{witness.events_seen} events; the commands exited with {statuses}." if statuses else "No command was run.",
        f"{_FILE} holds: {printable(written).rstrip()}" if written is not None else f"{_FILE} was not written.",
    ]
    if isinstance(witness.outcome, Completion):
        session = printable(witness.outcome.session_id or "unknown")
        lines.append(f"The agent ended with {witness.outcome.status}, session {session}.")
    if kept is not None:
        lines.append(f"Kept: {kept.root}")
    return lines


COMMAND = Command(_parser, _perform)
