"""Run turns with the real CLI in processes of which one may be killed at a random instant."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any, NamedTuple

from codex_adapter.protocols.turns import RunTurnRequest, SpaceSpec

from ..protocols.rounds import Broken
from ..protocols.turns.event_rules import check_events
from ..waiting import SOON
from .house import turn_program
from .stage import Stage

__all__ = ["Instant", "MortalTalk", "Told", "check"]


class Instant(NamedTuple):
    """So many seconds after the so-and-so-many-th event, of event 0 after the start; and who is killed then."""

    event: int
    seconds: float
    who: str


class Told(NamedTuple):
    """The events of a turn, as far as they came, and whether it was killed."""

    events: list[dict[str, Any]]
    killed: bool

    @property
    def key(self) -> str | None:
        """The conversation's, where it was told."""
        return next((event["harnessSessionId"] for event in self.events if "harnessSessionId" in event), None)

    @property
    def final(self) -> str | None:
        """What the agent said in the end, of a turn that went well."""
        result = self.events[-1].get("result", {}) if self.events else {}
        return result.get("finalOutput") if result.get("success") else None

    @property
    def code(self) -> str | None:
        """Why the turn was refused, where it was for a reason that has a code."""
        result = self.events[-1].get("result", {}) if self.events else {}
        code: str | None = result.get("error", {}).get("code")
        return code


class MortalTalk:
    """A conversation, turn by turn, each in a process of its own."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._key: str | None = None
        self._number = 0
        self._has_spoken = False
        self.begun_anew = 0

    def turn(self, instant: Instant | None) -> Told:
        """One turn, which may be killed at an instant; nothing of it is left then."""
        self._number += 1
        with self._running() as process:
            told = Told(*_listen(self._stage, process, instant))
        left = self._stage.oracle.wait_gone(SOON)
        check(left == [], f"processes are left: {left}")
        whole = told.events and told.events[-1]["type"] == "complete"
        for number, event in enumerate(told.events, 1):
            check(event["seq"] == number, f"seq {event['seq']} in place {number}")
        if whole:
            check_events(told.events, "talk", f"turn-{self._number}", key=self._key)
        check(bool(whole) or told.killed, "a turn that nobody killed has no end")
        check(told.key is None or self._key in (None, told.key), "another key than before")
        if self._key is not None and whole and not told.killed and told.final is None:
            check(told.code == "harness_session_not_found" and not self._has_spoken, f"goes on: {told.events[-1]}")
            self._key = None
            self.begun_anew += 1
            return self.turn(instant)
        self._key = told.key or self._key
        self._has_spoken |= any(event["type"] in ("tool_call", "message_delta") for event in told.events)
        return told

    @contextmanager
    def _running(self) -> Iterator[subprocess.Popen[bytes]]:
        stage = self._stage
        request = RunTurnRequest(
            external_session_id="talk",
            external_run_id=f"turn-{self._number}",
            asp_home=str(stage.root / "asp"),
            spec=SpaceSpec(spaces=("space:house@^1",)),
            harness=stage.harness_id,
            harness_session_id=self._key,
            cwd=str(stage.workspace),
            env=stage.env,
            prompt=f"This is turn {self._number}.",
        )
        program = turn_program(stage, request)
        env = {**os.environ, **request.env}
        with subprocess.Popen(program, env=env, stdout=subprocess.PIPE, start_new_session=True) as process:
            try:
                yield process
            finally:
                process.kill()


def _listen(stage: Stage, process: subprocess.Popen[bytes], instant: Instant | None) -> tuple[list[Any], bool]:
    """The whole events until the end of the output, and whether the instant came before."""
    killed: list[bool] = []
    timer: Timer | None = None
    events: list[Any] = []

    def kill() -> None:
        assert instant is not None
        killed.append(True)
        stage.oracle.look()
        if instant.who != "agent":
            process.kill()
        if instant.who != "process":
            with suppress(LookupError, ProcessLookupError):
                os.kill(stage.agent_pid(), signal.SIGKILL)

    def arm() -> Timer | None:
        if instant is None or instant.event != len(events):
            return timer
        armed = Timer(instant.seconds, kill)
        armed.start()
        return armed

    timer = arm()
    for line in process.stdout or ():
        if line.endswith(b"\n"):
            events.append(json.loads(line))
            timer = arm()
    if timer is not None:
        timer.cancel()
        timer.join()
    return events, bool(killed)


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)
