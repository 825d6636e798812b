"""Speak to a daemon as a supervisor does, and keep each line with the name of its definition in the schema."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

__all__ = ["Conversation"]

MOST_SECONDS: Final = 60


class Conversation:
    """A daemon and the lines to and from it.

    As a context manager it starts the daemon, and at the end kills it if it still runs.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._command = [*command]
        self._env = dict(env)
        self._lines: list[tuple[str, Any]] = []
        self._methods: dict[Any, str] = {}

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, env=self._env, text=True)
        self._watchdog = threading.Timer(MOST_SECONDS, self._process.kill)
        self._watchdog.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._watchdog.cancel()
        self._process.kill()
        with self._process:
            pass

    def send(self, method: str, **params: Any) -> int:
        """Send a request, and return its id."""
        id_ = len(self._methods) + 1
        self._methods[id_] = method
        self._send({"jsonrpc": "2.0", "id": id_, "method": method, **({"params": params} if params else {})})
        return id_

    def notify(self, method: str) -> None:
        """Send a request without an id, which has no answer."""
        self._send({"jsonrpc": "2.0", "method": method})

    def answer(self, id_: int) -> Any:
        """Return the result of a request. Raise ValueError if the daemon refused it."""
        message = self._until(lambda it: it.get("id") == id_ and "method" not in it)
        if "error" in message:
            raise ValueError(f"{self._methods[id_]} was refused: {message['error']}")
        return message["result"]

    def call(self, method: str, **params: Any) -> Any:
        """Send a request, and return its result. Raise ValueError if the daemon refused it."""
        return self.answer(self.send(method, **params))

    def refusal(self, method: str, **params: Any) -> None:
        """Send a request that the daemon refuses."""
        self.until_refused(self.send(method, **params))

    def until_refused(self, id_: int) -> None:
        """Wait for the error of a request."""
        self._until(lambda it: it.get("id") == id_ and "error" in it)

    def until_event(self, run_id: str) -> None:
        """Wait for an event of a run."""
        self._until(lambda it: it.get("method") == "run/event" and it["params"]["runId"] == run_id)

    def until_completed(self, run_id: str) -> None:
        """Wait for the completion of a run."""
        self._until(lambda it: it.get("method") == "run/completed" and it["params"]["runId"] == run_id)

    def until_turn_event(self, run_id: str, kind: str) -> None:
        """Wait for an event of a turn, of this type."""
        self._until(
            lambda it: (
                it.get("method") == "turns/event"
                and it["params"]["externalRunId"] == run_id
                and it["params"]["event"]["type"] == kind
            )
        )

    def close(self) -> list[tuple[str, Any]]:
        """Wait for the end of the daemon, and return all lines, each with the name of its definition."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        while self._receive() is not None:
            pass
        return self._lines

    def _send(self, message: Any) -> None:
        self._lines.append((f"{_title(message['method'])}Call", message))
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _until(self, wanted: Callable[[Any], bool]) -> Any:
        while (message := self._receive()) is not None:
            if wanted(message):
                return message
        raise EOFError(f"the daemon ended; the last lines: {self._lines[-3:]}")

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            return None
        message = json.loads(line)
        self._lines.append((self._name(message), message))
        return message

    def _name(self, message: Any) -> str:
        if "method" in message:
            return f"{_title(message['method'])}Notification"
        return "Refusal" if "error" in message else f"{_title(self._methods[message['id']])}Answer"


def _title(method: str) -> str:
    return re.sub(r"(?:^|/)([a-z])", lambda match: match[1].upper(), method)
