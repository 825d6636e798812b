"""Measure the cost of a start: `python -m benchmarks.start [--rounds N] [--instructions]`.

The measure is CPU seconds of complete processes and their children, beside those of a process that only imports trio
and msgspec. The commands take turns, and a ratio is the median of the ratios of the rounds, so that other load slows
both sides.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

__all__ = ["main"]

_LINE: Final = '{"type":"turn.completed","usage":{}}'
_BASE: Final = "import trio, msgspec"
_COLLECTED: Final = re.compile(r"Collected : ([0-9]+)")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="rounds, after one that does not count (default: 21)")
    parser.add_argument(
        "--instructions", action="store_true", help="also count those of the process itself, with valgrind; slow"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(Path(folder))
        environment = _environment(Path(folder))
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(options.rounds + 1):
            for name, words in commands.items():
                used = _cpu_seconds(words, environment)
                if number > 0:
                    seconds[name].append(used)
        counts: dict[str, int | None] = {}
        if options.instructions:
            counts = {name: _instructions(words, environment) for name, words in commands.items()}
    _print(seconds, counts)


def _commands(folder: Path) -> dict[str, list[str]]:
    """What is compared, the base first."""
    agent, recording = folder / "agent", folder / "recorded.jsonl"
    agent.write_text(f"#!/bin/sh\necho '{_LINE}'\n")
    agent.chmod(0o755)
    recording.write_text(f"{_LINE}\n")
    python, adapter = [sys.executable, "-c"], [sys.executable, "-m", "codex_adapter"]
    return {
        _BASE: [*python, _BASE],
        "import codex_adapter": [*python, "import codex_adapter"],
        "... Pipeline": [*python, "from codex_adapter import Pipeline"],
        "... open_run": [*python, "from codex_adapter import open_run"],
        "--help": [*adapter, "--help"],
        "run --help": [*adapter, "run", "--help"],
        "schema": [*adapter, "schema"],
        "replay of a line": [*adapter, "replay", str(recording)],
        "run of a line": [*adapter, "run", "--codex", str(agent), "x"],
        "an empty program": [*python, ""],
    }


def _environment(folder: Path) -> dict[str, str]:
    """Compiled modules are kept for this measurement alone: the first round compiles them, for both sides."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def _cpu_seconds(words: list[str], environment: dict[str, str]) -> float:
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1)]
    pid = os.posix_spawn(words[0], words, environment, file_actions=nothing)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} failed with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def _instructions(words: list[str], environment: dict[str, str]) -> int | None:
    """None for a command that does not work under valgrind: a run, which needs system calls that it lacks."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *words],
        env={**environment, "PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found = _COLLECTED.search(done.stderr)
    return int(found[1]) if found is not None and done.returncode == 0 else None


def _print(seconds: dict[str, list[float]], counts: dict[str, int | None]) -> None:
    rounds = len(seconds[_BASE])
    base = counts.get(_BASE)
    print(f"CPU of whole processes; median of {rounds} rounds; Python {sys.version.split()[0]}")
    print(f"{'':<24}{'ms':>8}{'ratio':>8}" + (f"{'Minstr.':>10}{'ratio':>8}" if base else ""))
    for name, used in seconds.items():
        ratio = median(ours / against for ours, against in zip(used, seconds[_BASE], strict=True))
        row = f"{name:<24}{median(used) * 1e3:>8.1f}{ratio:>8.3f}"
        if base and (count := counts[name]):
            row += f"{count / 1e6:>10.1f}{count / base:>8.3f}"
        print(row)


if __name__ == "__main__":
    main()
