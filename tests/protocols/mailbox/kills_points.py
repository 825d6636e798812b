"""Let a session die at each of its writes in turn: `python -m tests.protocols.mailbox.kills_points`.

The session dies before each write, rename, removal and process start, and after each write. Another process then
resumes it, and the result is compared with that of an undisturbed session. The program prints one line of JSON for
each death that changed the result, and a last line with the number of deaths.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import trio

from codex_adapter.agents import known_places
from codex_adapter.protocols.mailbox.events import MailboxEvent
from codex_adapter.protocols.mailbox.layout import MailboxLayout
from codex_adapter.protocols.mailbox.opening import begin_session, open_session
from codex_adapter.protocols.mailbox.work import MailboxWorker

from .kills_left import differences

ANSWERS: Final[tuple[dict[str, str], ...]] = (
    {},
    {
        "2.txt": '[CREATE_FILE path="new"]\none\n[/CREATE_FILE]\n[CREATE_FILE path="d/e"]\n1\n2\n3\n[/CREATE_FILE]\n'
        '[EDIT_FILE path="d/e" start_line="2" end_line="2"]\ntwo\nzwei\n[/EDIT_FILE]\n'
        '[EDIT_FILE path="d/e" start_line="9" end_line="9"]\nnine\n[/EDIT_FILE]\n'
        '[EDIT_FILE path="old" start_line="1" end_line="1"]\n[/EDIT_FILE]\n'
        '[CREATE_FILE path="new"]\none\n[/CREATE_FILE]\n[CREATE_FILE path="d"]\nno\n[/CREATE_FILE]\n'
        "[RUN_COMMAND]\necho 1 >> ../ledger; cat old\n[/RUN_COMMAND]\n",
        "1.txt": '[RUN_COMMAND]\necho 2 >> ../ledger; exit 3\n[/RUN_COMMAND]\n[DELETE_FILE path="gone"]\n'
        '[DELETE_FILE path="gone"]\n[READ_FILE path="d/e"]\n[MESSAGE]\nHi.\n[/MESSAGE]\n[READ_FILE]\n'
        '[CREATE_FILE path="../x"]\nno\n[/CREATE_FILE]\n',
        "3.txt": '[RUN_COMMAND]\necho 2 >> ../ledger; exit 3\n[/RUN_COMMAND]\n[DELETE_FILE path="gone"]\n'
        '[DELETE_FILE path="gone"]\n[READ_FILE path="d/e"]\n[MESSAGE]\nHi.\n[/MESSAGE]\n[READ_FILE]\n'
        '[CREATE_FILE path="../x"]\nno\n[/CREATE_FILE]\n',
    },
    {"4.txt": '[EDIT_FILE path="new" start_line="1" end_line="1"]\n2\n3\n[/EDIT_FILE]\n[READ_FILE path="new"]\n'},
    {
        "5.txt": "[RUN_COMMAND]\necho 3 >> ../ledger\n[/RUN_COMMAND]\n[DONE]\nAll.\n[/DONE]\n[DONE]\nMore.\n[/DONE]\n",
        "6.txt": "[RUN_COMMAND]\necho 4 >> ../ledger\n[/RUN_COMMAND]\n",
    },
)
"""What is answered to each outbox, the first of them none; what was brought earlier comes first."""
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_EVENTS: Final = frozenset(
    {
        *("os.rename", "os.remove", "os.truncate", "os.mkdir", "os.link", "os.rmdir", "os.chmod"),
        *("subprocess.Popen", "os.posix_spawn", "os.fork", "_posixsubprocess.fork_exec"),
    }
)
_SOON: Final = 60.0


def main() -> int:
    """The exit status is 1 where some death left a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.protocols.mailbox.kills_points", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="die at each N-th point only (default: 1)")
    parser.add_argument("--again", type=int, metavar="SEED", help="the second life dies, too, at a random point")
    options = parser.parse_args()
    random = None if options.again is None else Random(options.again)
    with tempfile.TemporaryDirectory(prefix="kills-") as directory:
        deaths, failed = _die_everywhere(Path(directory), options.every, random)
    print(json.dumps({"deaths": deaths, "failed": failed}))
    return 1 if failed else 0


def _die_everywhere(directory: Path, every: int, random: Random | None) -> tuple[int, int]:
    """How many deaths there were, and how many left a difference."""
    steps = _undisturbed(directory)
    deaths = failed = 0
    for step, (before, after) in enumerate(steps):
        at = 1 + step % every
        while (death := _dies(directory, before, step, at)) is not None:
            deaths += 1
            if random is not None:
                _live(directory / "place", step, at=random.randint(1, 40))
            _go_on(directory / "place", step)
            wrong = differences(after, directory / "place")
            failed += bool(wrong)
            if wrong:
                print(json.dumps({"step": step, "at": at, "death": death, "wrong": wrong}), flush=True)
            at += every
    return deaths, failed


def _undisturbed(directory: Path) -> list[tuple[Path, Path]]:
    """What there is before and behind each step."""
    place = directory / "place"
    (place / "workspace").mkdir(parents=True)
    (place / "workspace" / "old").write_bytes(b"first\r\nsecond")
    (place / "workspace" / "gone").write_bytes(b"x")
    kept: list[tuple[Path, Path]] = []
    for step, answers in enumerate(ANSWERS):
        for number, name in enumerate(answers):
            path = place / "mailbox" / "inbox" / name
            path.write_text(answers[name])
            changed = time.time() - 10_000 + 100 * step + number
            os.utime(path, (changed, changed))
        before = _copy(place, directory / f"before_{step}")
        _go_on(place, step)
        kept.append((before, _copy(place, directory / f"behind_{step}")))
    return kept


def _copy(place: Path, to: Path) -> Path:
    shutil.copytree(place, to)
    return to


def _dies(directory: Path, before: Path, step: int, at: int) -> str | None:
    """Where a life died that begins with what was there before a step; None when it did not."""
    place = directory / "place"
    shutil.rmtree(place)
    shutil.copytree(before, place)
    return _live(place, step, at=at)


def _go_on(place: Path, step: int) -> None:
    """Live until a step is done."""
    for _ in range(3):
        died = _live(place, step, at=0)
        assert died is None, died
        if _sequence(place) > step:
            return
    raise AssertionError(f"step {step} does not end")


def _sequence(place: Path) -> int:
    """The number of the last outbox, one more when the session is complete; 0 where there is none."""
    found = list((place / "mailbox" / "sessions").glob("*.json"))
    if not found:
        return 0
    state: dict[str, Any] = json.loads(found[0].read_bytes())
    return int(state["sequenceNumber"]) + bool(state["isComplete"])


def _live(place: Path, step: int, *, at: int) -> str | None:
    """A life in a process of its own, which dies at its `at`-th point, of 0 never: where it died."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            _Death(at, write).watch(lambda: trio.run(_work, place))
            status = 0
        except Exception as error:  # noqa: BLE001 - told to whoever forked us
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        said = told.read().decode(errors="replace")
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), f"step {step}: {said}"
    return said if status else None


class _Death:
    """Kills this process at a point of its life."""

    def __init__(self, at: int, told: int) -> None:
        self._left = at
        self._told = told

    def watch(self, live: Callable[[], object]) -> None:
        """Live, and die."""
        fsync = os.fsync

        def behind_write(fd: Any) -> None:
            self._pass("fsync", str(Path(f"/proc/self/fd/{fd}").readlink()))
            fsync(fd)

        def audit(event: str, args: tuple[Any, ...]) -> None:
            if event in _EVENTS or (event == "open" and isinstance(args[2], int) and args[2] & _WRITING):
                self._pass(event, args[0])

        os.fsync = behind_write
        sys.addaudithook(audit)
        live()

    def _pass(self, event: str, subject: object) -> None:
        self._left -= 1
        if self._left == 0:
            os.write(self._told, f"{event} {subject!r}".encode())
            os.kill(os.getpid(), signal.SIGKILL)


async def _work(place: Path) -> None:
    """One life: a session is begun or gone on with, and one round is carried out."""
    places = MailboxLayout(place / "mailbox")
    if _sequence(place) == 0:
        with begin_session(
            places, place / "workspace", "Task", _observe, agents=known_places(), sandbox=None, clock=_clock
        ) as session:
            await session.write_outbox()
        return
    if _is_complete(place):
        return
    with open_session(places, None, _observe, agents=known_places(), sandbox=None, clock=_clock) as session:
        with trio.fail_after(_SOON):
            await MailboxWorker(places, session, _observe).run(once=True)


def _is_complete(place: Path) -> bool:
    return any(json.loads(path.read_bytes())["isComplete"] for path in _sessions(place))


def _sessions(place: Path) -> Iterator[Path]:
    return (place / "mailbox" / "sessions").glob("*.json")


def _clock() -> str:
    return "2026-01-01T00:00:00Z"


async def _observe(_: MailboxEvent) -> None:
    await trio.lowlevel.checkpoint()


if __name__ == "__main__":
    sys.exit(main())
