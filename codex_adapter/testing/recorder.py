"""Plays a case of the catalogue against a Codex CLI and records what it prints.

    for recording in record(CATALOGUE["resume_id"], "codex", directory): ...

This starts the CLI by itself, and not through the adapter: what is recorded is what the CLI does.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from .catalogue import FIRST_THREAD, Case, Run
from .mcp_server import PIXEL
from .model_server import ModelServer

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
    root = Path(directory).absolute()
    workspace, home = root / "workspace", root / "home"
    for folder in (workspace, home, root / "extra", root / "tmp"):
        folder.mkdir(parents=True)
    for name, text in case.files.items():
        (workspace / name).write_text(text, encoding="utf-8")
    recordings: list[Recording] = []
    with ModelServer(case.scenario) as server:
        # A HOME of its own, so that login shells do not read this user's profile; a TMPDIR, since the CLI makes none of
        # its helper programs, which commands on a terminal need, while CODEX_HOME is below the temporary directory.
        settings = {"CODEX_HOME": server.write_codex_home(root / "codex_home", model=case.model, config=case.config)}
        settings |= {"HOME": str(home), "TMPDIR": str(root / "tmp"), "RUST_LOG": "error"}
        first: str | None = None
        for run in case.runs:
            _write_inputs(run, root)
            argv = command_line(run, binary, first_thread=first)
            before = len(server.requests)
            returncode, stdout = _play(run, argv, root, settings, timeout)
            stderr = (root / STDERR).read_bytes()
            asked = len(server.requests) - before
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
        if session == FIRST_THREAD and first_thread is None:
            raise ValueError("the first run of the case printed no thread id to go on with: look at what it printed")
        if session is not None:
            argv += [command, "--last" if session == "last" else session.replace(FIRST_THREAD, first_thread or "")]
    return [*argv, "-" if run.prompt_by == "stdin" else run.prompt]


def _write_inputs(run: Run, root: Path) -> None:
    (root / PROMPT).write_text("" if run.prompt_by == "argument" else run.prompt, encoding="utf-8")
    for image in run.images:
        (root / "workspace" / image).write_bytes(base64.b64decode(PIXEL))
    if run.output_schema is not None:
        (root / "schema.json").write_bytes(msgspec.json.encode(run.output_schema))


def _play(run: Run, argv: list[str], root: Path, settings: Mapping[str, str], timeout: float) -> tuple[int, bytes]:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stdout, (root / PROMPT).open("rb") as stdin, (root / STDERR).open("wb") as stderr:
        try:
            environment = {**os.environ, **settings}
            process = subprocess.Popen(
                argv, cwd=root / "workspace", env=environment, stdin=stdin, stdout=writer, stderr=stderr
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
    if time.monotonic() >= deadline:
        raise TimeoutError(f"a run took longer than {timeout:g} s: give it a longer timeout, or look at its scenario")
    return returncode, b"".join(lines)


def _listen(run: Run, stdout: BinaryIO, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    for line in stdout:
        if run.signal is not None and b'"item.started"' in line and b"command_execution" in line:
            process.send_signal(signal.Signals[run.signal])
        yield line
