"""Stage a real run: a workspace, a CODEX_HOME with a scripted model, and an oracle."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import trio

from codex_adapter import (
    BackendError,
    CodexConfig,
    Completion,
    Event,
    RunConfig,
    RunHandle,
    RunRequest,
    open_run,
)
from codex_adapter.agents import agent_of
from codex_adapter.harness import Harness
from codex_adapter.options import Option
from codex_adapter.testing import Answer, ModelServer, Scenario, Shell, mcp_config

from ..waiting import SOON
from .agents import OtherRelease
from .oracle import Oracle, Process
from .releases import Release

__all__ = ["SOME_RETRIES", "Outcome", "Stage"]


NO_RETRIES = "request_max_retries = 0, stream_max_retries = 0"
SOME_RETRIES = "request_max_retries = 0, stream_max_retries = 3"
SANDBOX = "sandbox_workspace_write.exclude_slash_tmp = true\nsandbox_workspace_write.exclude_tmpdir_env_var = true\n"
"""Only the workspace is to be writable; and the CLI puts its mount points nowhere else."""
NOWHERE = "http://127.0.0.1:1"


class Outcome(NamedTuple):
    """A run as its consumer saw it: `completion` or `error`, and how many seconds it took."""

    events: list[Event]
    completion: Completion | None
    error: BackendError | None
    seconds: float


class Stage:
    """Where the runs of one test take place, all with one release."""

    agent = "codex"
    shell_tool = "shell"
    skill_file = "$CODEX_HOME/skills/greeting/SKILL.md"
    skill_line = "{name}: {description}"
    permissions: str | None = None
    """The permissions of spaces for a test whose agent runs commands; None for the harness's default."""
    model_names = ("scripted/mock-model", "scripted/other/model")
    session_files = "sessions"
    agent_name = "The Codex CLI"
    modes: Sequence[str] = ("workspace-write", "danger-full-access")
    """The sandbox modes in which the agent runs commands."""
    takes_schema = True
    unread_thoughts = 400
    """Thoughts of 2 kB that fill the pipe of a consumer that does not read, while the agent goes on to its command."""
    missing_server: Mapping[str, Any] = {"hint": "mcp_server_failed", "exitStatus": 1}

    def __init__(self, release: Release | OtherRelease, root: Path) -> None:
        # The tests of Codex use what only its releases have.
        self.release = cast("Release", release)
        self.oracle = Oracle()
        self.root = root
        self.workspace = root / "workspace"
        self.home = root / "codex_home"
        for name in ("workspace", "home", "tmp", "extra"):
            (root / name).mkdir()

    @contextmanager
    def model(self, scenario: Scenario, *, config: str = "", retries: str = NO_RETRIES) -> Iterator[ModelServer]:
        """A model that plays the scenario, to which the CLI is pointed.

        `config` is more TOML for the CLI, `retries` how often it tries again, as settings of its model provider.
        """
        with ModelServer(scenario) as server:
            server.write_codex_home(self.home, config=SANDBOX + config)
            self.release.write_models_cache(self.home)
            file = self.home / "config.toml"
            file.write_text(file.read_text().replace('wire_api = "responses"', f'wire_api = "responses", {retries}'))
            yield server

    def mcp_server(self, name: str) -> str:
        """Configuration of the scripted MCP server; the oracle's word is in its argv, since it gets no variable."""
        return mcp_config(name).replace('"ok"]', f'"ok", "{self.oracle.word}"]')

    def option(self, place: str) -> Option:
        """The option of the agent for its `program` or its `home`."""
        return next(option for option in agent_of(self.agent).options if option.place == place)

    @property
    def harness_id(self) -> str:
        """The name by which turns select the harness."""
        return str(agent_of(self.agent).harness_id)

    @property
    def environment(self) -> dict[str, str]:
        """All variables of a command line that runs the CLI."""
        return {**os.environ, **dict(self.request().env), str(self.option("home").variable): str(self.home)}

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the command line that select this CLI."""
        return ("--codex", str(self.release.binary))

    def is_agent(self, process: Process) -> bool:
        """Whether this is the CLI itself."""
        return bool(process.argv) and process.argv[0].rpartition("/")[2] == "codex" and "--json" in process.argv

    def request(self, prompt: str = "Do it.", *, env: Mapping[str, str] | None = None, **options: Any) -> RunRequest:
        """A request for a run in the workspace, whose environment has the oracle's word and reaches no network."""
        settings = {"HOME": str(self.root / "home"), "TMPDIR": str(self.root / "tmp")}
        settings |= {"HTTPS_PROXY": NOWHERE, "https_proxy": NOWHERE, **self.oracle.environment, **(env or {})}
        return RunRequest(**{"prompt": prompt, "working_dir": str(self.workspace), "env": settings, **options})

    def sandboxed(self, mode: str, **options: Any) -> RunRequest:
        """A request for a run in this sandbox mode."""
        return self.request(extensions={f"backend.{self.agent}.exec.sandbox_mode": mode}, **options)

    def shell(self, command: str) -> Shell:
        """A call of the shell tool that executes a script; an agent may refuse some commands."""
        (self.root / "script").write_text(command)
        return Shell(f"bash {self.root / 'script'}")

    def config(self, **options: Any) -> CodexConfig:
        """The configuration of this release's backend."""
        return CodexConfig(**{**self.config_fields, **options})

    @property
    def env(self) -> dict[str, str]:
        """The environment of a turn."""
        return dict(self.request().env)

    @property
    def config_fields(self) -> dict[str, Any]:
        """The fields of the configuration."""
        return {"binary": str(self.release.binary), str(self.option("home").field): str(self.home)}

    def harness(self) -> Harness:
        """A harness that knows nothing of earlier ones."""
        return agent_of(self.agent).harness(self.run_config())

    @property
    def program_options(self) -> list[str]:
        """The options of the command line that name this program and its home."""
        return [self.option("program").name, str(self.release.binary), self.option("home").name, str(self.home)]

    @property
    def turn_options(self) -> list[str]:
        """The options by which the command line uses this program for a turn."""
        return ["--harness", self.harness_id, *self.program_options]

    @property
    def daemon_options(self) -> list[str]:
        """The options by which a daemon uses this program."""
        return ["--agent", self.agent, *self.program_options]

    @staticmethod
    def model_refusal(text: str) -> Answer:
        """The answer of a service that does not know the model."""
        error = {"message": text, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
        return Answer(status=400, body={"error": error})

    @staticmethod
    def sent(request: Mapping[str, Any]) -> str:
        """All that the model was sent besides its tools."""
        return json.dumps(request["input"])

    def agent_pid(self) -> int:
        """The process of the CLI itself; raises LookupError."""
        for process in self.oracle.look():
            if self.is_agent(process):
                return process.pid
        raise LookupError(f"no living process of the run is {self.agent_name}")

    def run_config(self, **options: Any) -> RunConfig:
        """The configuration of the agent's backend."""
        return agent_of(self.agent).config_type(**{**self.config_fields, **options})

    @asynccontextmanager
    async def running(self, request: RunRequest | None = None, **config: Any) -> AsyncIterator[RunHandle]:
        """A run under way; when the block has ended, nothing of it is left."""
        async with open_run(request or self.request(), agent=self.agent, config=self.run_config(**config)) as run:
            self.oracle.look()
            yield run
            self.oracle.look()
        self.oracle.check()

    async def run(self, request: RunRequest | None = None, **config: Any) -> Outcome:
        """A run from its start to its completion, all events read."""
        started = time.monotonic()
        async with self.running(request, **config) as run:
            return await self.outcome(run, started=started)

    async def outcome(self, run: RunHandle, *, started: float | None = None) -> Outcome:
        """The rest of a run."""
        started = time.monotonic() if started is None else started
        events: list[Event] = []
        completion, error = None, None
        with trio.fail_after(SOON * 2):
            async for event in run.events:
                if event.kind == "tool_call":
                    self.oracle.look()
                events.append(event)
            try:
                completion = await run.wait_completed()
            except BackendError as failure:
                error = failure
        return Outcome(events, completion, error, time.monotonic() - started)

    async def asked(self, server: ModelServer, count: int = 1) -> None:
        """Wait until the model has been asked so many times."""
        with trio.fail_after(SOON):
            await trio.to_thread.run_sync(server.wait_for_requests, count, abandon_on_cancel=True)
        self.oracle.look()

    def signal(self, name: str, *, to: str = "agent") -> None:
        """Send the signal `SIG{name}` to the CLI, or to the launcher when `to` is `node`."""
        is_it = self.is_agent if to == "agent" else lambda process: process.argv[0] == to
        found = next(process for process in self.oracle.look() if is_it(process))
        os.kill(found.pid, getattr(signal, f"SIG{name}"))

    def fifo(self, name: str = "fifo") -> Path:
        """A named pipe in the workspace, by which a command can tell that it has come so far."""
        path = self.workspace / name
        os.mkfifo(path)
        return path

    async def told(self, fifo: Path) -> str:
        """What a command writes into the named pipe, once it has."""
        return await trio.to_thread.run_sync(self.wait_told, fifo)

    def wait_told(self, fifo: Path) -> str:
        """As `told`, for tests without trio; raises TimeoutError."""
        fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(fd) as reader:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            if not poll.poll(SOON * 1000):
                raise TimeoutError("the command has not come so far")
            self.oracle.look()
            os.set_blocking(fd, True)
            return reader.read()
