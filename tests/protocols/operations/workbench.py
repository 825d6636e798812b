"""Provide a runtime with its own directory, and send messages to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.executor import ExecutorReply, OperationExecutor
from codex_adapter.protocols.operations.opening import open_executor
from codex_adapter.protocols.operations.policy import Policy, load_policy

__all__ = ["Message", "Workbench", "bare", "shell"]

Message: TypeAlias = dict[str, Any]
_VARYING = ("timestamp", "durationMs", "sandbox")


def shell(command: str, **members: Any) -> Message:
    """An operation that runs a command."""
    return {"type": "shell", "command": command, **members}


def bare(events: list[Message]) -> list[Message]:
    """Events without what differs from one time to the next."""
    return [{name: value for name, value in event.items() if name not in _VARYING} for event in events]


class Workbench:
    """A workspace with a state file beside it, for one runtime after another."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "workspace"
        self.root.mkdir()
        self.state = directory / "state.db"
        self.policy: Policy = load_policy("standard", agents=known_places())

    @asynccontextmanager
    async def open(self, *, kept: bool = True) -> AsyncIterator[Conversation]:
        """Open an executor."""
        with open_executor(
            self.root, self.policy, agents=known_places(), state=self.state if kept else None
        ) as executor:
            yield Conversation(executor)

    def write(self, path: str, text: str) -> None:
        """A file that is there."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def text(self, path: str) -> str:
        """What a file has."""
        return (self.root / path).read_text()


class Conversation:
    """What is said to a runtime, each answer delivered."""

    def __init__(self, runtime: OperationExecutor) -> None:
        self.runtime = runtime

    async def send(self, *operations: object) -> Message:
        """The answer to a message of these operations."""
        return await self.say({"protocolVersion": "1.0", "operations": list(operations)})

    async def decide(self, operation_id: str, decision: str = "approved", **members: str) -> Message:
        """The answer to a decision."""
        return await self.say({"approval": {"operationId": operation_id, "decision": decision, **members}})

    async def say(self, message: object) -> Message:
        """The answer to anything."""
        return await self.taken(await self.runtime.handle(json.dumps(message).encode()))

    async def resume_unfinished(self) -> list[Message]:
        """What an earlier life left."""
        return [await self.taken(answer) for answer in await self.runtime.resume_unfinished()]

    async def taken(self, answer: ExecutorReply) -> Message:
        """An answer, delivered."""
        assert answer.line.endswith(b"\n")
        assert answer.line.count(b"\n") == 1
        message: Message = json.loads(answer.line)
        assert (message["protocolVersion"], message["runId"]) == ("1.0", answer.run_id)
        assert message["status"] == answer.status
        await self.runtime.confirm_delivery(answer)
        return message
