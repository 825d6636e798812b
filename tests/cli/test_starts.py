"""Test the start of a command: no `/dev/null`, and a signal during imports."""

from __future__ import annotations

import signal
import sys
import tomllib
from pathlib import Path

import pytest

from .command import Cli

ROOT = Path(__file__).parents[2]
NO_NULL = """
import os, runpy, sys
system_open = os.open
def guarded_open(path, flags, *args, **kwargs):
    if path == os.devnull and flags & os.O_ACCMODE == os.O_RDWR:
        raise PermissionError(13, "Permission denied", path)
    return system_open(path, flags, *args, **kwargs)
os.open = guarded_open
runpy.run_module("codex_adapter", run_name="__main__", alter_sys=True)
"""
INTERRUPT = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"


@pytest.mark.rule("C7")
@pytest.mark.fault(
    "environment", "`/dev/null` cannot be opened", "The command does not need it if every standard stream is open"
)
def test_open_standard_descriptors_need_no_null_device(cli: Cli) -> None:
    done = cli.finish(cli.start("--help", program=(sys.executable, "-c", NO_NULL)))
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.startswith(b"usage: ")


@pytest.mark.rule("C7", "E1")
def test_a_closed_descriptor_without_a_null_device_is_reported(cli: Cli) -> None:
    program = ("/bin/sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", NO_NULL)
    done = cli.finish(cli.start("--help", program=program))
    assert (done.status, done.stdout) == (125, b"")
    assert done.complaint == (
        "A standard stream (input, output or error) is closed, and /dev/null cannot be opened "
        "(Permission denied). Open the stream, or allow access to /dev/null."
    )


def entry_point() -> str:
    """The program of the console script, as installers write it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["codex-adapter"].partition(":")
    return f"import sys; from {module} import {function}; sys.exit({function}())"


@pytest.mark.rule("E4")
@pytest.mark.parametrize("module", ["argparse", "msgspec", "trio"])
@pytest.mark.parametrize("program", [("-m", "codex_adapter"), ("-c", entry_point())], ids=["module", "script"])
@pytest.mark.fault(
    "signals", "The command receives SIGINT while it imports its modules", "It dies of the signal without output"
)
def test_an_interrupt_while_modules_are_loaded_is_quiet(cli: Cli, program: tuple[str, str], module: str) -> None:
    (cli.directory / f"{module}.py").write_text(INTERRUPT)
    cli.env["PYTHONPATH"] = str(cli.directory)
    with cli.start("run", "x", program=(sys.executable, *program)) as process:
        done = cli.finish(process)
    assert (done.status, done.stdout, done.stderr) == (-signal.SIGINT, b"", "")
