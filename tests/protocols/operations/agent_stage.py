"""Stage an agent at work: one scripted agent per turn, a supervisor, and the work itself."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import trio

from codex_adapter import CodexConfig, RunHandle, RunRequest, open_run
from codex_adapter.agents import known_places
from codex_adapter.agents.codex.agent import AGENT
from codex_adapter.protocols.operations.agent import AgentWork
from codex_adapter.protocols.operations.agent_decisions import Decisions
from codex_adapter.protocols.operations.agent_records import WorkEnd
from codex_adapter.protocols.operations.opening import open_executor
from codex_adapter.testing import Facts, PrintJson, ReadPrompt, Step, WriteFacts, read_facts, write_agent
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from ...waiting import SOON
from .workbench import Message, Workbench

__all__ = ["DONE", "Stage", "Supervisor", "message_of", "saying", "told"]

Record: TypeAlias = dict[str, Any]


def message_of(*operations: Message) -> str:
    """What an agent writes to have operations carried out."""
    return json.dumps({"protocolVersion": "1.0", "operations": list(operations)})


DONE = message_of({"type": "message", "id": None, "content": "Done."})


def saying(*texts: str) -> list[Step]:
    """An agent whose turn goes well and has these messages."""
    said = [PrintJson(agent_message(f"item_{number}", text)) for number, text in enumerate(texts)]
    return [ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()), *said, PrintJson(turn_completed())]


def told(records: list[Record], kind: str) -> list[Record]:
    """The records of one type."""
    return [record for record in records if record["type"] == kind]


class Supervisor:
    """Reads the records, and may do something, or leave, when it has seen one of a type."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.on: dict[str, Callable[[], None]] = {}
        self.gone = trio.Event()

    async def write(self, data: bytes) -> bool:
        """As `Sink.write`."""
        await trio.lowlevel.checkpoint()
        if self.gone.is_set():
            return False
        assert data.endswith(b"\n")
        for record in map(json.loads, data.decode().split("\n")[:-1]):
            self.records.append(record)
            self.on.get(record["type"], lambda: None)()
        return True

    async def wait_reader_closed(self) -> None:
        """As `Sink.wait_reader_closed`."""
        await self.gone.wait()

    @property
    def shape(self) -> list[str]:
        """The records without the events of runs, by type, with how a run or the work ended."""
        return [self._shape(record) for record in self.records if record["type"] != "runEvent"]

    def _shape(self, record: Record) -> str:
        match record["type"]:
            case "events":
                return f"events {record['message']['status']}"
            case "ended":
                return f"ended {record['reason']}"
        return str(record["type"])


class Stage:
    """A workspace, a supervisor, and an agent for each turn; the last of them goes on for ever."""

    def __init__(self, bench: Workbench, directory: Path) -> None:
        self.bench = bench
        self.directory = directory
        self.supervisor = Supervisor()
        self.requests: list[RunRequest] = []
        self.kept = False
        self.stop_timeout = CodexConfig().stop_timeout
        self._agents: list[str] = []

    def agents(self, *scripts: list[Step]) -> None:
        """Who comes in which turn."""
        for script in scripts:
            number = len(self._agents)
            facts = WriteFacts(str(self.directory / f"facts{number}"))
            home = self.directory / f"agent{number}"
            self._agents.append(write_agent(home, [*script[:1], facts, *script[1:]]))

    def facts(self, turn: int) -> Facts:
        """What the agent of a turn saw, counting from 1."""
        return read_facts(self.directory / f"facts{turn - 1}")

    @asynccontextmanager
    async def working(self, decisions: Decisions | None = None, **options: Any) -> AsyncIterator[AgentWork]:
        """The work, not begun."""
        request = RunRequest(prompt="Do it.", working_dir=str(self.bench.root))
        with open_executor(
            self.bench.root, self.bench.policy, agents=known_places(), state=self.bench.state if self.kept else None
        ) as runtime:
            yield AgentWork(runtime, AGENT, self._open, request, self.supervisor, decisions=decisions, **options)

    async def work(self, decisions: Decisions | None = None, **options: Any) -> WorkEnd:
        """The work from its beginning to its end."""
        with trio.fail_after(SOON):
            async with self.working(decisions, **options) as work:
                return await work.run()

    def processes(self) -> list[str]:
        """Living processes that have the test's own directory in their arguments, as every agent does."""
        found = []
        for arguments in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if os.fsencode(self.directory) in arguments.read_bytes():
                    found.append(arguments.parent.name)
            except OSError:
                continue
        return found

    @asynccontextmanager
    async def _open(self, request: RunRequest) -> AsyncIterator[RunHandle]:
        binary = self._agents[min(len(self.requests), len(self._agents) - 1)]
        self.requests.append(request)
        async with open_run(request, config=CodexConfig(binary=binary, stop_timeout=self.stop_timeout)) as run:
            yield run
