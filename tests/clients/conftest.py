"""Run programs that use a client, with the installed `codex-adapter`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from codex_adapter.testing import Step, write_agent

from ..cli.command import Cli
from ..needs import missing
from ..runtime.survivors import Survivors
from ..waiting import SOON

CLIENT: Final = Path(__file__).parents[2] / "clients" / "typescript" / "codex-adapter.mjs"
PRELUDE: Final = f"""
import * as client from {json.dumps(CLIENT.as_uri())};
import {{ inspect }} from "node:util";
const {{ run, openDaemon, AdapterError }} = client;
const [codex, ...words] = process.argv.slice(1);
const args = ["--codex", codex];
const say = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
const caught = (promise) => promise.then((it) => ({{ it }}), (error) => error);
"""


class Node:
    """Node programs that use the client, in a directory of their own."""

    def __init__(self, cli: Cli, survivors: Survivors) -> None:
        self.cli = cli
        self.survivors = survivors

    def agent(self, *steps: Step, name: str = "codex") -> str:
        """Return the path of a scripted agent."""
        return write_agent(self.cli.directory / "bin", steps, name=name)

    @contextmanager
    def start(self, program: str, *words: str, **popen: Any) -> Iterator[subprocess.Popen[bytes]]:
        """Start a program, which is killed when it takes too long."""
        process = self.cli.start(
            *("--input-type=module", "--eval", PRELUDE + program, "--", *words),
            program=("node",),
            stdin=subprocess.DEVNULL,
            bufsize=0,
            **popen,
        )
        watch = threading.Timer(SOON, process.kill)
        watch.start()
        try:
            with process:
                yield process
        finally:
            watch.cancel()

    def run(self, program: str, *words: str) -> Any:
        """Return what a program says, from its start to its end; it must end well and without a complaint."""
        with self.start(program, *words) as process:
            done = self.cli.finish(process)
        assert (done.status, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A directory in which programs work; after the test no process of it may be left."""
    if shutil.which("node") is None:
        missing("node")
    survivors = Survivors(tmp_path)
    cli = Cli(tmp_path)
    cli.env["PATH"] = f"{sysconfig.get_path('scripts')}:{cli.env['PATH']}"
    cli.env |= survivors.env
    try:
        yield Node(cli, survivors)
        assert survivors.soon() == []
    finally:
        survivors.kill()
