"""Test that an exception at any await of a run exposes no planted word in errors, logs or locals."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final

import pytest
import trio
from typing_extensions import override

import codex_adapter
from codex_adapter import BackendError, CodexConfig, RunRequest, codex_pipeline, open_run
from codex_adapter.events import ExitStatus
from codex_adapter.runtime.handle import live_run
from codex_adapter.runtime.run import Run
from codex_adapter.testing import Hang, PrintBytes, ReadPrompt, WriteStderr, write_agent
from codex_adapter.testing.source import ScriptedSource

from .leaks import Canary, leaks
from .plants import PLANTS, stdout
from .test_secret_exceptions import chained, told

AWAITS: Final = ("serve", "receive_some", "wait", "stop", "aclose")
PACKAGE: Final = Path(codex_adapter.__file__).parent
FOREIGN: Final = (ValueError, OSError, RuntimeError, RecursionError, MemoryError)


def locals_of(error: BaseException) -> Iterator[bytes]:
    """What a traceback with local variables would show of the package's own frames."""
    for one in chained(error):
        trace: TracebackType | None = one.__traceback__
        while trace is not None:
            if Path(trace.tb_frame.f_code.co_filename).is_relative_to(PACKAGE):
                yield repr(trace.tb_frame.f_locals).encode("utf-8", "surrogatepass")
            trace = trace.tb_next


def all_told(error: BaseException) -> bytes:
    return b"".join([*map(told, chained(error)), *locals_of(error)])


async def _cancel_after(steps: int, scope: trio.CancelScope) -> None:
    for _ in range(steps):
        await trio.lowlevel.checkpoint()
    scope.cancel()


class FailingSource(ScriptedSource):
    """Raises at one of its awaits, as a library would: with what it choked on in the message."""

    def __init__(self, script: list[bytes], place: str, error: Exception) -> None:
        super().__init__(list(script))
        self._place, self._error = place, error

    @override
    async def serve(self) -> None:
        await self._do("serve", super().serve)

    @override
    async def receive_some(self) -> bytes:
        if self._place == "receive_some" and not self._script:
            raise self._error
        return await super().receive_some()

    @override
    async def stop(self, request: bytes) -> None:
        await self._do("stop", partial(super().stop, request))

    @override
    async def aclose(self) -> None:
        await self._do("aclose", super().aclose)

    async def _do(self, place: str, otherwise: Callable[[], Awaitable[None]]) -> None:
        await otherwise()
        if self._place == place:
            raise self._error


class FailingWait(FailingSource):
    @override
    async def wait(self) -> ExitStatus:
        await super().wait()
        raise self._error


@pytest.mark.rule("X1", "X3", "F4")
@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("place", AWAITS)
async def test_what_is_raised_at_an_await_is_told_by_its_type_alone(
    caplog: pytest.LogCaptureFixture, place: str, kind: type[Exception]
) -> None:
    caplog.set_level(logging.DEBUG)
    raised_there, canaries = Canary(place), {plant: Canary(plant) for plant in PLANTS}
    lines = stdout({plant: canary.word for plant, canary in canaries.items()})
    source = (FailingWait if place == "wait" else FailingSource)([lines], place, kind(raised_there.word))
    handle = Run(source, codex_pipeline(), config=CodexConfig(), timeout=0.01 if place == "stop" else None)
    if place == "stop":
        source._held = True
    with pytest.raises(BackendError) as raised:  # noqa: PT012 - the block is what it leaves
        async with live_run(handle) as run:
            events = [event async for event in run.events]
            await run.wait_completed()
    hidden = [canary for plant, canary in canaries.items() if PLANTS[plant][0] != "always"]
    written = all_told(raised.value) + repr((events, handle, caplog.records, caplog.text)).encode()
    assert leaks(written, [raised_there, *hidden]) == []
    raised.value.session_id = None  # the id with which the run can be resumed; events show it, too
    assert leaks(all_told(raised.value), canaries.values()) == []
    assert "internal error" in caplog.text


@pytest.mark.rule("X1", "K5")
async def test_a_run_that_is_left_at_any_step_tells_nothing_of_what_it_has_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Cancelled from outside after each number of steps of the event loop, until the run comes to its end."""
    caplog.set_level(logging.DEBUG)
    canaries = {plant: Canary(plant) for plant in PLANTS if plant != "too deep nesting"}
    lines = stdout({plant: canary.word for plant, canary in canaries.items()})
    raised: list[BaseException] = []
    steps, whole = 0, False
    while not whole:
        steps += 1
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_cancel_after, steps, scope)
                try:
                    source = ScriptedSource([lines[:3_000], lines[3_000:]])
                    async with live_run(Run(source, codex_pipeline(), config=CodexConfig())) as run:
                        assert [event async for event in run.events]
                        await run.wait_completed()
                        whole = True
                except trio.Cancelled as error:
                    raised.append(error)
                    raise
                nursery.cancel_scope.cancel()
    assert leaks(b"".join(map(all_told, raised)), canaries.values()) == []
    assert steps > 3
    assert leaks(repr((caplog.records, caplog.text)).encode(), canaries.values()) == []


@pytest.mark.rule("X1", "K1", "S7")
async def test_the_local_variables_of_a_failed_run_hold_nothing_of_its_output(tmp_path: Path) -> None:
    stderr, canaries = Canary("standard error"), {plant: Canary(plant) for plant in PLANTS}
    printed = PrintBytes(stdout({plant: canary.word for plant, canary in canaries.items()}))
    agent = (ReadPrompt(), WriteStderr(stderr.word), printed, Hang())
    config = CodexConfig(binary=write_agent(tmp_path / "bin", agent), default_timeout=0.5, stop_timeout=1)
    with pytest.raises(BackendError) as raised:  # noqa: PT012 - the block is what it leaves
        async with open_run(RunRequest(prompt="x"), config=config) as run:
            await run.events.aclose()
            await run.wait_completed()
    assert list(locals_of(raised.value))
    raised.value.session_id = None  # the id with which the run can be resumed; events show it, too
    assert leaks(all_told(raised.value), [stderr, *canaries.values()]) == []
