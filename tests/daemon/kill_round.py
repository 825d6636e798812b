"""Play one round: end a part of a supervisor, its daemon and their runs, and check what remains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ..cli.command import ADAPTER
from ..kill_matrix.limits import available, not_held
from ..protocols.rounds import Broken
from ..runtime.survivors import Living
from .kept import Kept, look_at_journal
from .kill_ways import FINITE, TEMPERS, WAYS, Way
from .messages import encode, run
from .workshop import Workshop

__all__ = ["Result", "Round", "play"]

PATIENCE = 60.0
"""Seconds until what must end in order is given up; an agent that hears nothing takes five of them (K4)."""
GONE_WITHIN = 2.0
"""Seconds after which nothing is left of a daemon that was killed (N2)."""
PROGRAM = Path(__file__).with_name("killed_supervisor.py")


class Round(NamedTuple):
    """What happens in one round. `at` is the instant: below 0 so many seconds after the daemon's start, which has said
    nothing then, else so many after its first event."""

    seed: int
    way: Way
    tempers: tuple[str, ...]
    at: float
    max_runs: int
    special: str

    @classmethod
    def of(cls, seed: int) -> Round:
        """The round of a seed; ways that this machine's containment cannot hold are left out."""
        random = Random(seed)
        best = available()[0]
        way = random.choice([way for way in WAYS if not way.row or not not_held(way.row, best, available())])
        tempers = random.choices(FINITE if way.drain else tuple(TEMPERS), k=random.randint(2, 5))
        at = random.uniform(-0.6, -0.01) if random.random() < 0.2 else random.random() ** 2
        return cls(seed, way, tuple(tempers), at, random.choice((2, 32)), random.choice(("", "detach", "credit")))


class Result(NamedTuple):
    """`seconds` after the last step nothing was left; `missed` when a step found nobody, because it came too early or
    too late."""

    round: Round
    kept: Kept
    seconds: float
    missed: bool


def play(round_: Round, directory: Path) -> Result:
    """Play a round in a directory. Raises `Broken`, and AssertionError."""
    workshop = Workshop(directory)
    try:
        seconds, missed = _end_something(round_, workshop)
        kept = look_at_journal(workshop, [f"run{number}" for number in range(len(round_.tempers))])
        if not round_.way.killed and kept.begun != kept.completed:
            raise Broken(f"begun {sorted(kept.begun)}, completed {sorted(kept.completed)}")
        workshop.finish()
    finally:
        workshop.abandon()
    return Result(round_, kept, seconds, missed)


def _end_something(round_: Round, workshop: Workshop) -> tuple[float, bool]:
    place = workshop.directory
    (place / "plan.json").write_bytes(encode(_plan(round_, workshop)))
    with (place / "errors").open("wb") as errors:
        words = [sys.executable, "-IS", str(PROGRAM), str(place)]
        above = subprocess.Popen(words, env=workshop.env, cwd=place, stderr=errors)
    try:
        supervisor, daemon = (int(_until_there(place / f"{who}.pid")) for who in ("supervisor", "daemon"))
        _until_instant(round_.at, place / "heard")
        random = Random(f"steps {round_.seed}")
        taken = [_take(step, supervisor, daemon, workshop, random) for step in round_.way.steps]
        ended = time.monotonic()
        try:
            above.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Broken(f"left after {PATIENCE} s: {workshop.survivors.now()}") from None
        seconds = time.monotonic() - ended
    finally:
        above.kill()
        above.wait()
    if left := workshop.survivors.now():
        raise Broken(f"left: {left}")
    if round_.way.killed and seconds > GONE_WITHIN:
        raise Broken(f"the last of what was left was gone after {seconds:.2f} s")
    ends = dict(line.split() for line in (place / "ends").read_text().splitlines())
    status = int(ends.get("daemon", ends.get(str(daemon), "-1000")))
    # What asks it to end may come before it takes signals, and then kills it.
    early = {-signal.SIGTERM, -signal.SIGHUP} if round_.at < 0 else set()
    if status not in ({-signal.SIGKILL} if round_.way.killed else {0, *early}):
        raise Broken(f"the daemon's status is {status}")
    if complaints := (place / "errors").read_text():
        raise Broken(f"on standard error: {complaints}")
    return seconds, not all(taken)


def _plan(round_: Round, workshop: Workshop) -> dict[str, Any]:
    agents = {temper: workshop.agent(temper, *TEMPERS[temper]) for temper in round_.tempers}
    options = ["--max-runs", str(round_.max_runs), "--on-eof", "drain" if round_.way.drain else "cancel"]
    requests: list[tuple[str, Any]] = [("initialize", {"protocolVersion": "1.0"})]
    for number, temper in enumerate(round_.tempers):
        credit = 7 if round_.special == "credit" and not number else None
        # Each in a directory of its own, so that what they write does not collide.
        work = str(workshop.place(f"work{number}"))
        requests.append(("run/start", run(f"run{number}", credit=credit, env=agents[temper], working_dir=work)))
    if round_.special == "detach":
        requests.append(("run/detach", {"runId": "run0"}))
    requests.append(("run/events", {"runId": "run0"}))
    lines = [
        {"jsonrpc": "2.0", "id": n, "method": method, "params": params} for n, (method, params) in enumerate(requests)
    ]
    return {
        "argv": [
            *ADAPTER,
            "serve",
            "--codex",
            workshop.binary,
            "--journal",
            str(workshop.directory / "journal"),
            *options,
        ],
        "env": workshop.env,
        "lines": [encode(line).decode() for line in lines],
    }


def _until_there(path: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while not path.exists() or not path.read_text():
        if time.monotonic() > deadline:
            raise Broken(f"there is no {path.name}: {path.with_name('errors').read_text()}")
        time.sleep(0.005)
    return path.read_text()


def _until_instant(at: float, heard: Path) -> None:
    if at < 0:
        time.sleep(at + 0.6)
        return
    deadline = time.monotonic() + PATIENCE
    while not heard.exists() or b"run/event" not in heard.read_bytes():
        if time.monotonic() > deadline:
            raise Broken("no event came")
        time.sleep(0.005)
    time.sleep(at)


def _take(step: str, supervisor: int, daemon: int, workshop: Workshop, random: Random) -> bool:
    """Take a step, and tell whether there was somebody to whom it happened."""
    who, _, name = step.partition(" ")
    if who == "eof":
        os.kill(supervisor, signal.SIGUSR1)
        return True
    found = workshop.survivors.now() if who in ("agent", "guard", "all") else []
    agents = [process.pid for process in found if "/agents/" in process.argv]
    guards = [process.pid for process in found if _is_guard(process, found, armed=name == "STOP")]
    pids = {
        "supervisor": [supervisor],
        "daemon": [daemon],
        "agent": random.sample(agents, min(len(agents), 1)),
        "guard": random.sample(guards, min(len(guards), 1)),
        "all": [supervisor, daemon, *guards, *agents],
    }
    number = signal.Signals[f"SIG{name}"]
    for pid in pids[who]:
        with suppress(ProcessLookupError):  # it may have come to its end by itself
            os.kill(pid, number)
    if number == signal.SIGSTOP:
        time.sleep(random.uniform(0.02, 0.3))
    return bool(pids[who])


def _is_guard(process: Living, found: Sequence[Living], *, armed: bool) -> bool:
    """Whether it guards; when it has to be `armed`, a run whose agent is there: one that was stopped before it could
    ask the kernel to let it die with the adapter is stopped for ever."""
    if "guard.py" not in process.argv:
        return False
    below = [other for other in found if other.parent == process.pid]
    return not armed or any("/agents/" in it.argv or _is_guard(it, found, armed=True) for it in below)
