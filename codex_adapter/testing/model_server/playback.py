"""Select the answer to each model request, by the scenario's order and routes."""

from __future__ import annotations

import re
import threading
from collections import deque
from typing import Any

from ..scenario import Answer, Scenario

__all__ = ["Playback"]

KEPT_REQUESTS = 256
"""The limit of recorded requests. In a long session, each request contains the whole history."""


class Playback:
    """The state of a scenario that is played. It can be used from several threads. (TK1)"""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._patterns = [re.compile(route.match) for route in scenario.routes]
        self._taken = [0] * (len(scenario.routes) + 1)
        self._changed = threading.Condition()
        self._requests: deque[dict[str, Any]] = deque(maxlen=KEPT_REQUESTS)
        self._count = 0
        self._gates: set[str] = set()
        self._closed = False

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The recorded requests, the oldest first."""
        with self._changed:
            return list(self._requests)

    def take(self, request: dict[str, Any], body: str) -> tuple[Answer, int]:
        """Return the answer to this request, and the number of the request, counted from 1."""
        with self._changed:
            self._requests.append(request)
            self._count += 1
            self._changed.notify_all()
            for index, pattern in enumerate(self._patterns):
                if pattern.search(body):
                    answers = self._scenario.routes[index].answers
                    return answers[min(self._next(index), len(answers) - 1)], self._count
            place = self._next(-1)
            if place < len(self._scenario.answers):
                return self._scenario.answers[place], self._count
            return self._scenario.fallback or _used_up(len(self._scenario.answers)), self._count

    def wait_for_requests(self, count: int, timeout: float) -> bool:
        """Wait until this many requests have arrived. Return False after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._count >= count, timeout)

    def open_gate(self, name: str) -> None:
        """Release the answers that wait at the gate of this name, now and later."""
        with self._changed:
            self._gates.add(name)
            self._changed.notify_all()

    def wait_for_gate(self, name: str) -> None:
        """Wait until the gate is open. Raise ConnectionAbortedError if the playback ends."""
        with self._changed:
            self._changed.wait_for(lambda: name in self._gates or self._closed)
            self._check()

    def pause(self, seconds: float) -> None:
        """Wait this long. Raise ConnectionAbortedError if the playback ends."""
        with self._changed:
            if seconds > 0:
                self._changed.wait_for(lambda: self._closed, seconds)
            self._check()

    def close(self) -> None:
        """End all waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _check(self) -> None:
        if self._closed:
            raise ConnectionAbortedError("the server stops")

    def _next(self, index: int) -> int:
        place = self._taken[index]
        self._taken[index] += 1
        return place


def _used_up(count: int) -> Answer:
    # Recorded runs quote this message.
    message = f"the scenario has {count} answers and this request wants one more: add an answer or a fallback"
    return Answer(status=400, body={"error": {"message": message, "type": "invalid_request_error"}})
