"""Show one run, live or recorded, from its start to its completion record and exit status."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Final

from codex_adapter import (
    AdapterError,
    BackendError,
    Completion,
    InvalidRequestError,
    RunCancelled,
    RunHandle,
    RunTimedOut,
    SpawnError,
)
from codex_adapter.cli.errors import FAILURE_STATUS, UsageError, report_defect, report_error
from codex_adapter.cli.option_names import OptionNames
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.views import View
from codex_adapter.cli.signals import StopSignals
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.records import split_batch

if TYPE_CHECKING:
    from codex_adapter.cli.output_file import OutputFile
    from codex_adapter.cli.present.run_narration import RunItem

__all__ = ["Opening", "drive_run", "exit_status", "explain"]

_PATIENCE: Final = 4.0
"""Seconds to write the file of the final text: less than the limit after a signal (E6)."""

_NOT_OK: Final = 1
"""The exit status of a run that did not succeed, although its agent exited with 0 (E1)."""

Opening = Callable[[], AbstractAsyncContextManager[RunHandle]]
"""Opens a run as a context manager, after it read and checked all input."""


async def drive_run(
    opening: Opening,
    view: View[RunItem],
    output: Output,
    stop: StopSignals,
    *,
    form: str,
    quiet: bool = False,
    last_message: OutputFile | None = None,
    names: OptionNames,
) -> int:
    """Show one run from its start to its completion, and return its exit status (W3, E1, E2, E4).

    If a signal arrives before the run is open, the run is cancelled without being opened. With `quiet`, the reason of
    a failure is not written to standard error. `form` is the form of the view, `last_message` a file for the final
    text. `names` replaces keys with options in texts for a person. Raise `UsageError`. (C7)
    """
    outcome: Completion | AdapterError = RunCancelled("cancelled")
    with stop.interrupting():
        try:
            async with opening() as run:
                with stop.governing(_Stoppable(output, run)):
                    await _forward(run, view, output)
                    outcome = await run.wait_completed()
        except AdapterError as error:
            outcome = error
            if isinstance(error, BackendError) and error.advice is not None:
                error.advice = names.for_fields(error.advice) if form == "jsonl" else names(error.advice)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - the completion record must be written after any error
            report_defect(error)
            outcome = BackendError("other")
    if stop.exit_status is not None:
        output.limit_waits()
    with stop.governing(_Stoppable(output)):
        await output.write(view.show([_with_options(outcome, names) if form != "jsonl" else outcome]))
    explained = quiet or explain(outcome, names, with_hint=form != "pretty")
    if not explained and form == "text":
        _explain_missing_answer(outcome)
    status = exit_status(outcome, stop)
    if stop.exit_status is not None and output.gave_up:
        status = stop.exit_status
    if last_message is not None and not await _write_answer(last_message, outcome, stop):
        return status or stop.exit_status or FAILURE_STATUS
    return status


def _with_options(outcome: Completion | AdapterError, names: OptionNames) -> Completion | AdapterError:
    """Return an outcome for a person, with options in place of keys (E5)."""
    return InvalidRequestError(names(str(outcome))) if isinstance(outcome, InvalidRequestError) else outcome


class _Stoppable:
    """The work that a signal ends: the run, and after a time limit the wait for the reader of its records (E4)."""

    def __init__(self, output: Output, run: RunHandle | None = None) -> None:
        self._output = output
        self._run = run

    def cancel(self) -> None:
        """Ask the run to end."""
        self._output.limit_waits()
        if self._run is not None:
            self._run.cancel()

    def kill(self) -> None:
        """End the run at once."""
        if self._run is not None:
            self._run.kill()


async def _forward(run: RunHandle, view: View[RunItem], output: Output) -> None:
    """Show the events until they end or the reader leaves (D3)."""
    async for batch in run.events.batches(patience=view.refresh_seconds):
        shown = map(view.show, split_batch(batch)) if batch else [view.refresh()]
        for text in shown:
            if not await output.write(text):
                await run.events.aclose()
                return


async def _write_answer(file: OutputFile, outcome: Completion | AdapterError, stop: StopSignals) -> bool:
    """Write the final text to a file, which is empty for a run without one. Report a failure and return False.

    Stop waiting for a file system that does not answer after a few seconds, or when a signal arrives.
    """
    text = (outcome.final_text if isinstance(outcome, Completion) else None) or ""

    def write(inquiry: Inquiry) -> None:
        inquiry.at("file of --last-message", file.path)
        file.write(text.encode())

    with nullcontext() if stop.exit_status else stop.interrupting():
        try:
            await inquire(write, seconds=_PATIENCE)
        except (OSError, ValueError) as error:
            reason = os.strerror(getattr(error, "errno", None) or errno.EINVAL)
            report_error(
                f"--last-message: the file cannot be written ({reason}). Specify a file in an existing directory."
            )
        except BackendError:
            reason = os.strerror(errno.ETIMEDOUT)
            how = "Specify a file on another file system."
            report_error(f"--last-message: the file cannot be written ({reason}). {how}")
        else:
            return True
    return False


def _explain_missing_answer(outcome: Completion | AdapterError) -> None:
    if not isinstance(outcome, Completion):
        report_error(str(outcome))
    elif not outcome.ok:
        turn = "no turn began" if outcome.turn is None else f"its turn is {outcome.turn.replace('_', ' ')}"
        report_error(f"The run failed: {turn}, and the agent ended with {outcome.status}.")


def explain(outcome: Completion | AdapterError, names: OptionNames, *, with_hint: bool = False) -> bool:
    """Write the next step after an outcome to standard error, and return whether one exists (E1, F9)."""
    if not isinstance(outcome, Completion | BackendError):
        report_error(names(str(outcome)))
    elif outcome.advice is not None and (with_hint or outcome.hint is None):
        report_error(names(outcome.advice))
    else:
        return False
    return True


def exit_status(outcome: Completion | AdapterError, stop: StopSignals) -> int:
    """Return the exit status of a run with this outcome (E1)."""
    match outcome:
        case Completion(status=status, ok=ok):
            if (number := status.signal_number) is not None:
                return 128 + number
            return status.code or (0 if ok else _NOT_OK)
        case RunCancelled() if stop.exit_status is not None:
            return stop.exit_status
        case RunTimedOut():
            return 124
        case SpawnError(not_found=not_found):
            return 127 if not_found else 126
        case BackendError():
            return FAILURE_STATUS
    return 2
