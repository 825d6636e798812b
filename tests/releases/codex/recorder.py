"""Play a case of the catalogue with a Codex CLI and record its output.

    for recording in record(CATALOGUE["resume_id"], "codex", directory): ...

The recorder starts the CLI directly and not through the adapter, so that it records only the behaviour of the CLI.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from .catalogue import Case, Run
from .stage import Stage, set_stage, thread_to_continue

__all__ = ["Recording", "command_line", "record"]


PROMPT, STDERR = "prompt", "stderr"


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of a case gave: `returncode` is as in `subprocess`, `requests` what the model was asked for it."""

    run: str
    argv: list[str]
    returncode: int
    stdout: bytes
    stderr: bytes
    requests: int

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of stdout, decoded; raises ValueError when one of them is no JSON."""
        return [json.loads(line) for line in self.stdout.split(b"\n") if line]

    @property
    def thread_id(self) -> str | None:
        """The id of the thread that the run was about, None when it printed none."""
        found = re.search(rb'"thread_id":"([^"]+)"', self.stdout)
        return None if found is None else found[1].decode()


def record(case: Case, binary: str, directory: str | os.PathLike[str], *, timeout: float = 60.0) -> list[Recording]:
    """Play all runs of a case, with everything it writes below `directory`, which must be empty or missing (TK4).

    Raises TimeoutError when a run takes longer than `timeout` seconds, and OSError when it cannot be started.
    """
    recordings: list[Recording] = []
    with set_stage(case, Path(directory).absolute()) as stage:
        first: str | None = None
        for run in case.runs:
            stage.write_inputs(run)
            argv = command_line(run, binary, first_thread=first)
            before = len(stage.server.requests)
            returncode, stdout, stderr = _play(run, argv, stage, timeout)
            asked = len(stage.server.requests) - before
            done = Recording(
                run=run.name, argv=argv, returncode=returncode, stdout=stdout, stderr=stderr, requests=asked
            )
            recordings.append(done)
            first = first or done.thread_id
    return recordings


def command_line(run: Run, binary: str, *, first_thread: str | None = None) -> list[str]:
    """The arguments of the CLI for this run; raises ValueError when it needs a `first_thread` and gets none."""
    argv = [binary, "--ask-for-approval", run.approval, "exec", "--color", "never", "--json"]
    argv += [word for image in run.images for word in ("--image", image)]
    argv += ["--skip-git-repo-check"] if run.skip_git_check else []
    argv += ["--sandbox", run.sandbox]
    argv += [word for directory in run.add_dirs for word in ("--add-dir", directory)]
    argv += ["--output-schema", "../schema.json"] if run.output_schema is not None else []
    argv += run.arguments
    for command, session in (("resume", run.resume), ("fork", run.fork)):
        if session is not None:
            argv += [command, "--last" if session == "last" else thread_to_continue(session, first_thread)]
    return [*argv, "-" if run.prompt_by == "stdin" else run.prompt]


def _play(run: Run, argv: list[str], stage: Stage, timeout: float) -> tuple[int, bytes, bytes]:
    beside = stage.workspace.parent
    (beside / PROMPT).write_text("" if run.prompt_by == "argument" else run.prompt, encoding="utf-8")
    environment = {**os.environ, **stage.env}
    reader, writer = os.pipe()
    with (
        os.fdopen(reader, "rb") as stdout,
        (beside / PROMPT).open("rb") as stdin,
        (beside / STDERR).open("wb") as stderr,
    ):
        try:
            process = subprocess.Popen(
                argv, cwd=stage.workspace, env=environment, stdin=stdin, stdout=writer, stderr=stderr
            )
        finally:
            os.close(writer)
        deadline = time.monotonic() + timeout
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        try:
            lines = list(_listen(run, stdout, process))
            returncode = process.wait()
        finally:
            timer.cancel()
            process.kill()
            process.wait()
        said = (beside / STDERR).read_bytes()
    if time.monotonic() >= deadline:
        raise TimeoutError(f"a run took longer than {timeout:g} s: give it a longer timeout, or look at its scenario")
    return returncode, b"".join(lines), said


def _listen(run: Run, stdout: BinaryIO, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    for line in stdout:
        if run.signal is not None and b'"item.started"' in line and b"command_execution" in line:
            process.send_signal(signal.Signals[run.signal])
        yield line
