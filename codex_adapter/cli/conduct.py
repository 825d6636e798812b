"""One run from its opening to its completion record and its exit status; the same for live and recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

import trio

from codex_adapter import (
    AdapterError,
    BackendError,
    Completion,
    Event,
    RunCancelled,
    RunHandle,
    RunTimedOut,
    SpawnError,
)
from codex_adapter.cli.arguments import in_our_words
from codex_adapter.cli.complaints import FAILURE_STATUS, UsageError, complain, complain_of_defect
from codex_adapter.cli.output import Output
from codex_adapter.cli.signals import StopSignals
from codex_adapter.cli.views import View
from codex_adapter.records import in_pieces

__all__ = ["Opening", "conduct", "exit_status", "explain"]

_MUCH_TEXT: Final = 1024 * 1024

Opening = Callable[[], AbstractAsyncContextManager[RunHandle]]
"""Gives a run in a block of its own, after all that must be read and checked for it."""


async def conduct(opening: Opening, view: View, output: Output, stop: StopSignals) -> int:
    """Carry one run through and give its exit status (W3, E1, E2, E4).

    A signal before the run is open leaves it unopened; it is a cancelled run all the same. Raises `UsageError`.
    """
    outcome: Completion | AdapterError = RunCancelled("cancelled")
    with stop.interrupting():
        try:
            async with opening() as run:
                with stop.governing(run):
                    await _forward(run, view, output)
                    outcome = await run.wait_completed()
        except AdapterError as error:
            outcome = error
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the completion record must still be written
            complain_of_defect(error)
            outcome = BackendError("other")
    await output.write(view.completion(outcome))
    explain(outcome)
    return exit_status(outcome, stop)


async def _forward(run: RunHandle, view: View, output: Output) -> None:
    """Show the events until they end or nobody is left to see them (D3)."""
    while (batch := await _next_batch(run, view.refresh_seconds)) is not None:
        shown = map(view.events, in_pieces(batch, _MUCH_TEXT)) if batch else [view.refresh()]
        for text in shown:
            if not await output.write(text):
                await run.events.aclose()
                return


async def _next_batch(run: RunHandle, patience: float | None) -> Sequence[Event] | None:
    """The next events; none when there were none for `patience` seconds, None at their end."""
    try:
        if patience is None:
            return await run.events.receive_batch()
        with trio.move_on_after(patience):
            return await run.events.receive_batch()
    except (trio.EndOfChannel, trio.ClosedResourceError):
        return None
    return ()


def explain(outcome: Completion | AdapterError) -> None:
    """Say on standard error what a person can do about an outcome, where there is anything (E1)."""
    if isinstance(outcome, BackendError):
        if outcome.advice is not None:
            complain(in_our_words(outcome.advice))
    elif isinstance(outcome, AdapterError):
        complain(in_our_words(str(outcome)))


def exit_status(outcome: Completion | AdapterError, stop: StopSignals) -> int:
    """The exit status of a run that came to this (E1)."""
    match outcome:
        case Completion(status=status):
            number = status.signal_number
            return (status.code or 0) if number is None else 128 + number
        case RunCancelled() if stop.exit_status is not None:
            return stop.exit_status
        case RunTimedOut():
            return 124
        case SpawnError(not_found=not_found):
            return 127 if not_found else 126
        case BackendError():
            return FAILURE_STATUS
    return 2
