"""Run an agent from code without an event loop: a script, a notebook, a thread.

completion = run("Fix the failing test")

with open_run("Fix the failing test") as under_way:
    for event in under_way:
        print(event.kind, event.text)
    print(under_way.completion.final_text)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue

import trio

from codex_adapter import Completion, Event, EventStream, RunCancelled, RunConfig, RunHandle, RunRequest
from codex_adapter import open_run as open_in_trio
from codex_adapter.errors import DEFAULT_AGENT

__all__ = ["Run", "open_run", "run"]


def run(request: RunRequest | str, *, agent: str = DEFAULT_AGENT, config: RunConfig | None = None) -> Completion:
    """Run the agent to its end and return the completion.

    `request` is a `RunRequest`, or its prompt alone. Raise the errors of `codex_adapter.collect`. KeyboardInterrupt
    ends the run before it propagates (P7).
    """
    with open_run(request, agent=agent, config=config) as under_way:
        return under_way.completion


@contextmanager
def open_run(
    request: RunRequest | str, *, agent: str = DEFAULT_AGENT, config: RunConfig | None = None
) -> Iterator[Run]:
    """Start a run of the agent and yield it; iterate over the `Run` for its events.

    Entering raises the errors of `codex_adapter.open_run`, and RuntimeError in a thread that runs trio. Leaving the
    block normally waits for the end of the run. Leaving it by an exception, such as KeyboardInterrupt, ends the run
    first. A second KeyboardInterrupt does not wait for the agent. No process of the run remains.

    A block that is never left, such as one in a generator that is kept, keeps the interpreter alive at its exit. In a
    thread that runs asyncio, the first Ctrl-C belongs to asyncio (P7).
    """
    if trio.lowlevel.in_trio_run():
        raise RuntimeError(
            "codex_adapter.sync would block the trio program that runs in this thread. "
            "Use `async with codex_adapter.open_run(request)` instead."
        )
    under_way = Run(RunRequest(prompt=request) if isinstance(request, str) else request, agent, config)
    try:
        under_way._start()
        yield under_way
        under_way._leave()
        under_way._ended.wait()
    finally:
        try:
            under_way._finish(under_way._end)
        finally:  # also after a KeyboardInterrupt on the way into that
            under_way._finish(under_way.kill)


class Run:
    """One run in progress: iterate over it for its events, then read its `completion`.

    The events are for one consumer. Other threads may call `cancel` and `kill`.
    """

    def __init__(self, request: RunRequest, agent: str, config: RunConfig | None) -> None:
        self._request = request
        self._agent = agent
        self._config = config
        self._thread = threading.Thread(target=self._run_thread, name="codex_adapter.sync", daemon=True)
        self._token: trio.lowlevel.TrioToken | None = None
        self._handle: RunHandle | None = None
        self._outcome: Completion | BaseException | None = None
        self._listening = threading.Event()  # the thread takes calls, or has failed
        self._opened = threading.Event()  # the run is open, or will never open
        self._ended = threading.Event()  # no part of the run is left
        self._life = trio.CancelScope()
        self._forwarding = trio.CancelScope()
        self._room = trio.Semaphore(1)  # one batch waits for the consumer; the next one waits in the run
        self._batches: SimpleQueue[Sequence[Event]] = SimpleQueue()
        self._batch: Iterator[Event] = iter(())
        self._left = False

    def __iter__(self) -> Iterator[Event]:
        """Return the run itself: a second loop continues where the first one stopped."""
        return self

    def __next__(self) -> Event:
        """Return the next event, waiting for it. Raise StopIteration after the last one."""
        while not self._left:
            for event in self._batch:
                return event
            self._batch = iter(batch := self._batches.get())
            if batch:
                self._call(self._room.release)
            else:
                self._left = True
        raise StopIteration

    @property
    def completion(self) -> Completion:
        """The completion, once the agent has exited. Events that were not read until now are dropped.

        Raise `BackendError` if there is no completion: `RunCancelled`, `RunTimedOut` or another (F4).
        """
        self._leave()
        self._ended.wait()
        return self._result()

    @property
    def session_id(self) -> str | None:
        """The id with which the session can be resumed; None until the agent has reported it (M5)."""
        return None if self._handle is None else self._handle.session_id

    @property
    def containment(self) -> str | None:
        """The level of containment of the run (N1)."""
        return None if self._handle is None else self._handle.containment

    def cancel(self) -> None:
        """Cancel the run: its events end now, and its completion is `RunCancelled` (K3)."""
        if self._handle is not None:
            self._call(self._handle.cancel)
        self._leave()

    def kill(self) -> None:
        """Cancel the run without asking the agent first (K4)."""
        if self._handle is not None:
            self._call(self._handle.kill)
        self._leave()

    def _start(self) -> None:
        try:
            self._thread.start()
        except RuntimeError:  # no thread can be started
            self._ended.set()
            raise
        self._opened.wait()
        if self._handle is None:
            self._ended.wait()
            self._result()

    def _leave(self) -> None:
        """Read no more events. A loop that waits for an event ends."""
        self._left = True
        self._batches.put(())
        self._call(self._forwarding.cancel)

    def _finish(self, stop: Callable[[], None]) -> None:
        """End the run if it has not ended, and wait for its end. A KeyboardInterrupt meanwhile kills the agent."""
        while not self._ended.is_set():
            try:
                stop()
                self._ended.wait()
            except KeyboardInterrupt:
                stop = self.kill
        if self._thread.is_alive():
            self._thread.join()

    def _end(self) -> None:
        self._call(self._life.cancel)

    def _result(self) -> Completion:
        if isinstance(self._outcome, Completion):
            return self._outcome
        raise (self._outcome or RunCancelled("cancelled")).with_traceback(None)

    def _call(self, function: Callable[[], object]) -> None:
        """Call this in the trio thread. Do nothing if the run has ended."""
        self._listening.wait()
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(function)

    def _run_thread(self) -> None:
        """Run trio in the thread of this run. Every wait of the consumer ends with it."""
        try:
            self._outcome = trio.run(self._main)
        except BaseException as error:  # noqa: BLE001, ASYNC103 - raised again in the consumer's thread
            self._outcome = error
        finally:
            self._listening.set()
            self._batches.put(())
            self._ended.set()
            self._opened.set()

    async def _main(self) -> Completion | None:
        self._token = trio.lowlevel.current_trio_token()
        self._listening.set()
        with self._life:
            async with open_in_trio(self._request, agent=self._agent, config=self._config) as handle:
                self._handle = handle
                self._opened.set()
                with self._forwarding:
                    await self._forward(handle.events)
                self._batches.put(())
                await handle.events.aclose()
                return await handle.wait_completed()
        return None

    async def _forward(self, events: EventStream) -> None:
        await self._room.acquire()
        async for batch in events.batches():
            self._batches.put(batch)
            await self._room.acquire()
