"""Drive one run: its tasks, its time limits, and the decision on its completion (D, F, K)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import trio
from typing_extensions import override

from codex_adapter.agent import ExpectedSession
from codex_adapter.core import error_texts
from codex_adapter.core.notices import error_event
from codex_adapter.core.pipeline import Pipeline, number_events
from codex_adapter.errors import BackendError, RunCancelled, RunTimedOut
from codex_adapter.events import Completion, Event, ExitStatus
from codex_adapter.hints import Hint
from codex_adapter.request import RunConfig
from codex_adapter.runtime.clock import RunClock
from codex_adapter.runtime.handle import OwnRun, RunSetup, completion_or_raise
from codex_adapter.runtime.limits import Limit, Limits
from codex_adapter.runtime.source import Source
from codex_adapter.runtime.stream import EventStream, open_hand_off

__all__ = ["Run"]

_LONG_LINE: Final = 256 * 1024
"""The bytes that the event loop may process at once without delaying other runs."""
_limiter: trio.lowlevel.RunVar[trio.CapacityLimiter | None] = trio.lowlevel.RunVar("long_lines", default=None)
_log = logging.getLogger("codex_adapter")
_HINTS: Final[Mapping[Limit, Hint]] = {
    Limit.RUN: "time_limit",
    Limit.IDLE: "idle_limit",
    Limit.TOOL: "tool_limit",
}
"""The cause of a run that a limit ended, if the CLI itself names none (F9)."""


class Run(OwnRun):
    """One run of a source in this process."""

    def __init__(
        self,
        source: Source,
        pipeline: Pipeline,
        *,
        config: RunConfig,
        timeout: float | None = None,
        session: ExpectedSession | None = None,
        containment: str | None = None,
        setup: RunSetup | None = None,
    ) -> None:
        self.containment = containment
        self.setup = setup
        self._source = source
        self._pipeline = pipeline
        self._agent_kind = pipeline.state.agent_kind
        self._config = config
        self._session = session
        self._clock = RunClock()
        self._limits = Limits(
            timeout=timeout,
            idle=config.idle_timeout,
            tool=config.tool_timeout,
            exit_grace=config.exit_grace,
            descendant_grace=config.descendant_grace,
        )
        self._forwarder, self._events = open_hand_off()
        self._reads = 0
        self._processing = False
        self._stop_requested = trio.Event()
        self._exited = trio.Event()
        self._ended = trio.Event()
        self._unanswered: list[Event] = []
        self._status: ExitStatus | None = None
        self._failure: BackendError | None = None
        self._lingered = self._cancelled = False
        self._outcome: Completion | BackendError | None = None
        source.report_stderr(pipeline.decoder.receive_stderr)
        self._input_open = pipeline.decoder.input_open
        if not self._input_open:
            source.close_input()

    @property
    @override
    def events(self) -> EventStream:
        """The events, like `RunHandle.events`."""
        return self._events

    @property
    @override
    def session_id(self) -> str | None:
        """The session's id, like `RunHandle.session_id`. A session that is not the requested one is not the run's."""
        return self._pipeline.session_id if self._session is None else None

    @override
    async def wait_completed(self) -> Completion:
        """Return the completion, like `RunHandle.wait_completed`."""
        await self._ended.wait()
        await self._events.final.wait()
        self._outcome = self._outcome or self._decide()
        return completion_or_raise(self._outcome)

    @override
    def cancel(self) -> None:
        """Cancel the run, like `RunHandle.cancel`."""
        self._cancelled = True
        self._forwarder.close()
        self._events.discard()
        self._events.final.set()
        self._begin_stop()

    @override
    def kill(self) -> None:
        """Kill the run, like `RunHandle.kill`."""
        self.cancel()
        if not self._exited.is_set():
            self._source.kill()

    @override
    def abandon(self) -> None:
        """End the run, like `OwnRun.abandon`."""
        self._events.leave()
        self._begin_stop()

    @override
    async def wait_ended(self) -> None:
        """Wait for the end, like `OwnRun.wait_ended`."""
        await self._ended.wait()

    @override
    async def drive(self) -> None:
        """Drive the run, like `OwnRun.drive`."""
        with trio.CancelScope(shield=True):
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._run_task, self._source.serve)
                    nursery.start_soon(self._run_task, self._watch_limits)
                    nursery.start_soon(self._run_task, self._stop_on_request)
                    nursery.start_soon(self._watch_exit)
                    await self._run_task(self._pump)
                    await self._exited.wait()
                    nursery.cancel_scope.cancel()
                await self._run_task(self._source.aclose)
                await self._forwarder.release(self._last_events())
            finally:
                self._forwarder.close()
                self._ended.set()

    async def _run_task(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work of one task. A failure ends the run and becomes its outcome, but is not raised."""
        try:
            await work()
        except BackendError as error:
            self._fail(error)
        # A bug in the adapter or in an agent's module must not end the caller's nursery.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            # Log only the type: the message of a foreign error may quote its input (X3).
            _log.error("internal error: %s", type(error).__name__)
            self._fail(BackendError("other"))

    async def _pump(self) -> None:
        more = True
        while more:
            more = await self._read()
            if not self._forwarder.taken.is_set():
                self._clock.pause()
                await self._forwarder.taken.wait()
                self._clock.resume()
        self._limits.record_output_end(self._clock.now())
        self._clock.wake()

    async def _read(self) -> bool:
        """Forward the events of one read, and keep no reference. Return False after the end of the stream (L3)."""
        data = await self._source.receive_some()
        self._reads += 1
        events = await self._events_of(data)
        if self._input_open:
            self._answer()
        if self._observe() and events:
            self._forwarder.forward(events)
        return bool(data)

    async def _events_of(self, data: bytes) -> list[Event]:
        """Return the events of one read or of the end.

        A long line is processed in a thread, because its masking would block the event loop (J9).
        """
        receive = partial(self._pipeline.receive_data, data) if data else self._pipeline.receive_eof
        if self._pipeline.unfinished + len(data) <= _LONG_LINE or (data and b"\n" not in data):
            return receive()
        state = self._pipeline.state
        shown = dict(state.open_tools)
        self._clock.pause()
        self._processing = not self._stop_requested.is_set()
        events = await trio.to_thread.run_sync(receive, limiter=_long_lines())
        self._clock.resume()
        if self._processing and self._stop_requested.is_set():
            # The consumer gets none of these events, so their changes of tools do not count.
            state.replace_tools(shown)
            self._unanswered = self._pipeline.close_tools()
        self._processing = False
        return events

    def _answer(self) -> None:
        """Send the decoder's answer to the agent. Close its input once the decoder needs it no more (AG3)."""
        decoder = self._pipeline.decoder
        if data := decoder.data_to_send():
            self._source.send(data)
        if not decoder.input_open:
            self._input_open = False
            self._source.close_input()

    def _observe(self) -> bool:
        """Record what the last bytes showed. Return False if the run is not the requested one (S9, AG3)."""
        state = self._pipeline.state
        if self._limits.observe(state, self._clock.now()):
            self._clock.wake()
        if (refusal := self._pipeline.decoder.refusal) is not None:
            state.replace_tools({})  # the consumer has seen none of them
            self._fail(refusal)
            return False
        if self._session is not None and state.session_id is not None:
            if (wrong := self._session.refuses(state.session_id)) is not None:
                state.replace_tools({})  # the consumer has seen none of them
                self._fail(wrong)
                return False
            if not self._pipeline.decoder.session_missing:
                self._session = None
        return True

    async def _watch_exit(self) -> None:
        async def watch() -> None:
            self._status = await self._source.wait()

        await self._run_task(watch)
        self._limits.record_exit(self._clock.now())
        self._clock.wake()
        if self._stop_requested.is_set():
            self._source.kill()
        self._exited.set()

    async def _watch_limits(self) -> None:
        while True:
            when, limit = self._limits.next()
            if self._clock.now() < when:
                await self._clock.sleep_until(when)
            elif limit is not Limit.DESCENDANT or await self._has_caught_up():
                self._expire(limit)

    async def _has_caught_up(self) -> bool:
        """Return whether all output until now was read, even with a slow consumer and a short grace (D4)."""
        # All available output is read while each task, such as this one, runs twice.
        reads = self._reads
        await self._forwarder.taken.wait()
        await trio.lowlevel.checkpoint()
        return self._reads == reads and self._forwarder.taken.is_set()

    def _expire(self, limit: Limit) -> None:
        if limit is Limit.DESCENDANT:
            self._limits.record_output_end(self._clock.now())
            self._source.close_output()
        elif limit is Limit.LINGER:
            self._lingered = True
            self._begin_stop()
        elif limit is Limit.CLOSED:
            self._fail(BackendError("closed", hint=self._pipeline.hint))
        else:
            idle = self._config.idle_timeout or 0.0
            text = error_texts.idle_timeout_text(self._agent_kind, idle) if limit is Limit.IDLE else None
            self._fail(RunTimedOut("timeout", text, hint=self._pipeline.hint or _HINTS[limit]))

    async def _stop_on_request(self) -> None:
        await self._stop_requested.wait()
        try:
            await self._source.stop(self._pipeline.decoder.interrupt())
        except Exception:
            # After any error, no process of the run may remain (K4).
            self._source.kill()
            raise

    def _begin_stop(self) -> None:
        self._limits.record_stop()
        if not self._stop_requested.is_set() and not self._processing:
            self._unanswered = self._pipeline.close_tools()
        self._forwarder.hold()
        self._stop_requested.set()

    def _fail(self, error: BackendError) -> None:
        self._failure = self._failure or error.of_agent(self._agent_kind, self._pipeline.advice)
        self._begin_stop()

    def _last_events(self) -> list[Event]:
        decoder = self._pipeline.decoder
        if self._failure is None and self._session is not None and decoder.session_missing:
            self._fail(self._session.missing())
        why = None if self._failure is None else str(self._failure)
        if why is None and self._status is not None and decoder.exit_failed(self._status):
            why = error_texts.non_zero_exit_text(self._agent_kind, self._status)
        last = self._unanswered if why is None else [*self._unanswered, error_event(self._agent_kind, why)]
        return number_events(last, self._forwarder.next_seq)

    def _decide(self) -> Completion | BackendError:
        """Decide the outcome when the completion is first asked for. An earlier cancel wins (F6)."""
        failure = self._failure
        if self._cancelled:
            failure = RunCancelled("cancelled")
        elif failure is None:
            if self._status is not None:
                return self._pipeline.completion(self._status, lingered=self._lingered)
            failure = BackendError("wait")
        failure.session_id = self.session_id
        failure.run_usage, failure.cost_usd = self._pipeline.run_usage, self._pipeline.cost_usd
        return failure.of_agent(self._agent_kind, self._pipeline.advice)


def _long_lines() -> trio.CapacityLimiter:
    """Return the limiter that lets one long line be processed at a time: all threads share one interpreter."""
    limiter = _limiter.get()
    if limiter is None:
        limiter = trio.CapacityLimiter(1)
        _limiter.set(limiter)
    return limiter
