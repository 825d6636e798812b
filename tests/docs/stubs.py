"""Replace what a page cannot do in a test: reach a network, become root, log in. This list is all of it (DC11)."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

__all__ = ["STUBS", "write_stubs"]

DONE: Final = "exit 0"
STAND_IN: Final = Path(__file__).with_name("socket_stand_in.py")
VENV: Final = """
[ "$1 $2" != "-m tests.affected" ] || exit 0
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin"
  for program in python pip pytest ruff mypy tox codex-adapter; do ln -sf "$(command -v "$program")" "$3/bin/"; done
  echo : > "$3/bin/activate"
  exit 0
fi
"""
COMMANDS: Final = """
case "$*" in
  "login --codex-home "*) cp -r "$CODEX_HOME" "$3"; exit 0 ;;
  login*) cat >/dev/null; exit 0 ;;
  *--orphans*) exit 0 ;;
esac
"""
STUBS: Final[dict[str, tuple[str, str]]] = {
    # program: (what takes its place, why)
    "pip": (DONE, "installs from a package index"),
    "pipx": (DONE, "installs from a package index"),
    "uvx": ('shift 2; exec "$@"', "installs from a package index, then runs the command"),
    "npm": ('mkdir -p node_modules; [ "$2" != --prefix ] || { mkdir -p "$3/node_modules/.bin"; '
            'ln -sf "$REAL_CODEX" "$3/node_modules/.bin/codex"; }', "installs from a package index"),
    "useradd": (DONE, "needs root"),
    "systemctl": (f'[ "$1" != enable ] || exec {shlex.quote(sys.executable)} {shlex.quote(str(STAND_IN))} "$SOCKET"',
                  "needs systemd: a program listens in its place"),
    "socat": (DONE, "is for a person who types"),
    "docker": (DONE, "needs a Docker daemon, which the tests do not have"),
    "ssh": ('cat >/dev/null; cat "$HOME/answer.txt"', "needs another machine: answers the mailbox"),
    "tox": (DONE, "the tests would run the tests"),
    "pytest": (DONE, "the tests would run the tests"),
    "ruff": (DONE, "the gate runs it"),
    "mypy": (DONE, "the gate runs it"),
    "codex-adapter": (f'{COMMANDS}exec {shlex.quote(sys.executable)} -m codex_adapter "$@"',
                      "`login` needs an account, `--orphans` finds what other tests left; all other commands are real"),
    "python": (f'{VENV}exec {shlex.quote(sys.executable)} "$@"', "`-m venv` takes long; tests would run tests"),
    "python3": (f'{VENV}exec {shlex.quote(sys.executable)} "$@"', "`-m venv` takes long; tests would run tests"),
}  # fmt: skip
"""Programs that pages call, each with the shell text that takes its place in the tests, and the reason."""


def write_stubs(directory: Path) -> None:
    """Write the stubs as programs of this directory, which is made."""
    directory.mkdir(parents=True)
    for name, (text, _) in STUBS.items():
        (directory / name).write_text(f"#!/bin/sh\n{text}\n")
        (directory / name).chmod(0o755)
