"""Answer an outbox with a run of the agent, or with a command of the user (I17)."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import trio
from msgspec.structs import replace

from codex_adapter import AdapterError, Completion, Event, RunRequest
from codex_adapter.prompting import AgentPrompter, OpenRun, PromptedAgent
from codex_adapter.protocols.mailbox.layout import MailboxError
from codex_adapter.protocols.mailbox.messages import MOST_ANSWER_BYTES
from codex_adapter.records import encode_completion, encode_events
from codex_adapter.workspace import Containment, Workspace, WorkspaceError, isolate_environment, run_command

__all__ = ["AgentAnswerer", "AnswerFailed", "Answerer", "CommandAnswerer"]

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OURS: Final = "CODEX_ADAPTER_"
_MOST_OF_STDERR: Final = 1000
_SHELLS_OWN: Final = frozenset({"OPTIND", "PPID", "UID", "EUID", "BASHOPTS", "SHELLOPTS"})
"""Variables that a caller cannot set in some shells."""
_LONGEST_VALUE: Final = 130_000
"""In bytes. Linux does not start a program with a longer variable."""


class AnswerFailed(Exception):
    """No answer exists; the text gives the reason. `outcome` is that of the agent's run, if an agent was prompted."""

    def __init__(self, message: str, outcome: Completion | AdapterError | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome


class Answerer(Protocol):
    """An object that answers one outbox after another."""

    @property
    def kind(self) -> str:
        """The agent kind, or `command` (G1)."""

    async def answer(self, outbox: Path, journal: Path, workspace: str) -> bytes:
        """Return the answer to an outbox. Nothing in `workspace` configures the answerer.

        Raises `AnswerFailed`, and `MailboxError` if `journal` cannot be written.
        """

    def cancel(self) -> None:
        """End the current answer with a stop signal."""

    def kill(self) -> None:
        """End the current answer at once."""


class AgentAnswerer:
    """Run the agent once for each outbox: `request`, with the outbox as its prompt."""

    def __init__(self, agent: PromptedAgent, open_run: OpenRun, request: RunRequest) -> None:
        self.kind: Final = agent.kind
        self._prompter = AgentPrompter(agent, open_run)
        self._request = request
        self.cancel = self._prompter.cancel
        self.kill = self._prompter.kill

    async def answer(self, outbox: Path, journal: Path, workspace: str) -> bytes:
        """Return the answer to an outbox; see `Answerer.answer`."""
        request = replace(self._request, prompt=outbox.read_text(encoding="utf-8"))
        with _Journal(journal) as records:
            outcome, text = await self._prompter.prompt(request, records.write, workspace)
            records.end(outcome)
        if not isinstance(outcome, Completion):
            raise AnswerFailed(str(outcome), outcome)
        if not text:
            raise AnswerFailed("the agent's run ended without an answer", outcome)
        return text.encode()


class _Journal:
    """The file with the records of all runs that answered an outbox. Methods raise `MailboxError`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next_seq = 0

    def __enter__(self) -> _Journal:
        try:
            self._file = self._path.open("a+b", buffering=0)
            self._file.truncate(_whole_size(self._path.read_bytes()))
        except OSError as error:
            raise _unwritten(error) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    async def write(self, events: Sequence[Event]) -> None:
        self._next_seq = events[-1].seq + 1
        self._append(encode_events(events))

    def end(self, outcome: Completion | AdapterError) -> None:
        self._append(encode_completion(self._next_seq, outcome))

    def _append(self, lines: bytes) -> None:
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as error:
            raise _unwritten(error) from None


def _whole_size(data: bytes) -> int:
    """Return the size without an incomplete last line, which a killed writer leaves."""
    return data.rfind(b"\n") + 1


def _unwritten(error: OSError) -> MailboxError:
    return MailboxError(f"journal/ cannot be written to ({os.strerror(error.errno or 0)})")


class CommandAnswerer:
    """Run a shell command of the user that reads the outbox and writes the answer.

    `timeout` is in seconds, None for no limit.
    """

    kind: Final = "command"

    def __init__(self, command: str, *, timeout: float | None = None) -> None:
        self._command = command
        self._timeout = math.inf if timeout is None else timeout
        # The command may be ssh, which fails in a user namespace.
        self._containment = Containment(strongest="guard")
        self._scope = trio.CancelScope()

    def cancel(self) -> None:
        """Kill the command and every process that it started."""
        self._scope.cancel()

    kill = cancel

    async def answer(self, outbox: Path, journal: Path, workspace: str) -> bytes:
        """Return the answer to an outbox; see `Answerer.answer`."""
        with trio.CancelScope() as self._scope:
            try:
                with Workspace(".", agents=()) as here:
                    ran = await run_command(
                        here,
                        f"exec <{shlex.quote(str(outbox))}\n{self._command}",
                        env=_environment(isolate_environment(os.environ, workspace)),
                        timeout=self._timeout,
                        sandbox=None,
                        keep=2 * MOST_ANSWER_BYTES + 2,
                        containment=self._containment,
                    )
            except FileNotFoundError:
                raise AnswerFailed("the working directory does not exist any more. Change to another one") from None
            except WorkspaceError as error:
                raise AnswerFailed(f"the answering command cannot be run: {error.text}") from None
            if ran.timed_out:
                raise AnswerFailed("the answering command took too long and was killed")
            if ran.exit_code:
                stderr = ran.stderr.text()[-_MOST_OF_STDERR:].strip()
                raise AnswerFailed(
                    f"the answering command ended with {ran.exit_code}" + (f": {stderr}" if stderr else "")
                )
            if not ran.stdout.head.strip():
                raise AnswerFailed("the answering command wrote nothing to its standard output")
            # An answer that is too large is an error of the parser.
            return ran.stdout.head
        raise AnswerFailed("the answering command was killed")


def _environment(environ: Any) -> dict[str, str]:
    """Return the variables that a shell passes on unchanged, without the adapter's own."""
    return {
        name: value
        for name, value in environ.items()
        if _VARIABLE.fullmatch(name)
        and not name.startswith(_OURS)
        and name not in _SHELLS_OWN
        and _is_short_text(value)
    }


def _is_short_text(value: str) -> bool:
    try:
        return len(value.encode()) < _LONGEST_VALUE
    except UnicodeEncodeError:
        return False
