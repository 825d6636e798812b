"""Start descendants of a scripted agent, which a supervisor must find and end.

Import only the standard library, for the reasons in `agent_program`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # these imports would take most of the time
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any, NoReturn

    Step = dict[str, Any]
else:
    import _signal as signal

__all__ = ["ACTIONS"]

LONGEST_LIFE_SECONDS = 600
"""A limit, so that a failed test does not leave processes forever."""


def _start_descendant(step: Step) -> None:
    # A successful exec closes the pipe: the step ends when the descendant executes its program.
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _become_descendant(step, writer)
        finally:
            os._exit(1)
    os.close(writer)
    pid = b"".join(iter(lambda: os.read(reader, 64), b""))
    os.close(reader)
    if step.get("daemon"):
        os.waitpid(child, 0)
    draft = f"{step['pid_file']}.{os.getpid()}"
    with open(draft, "wb") as file:  # noqa: PTH123 - the import of pathlib would take most of the time
        file.write(pid)
    os.replace(draft, step["pid_file"])  # noqa: PTH105 - the same


def _become_descendant(step: Step, writer: int) -> NoReturn:
    if step.get("session"):
        os.setsid()
    if step.get("daemon") and os.fork() != 0:
        os._exit(0)
    for name in step.get("ignore", ()):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    held = {1: step.get("hold_stdout"), 2: step.get("hold_stderr")}
    for number in (0, 1, 2):
        if not held.get(number):
            os.dup2(nothing, number)
    os.write(writer, str(os.getpid()).encode())
    program = [sys.executable, "-I", "-S", "-c", f"import time; time.sleep({LONGEST_LIFE_SECONDS})"]
    environment = {} if step.get("clear_environment") else os.environ
    os.execve(sys.executable, program, environment)  # noqa: S606 - the descendant must execute another program


ACTIONS: dict[str, Callable[[Step], None]] = {"start_descendant": _start_descendant}
"""The functions that execute these steps, by step name (TK2)."""
