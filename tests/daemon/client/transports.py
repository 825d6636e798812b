"""Run an agent in this process or in a daemon, and describe the run for comparison."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from codex_adapter import AdapterError, CodexBackend, CodexConfig, Completion, Event, RunHandle, RunRequest
from codex_adapter.daemon.client import open_daemon
from codex_adapter.runtime.backend import Backend

from ...cli.slow_clock import SLOW_CLOCK
from ...waiting import SOON

__all__ = [
    "LIMIT",
    "TRANSPORTS",
    "Consumer",
    "Daemon",
    "InProcess",
    "Seen",
    "SlowDaemon",
    "Transport",
    "children",
    "described",
    "let_limits_pass",
    "read_to_the_end",
    "see",
]


class Transport(Protocol):
    """Gives a backend of a configuration."""

    def __call__(self, config: CodexConfig) -> Any:
        """An async context manager that gives a `Backend`."""


@asynccontextmanager
async def _in_process(config: CodexConfig) -> AsyncIterator[Backend]:
    yield CodexBackend(config)


@asynccontextmanager
async def _daemon(config: CodexConfig) -> AsyncIterator[Backend]:
    async with open_daemon(*serve_options(config)) as backend:
        yield backend


@asynccontextmanager
async def _slow_daemon(config: CodexConfig) -> AsyncIterator[Backend]:
    async with open_daemon(*serve_options(config), program=[*SLOW_CLOCK, "serve"]) as backend:
        yield backend


InProcess: Final[Transport] = _in_process
Daemon: Final[Transport] = _daemon
SlowDaemon: Final[Transport] = _slow_daemon
"""A daemon in which no limit passes until `let_limits_pass`."""
LIMIT: Final = 300.0
"""Seconds that pass in no test, unless it calls `let_limits_pass`."""
TRANSPORTS: Final = {"in process": InProcess, "daemon": Daemon}


def serve_options(config: CodexConfig) -> list[str]:
    """The options of `serve` that make this configuration, which must have nothing else."""
    single = {
        "binary": "--codex",
        "codex_home": "--codex-home",
        "model": "--model",
        "default_timeout": "--timeout",
        "idle_timeout": "--idle-timeout",
        "tool_timeout": "--tool-timeout",
        "containment": "--containment",
        "tool_payloads": "--tool-payloads",
    }
    fields = {name: value for name, value in msgspec.structs.asdict(config).items() if value}
    options = [word for name, value in fields.items() if name in single for word in (single[name], str(value))]
    options += [word for name in config.mask for word in ("--mask", name)]
    options += [word for name, value in config.env.items() for word in ("--env", f"{name}={value}")]
    rest = msgspec.structs.replace(config, **dict.fromkeys(single), mask=(), env={})
    assert rest == CodexConfig(), "serve has no option for a field of this configuration"
    return options


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has shown: events, how it ended, what the handle says afterwards, and what the consumer noted."""

    events: Sequence[Event] = ()
    outcome: Any = None
    refused: bool = False
    session_id: str | None = None
    notes: Sequence[Any] = ()


Consumer = Callable[[RunHandle, list[Event], list[Any]], Awaitable[None]]


async def read_to_the_end(run: RunHandle, events: list[Event], _notes: list[Any]) -> None:
    """A consumer that reads every event, one by one."""
    events.extend([event async for event in run.events])


async def see(backend: Backend, request: RunRequest, consumer: Consumer = read_to_the_end) -> Seen:
    """A run from its opening to its end, with a consumer."""
    events: list[Event] = []
    notes: list[Any] = []
    with trio.fail_after(LIMIT + SOON):
        try:
            async with backend.open_run(request) as run:
                await consumer(run, events, notes)
                outcome = await _outcome(run)
                return Seen(events=events, outcome=outcome, session_id=run.session_id, notes=notes)
        except AdapterError as error:
            return Seen(outcome=described(error), refused=True)


def described(error: BaseException) -> dict[str, Any]:
    """All that an exception says and carries."""
    return {"type": type(error), "text": str(error), "repr": repr(error), "args": error.args, **vars(error)}


async def let_limits_pass(clock: MockClock) -> None:
    """Let the time `LIMIT` pass once in this process; or in its slow daemons, again and again until cancelled.

    A daemon may tell an event before its run waits for the agent again, and only then does the time count.
    """
    await wait_all_tasks_blocked(0.01)
    daemons = [child for child in children() if SLOW_CLOCK[-1].encode() in Path(f"/proc/{child}/cmdline").read_bytes()]
    if not daemons:
        clock.jump(LIMIT)
    while daemons:
        for daemon in daemons:
            os.kill(daemon, signal.SIGUSR2)
        await trio.sleep(0.1)


def children() -> list[int]:
    """The process ids of this process's children."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended meanwhile
            found += map(int, (task / "children").read_text().split())
    return found


def kill(pid: int) -> None:
    """End a process at once."""
    os.kill(pid, signal.SIGKILL)


async def _outcome(run: RunHandle) -> Completion | dict[str, Any]:
    try:
        return await run.wait_completed()
    except AdapterError as error:
        return described(error)
