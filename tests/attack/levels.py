"""Compare the containment level that `doctor` reports with what survives a SIGKILL of the adapter.

    python -m tests.attack.levels --runs 200

The program kills daemons with many runs at random instants: while the agents work, and while they exit. Every agent
starts a daemon that keeps its environment, one that clears it, and one with a double fork. The exit status is 1 if a
process survives although the table of specs/containment.md excludes this.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from ..cli.command import ADAPTER
from ..waiting import became
from .commands import doctor
from .scene import Scene, scene_in

__all__ = ["AT_ONCE", "SURROUNDINGS", "measure"]

SURROUNDINGS: Final = ("nothing_special", "plain_user", "dockerish", "devcontainer", "no_pidfd", "gvisor_like")
KINDS: Final = ("agent", "marked", "cleared", "double fork")
AT_ONCE: Final = 20
GONE_WITHIN: Final = 2.0
"""Seconds after which nothing is left of an adapter that was killed (N2)."""
AGENT: Final = """#!/bin/sh
[ "$1" = --version ] && exec echo codex-cli 0.163.0
sleep {token}1 </dev/null >/dev/null 2>&1 &
env -i PATH="$PATH" setsid sleep {token}2 </dev/null >/dev/null 2>&1 &
(setsid sh -c 'sleep {token}3 & exit' </dev/null >/dev/null 2>&1 &)
echo '{{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}}'
echo '{{"type":"turn.started"}}'
{ending}
"""


def survivors(token: str) -> dict[int, str]:
    """Return the living processes of a round, and of which kind each is."""
    found = {}
    for path in Path("/proc").iterdir():
        with suppress(OSError):
            words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if path.name.isdigit() and words[0] == "sleep" and words[1].startswith(token):
                found[int(path.name)] = KINDS[int(words[1].removeprefix(token))]
    return found


def left_after_kill(scene: Scene, seed: int) -> Counter[str]:
    """Play one round: start a daemon and its runs, kill it, and count what is left."""
    instant = random.Random(seed)
    token = f"{instant.randrange(10**8, 10**9)}{os.getpid()}"
    exits = seed % 2 == 1
    # Up to 290 ms; a shell has no random numbers of its own.
    ending = "n=1$(date +%N); sleep 0.$(printf %02d $((n % 30)))" if exits else f"exec sleep {token}0"
    agent = scene.place / "agent"
    agent.write_text(AGENT.format(token=token, ending=ending))
    agent.chmod(0o755)
    words = (*ADAPTER, "serve", "--codex", str(agent), "--max-runs", str(AT_ONCE))
    with scene.start(program=words, bufsize=0) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        daemon.stdin.write(requests())
        until_all_have_begun(daemon.stdout, AT_ONCE)
        time.sleep(instant.random() * 0.3)
        daemon.send_signal(signal.SIGKILL)
    became(lambda: not survivors(token), within=GONE_WITHIN)
    found = survivors(token)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return Counter(found.values())


def requests() -> bytes:
    """Return the messages that start all runs."""
    calls: list[dict[str, object]] = [{"method": "initialize", "params": {"protocolVersion": "1.0"}}]
    for number in range(AT_ONCE):
        params = {"runId": f"r{number}", "agentKind": "codex", "request": {"prompt": "x"}}
        calls.append({"method": "run/start", "params": params})
    numbered = ({"jsonrpc": "2.0", "id": number, **call} for number, call in enumerate(calls))
    return b"".join(json.dumps(call).encode() + b"\n" for call in numbered)


def until_all_have_begun(output: IO[bytes], runs: int) -> None:
    """Read until each run has had an event or has completed."""
    begun: set[str] = set()
    for line in output:
        record = json.loads(line)
        assert "error" not in record, record
        if record.get("method") in ("run/event", "run/completed"):
            begun.add(record["params"]["runId"])
            if len(begun) == runs:
                return
    raise AssertionError(f"the daemon ended after {len(begun)} of {runs} runs had begun")


def measure(name: str, runs: int, seed: int) -> bool:
    """Print the row of a surrounding; return whether it is as the table says."""
    with scene_in(name) as scene:
        report = json.loads(doctor(scene)[0].stdout)
        [containment] = [finding for finding in report["findings"] if finding["subject"] == "containment"]
        found: Counter[str] = Counter()
        rounds = -(-runs // AT_ONCE)
        for number in range(rounds):
            found += left_after_kill(scene, seed + number)
    cells = " | ".join(str(found[kind]) for kind in KINDS)
    says = re.sub(r" \(also .*?\)", "", containment["found"])
    print(f"| {name} | {says} | {rounds * AT_ONCE} | {cells} |", flush=True)
    return report["containment"] == "process_group" or not found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs in each surrounding")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("surroundings", nargs="*", default=SURROUNDINGS)
    options = parser.parse_args()
    print(f"| surrounding | doctor says | runs | {' | '.join(KINDS)} |\n|---|---|---|{'---|' * len(KINDS)}")
    held = [measure(name, options.runs, options.seed) for name in options.surroundings]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
