"""Hold a conversation of turns with a harness, without the turn client, and build environments for its turns."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import msgspec

from codex_adapter import AdapterError, Completion
from codex_adapter.harness import HarnessTurn
from codex_adapter.harness.failures import failure
from codex_adapter.spaces import Environment, Hook, Server, Skill
from codex_adapter.testing import MCP_SERVER

from .stage import Outcome, Stage

__all__ = [
    "EMPTY",
    "Conversation",
    "digests",
    "environment",
    "everything",
    "failed",
    "hook",
    "hooked",
    "server",
    "skill",
    "well",
]

EMPTY = Environment(spaces=(), instructions="", skills=(), hooks=(), servers=(), env={}, model=None, permissions=None)


class Conversation:
    """Turns in one directory, each by a harness that knows nothing of the one before."""

    def __init__(self, stage: Stage, directory: Path | None = None) -> None:
        self.stage = stage
        self.directory = directory or stage.root / "conversation"
        self.directory.mkdir(exist_ok=True)
        self.session: str | None = None

    async def turn(self, environment: Environment = EMPTY, prompt: str = "Do it.", **fields: Any) -> Outcome:
        """One turn, to its end; the next one goes on from it."""
        stage = self.stage
        if environment.permissions is None:
            environment = msgspec.structs.replace(environment, permissions=stage.permissions)
        fields = {"session": self.session, "cwd": str(stage.workspace), **fields}
        env = {**stage.env, **fields.pop("env", {})}
        turn = HarnessTurn(environment=environment, directory=self.directory, prompt=prompt, env=env, **fields)
        async with stage.harness().open(turn) as run:
            outcome = await stage.outcome(run)
            self.session = run.session_id or self.session
        stage.oracle.check()
        return outcome

    @property
    def home(self) -> Path:
        """The home of the CLI in its turns."""
        return self.directory / self.stage.agent.removesuffix("_code")


def environment(**fields: Any) -> Environment:
    return Environment(**{**{name: getattr(EMPTY, name) for name in EMPTY.__struct_fields__}, **fields})


def skill(stage: Stage) -> Skill:
    directory = stage.root / "store" / "skills" / "greeting"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: greeting\ndescription: How one greets.\n---\nSay ahoy.\n")
    return Skill(name="greeting", description="How one greets.", space="one", directory=str(directory))


def hook(stage: Stage, event: Any = "before_tool", matcher: str | None = None) -> Hook:
    command = f"cat >/dev/null; echo {event} >> {stage.root}/hooked"
    return Hook(name="note", event=event, command=command, matcher=matcher, timeout=10, space="one")


def hooked(stage: Stage) -> list[str]:
    path = stage.root / "hooked"
    return path.read_text().split() if path.exists() else []


def server(stage: Stage) -> Server:
    arguments = ("-I", "-S", MCP_SERVER, "ok", stage.oracle.word)
    return Server(name="scripted", command=sys.executable, args=arguments, env={}, cwd=None, url=None, space="one")


def everything(stage: Stage) -> Environment:
    return environment(
        instructions="# Space one\n\nBe brief, says the space.",
        skills=(skill(stage),),
        hooks=(hook(stage),),
        servers=(server(stage),),
    )


def digests(directory: Path) -> dict[str, str]:
    """All of a directory, byte for byte."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(directory.rglob("*"))
    }


def well(outcome: Outcome) -> Completion:
    """The completion of a turn that went well."""
    assert outcome.completion is not None, outcome.error
    assert failure(outcome.completion, "the agent") is None, outcome
    return outcome.completion


def failed(outcome: Outcome) -> Any:
    """What a turn's failure comes to."""
    result: Completion | AdapterError | None = outcome.completion or outcome.error
    assert result is not None
    found = failure(result, "the agent")
    assert found is not None
    return found
