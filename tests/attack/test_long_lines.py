"""Test a run that floods a daemon with long lines that contain secrets, next to a run with regular output."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MIB = 15
AGENT = """#!{python}
import json, os, sys, time
if "--version" in sys.argv:
    sys.exit(print("codex-cli 0.163.0"))
floods = "flood" in sys.stdin.read()
def say(text):
    item = {{"id": "i", "type": "agent_message", "text": text}}
    print(json.dumps({{"type": "item.completed", "item": item}}), flush=True)
print(json.dumps({{"type": "thread.started", "thread_id": "0199a213-81c0-7800-8aa1-00000000000" + str(int(floods))}}))
if floods:
    half = "the quick brown fox jumps over the lazy dog " * ({mib} * 2**20 // 88)
    for _ in range(3):
        say(half + os.environ["FIRST_TOKEN"].encode().hex() + " " + half)
else:
    for _ in range(300):
        say(repr(time.time()))
        time.sleep(0.02)
print(json.dumps({{"type": "turn.completed", "usage": {{}}}}))
"""


def lines_of(daemon: subprocess.Popen[bytes]) -> Iterator[tuple[float, bytes]]:
    assert daemon.stdout is not None
    for line in daemon.stdout:
        yield time.time(), line


@pytest.mark.attack
@pytest.mark.rule("J9")
def test_a_run_that_floods_with_encoded_secrets_does_not_delay_another(tmp_path: Path) -> None:
    agent = tmp_path / "codex"
    agent.write_text(AGENT.format(python=sys.executable, mib=MIB))
    agent.chmod(0o755)
    tokens = {f"{name}_TOKEN": f"{name}-Zk3vQ9pL7xWc2RtY8mNb" for name in ("FIRST", *(f"T{n}" for n in range(9)))}
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **tokens}
    command = [sys.executable, "-m", "codex_adapter", "serve", "--codex", str(agent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as daemon:
        assert daemon.stdin is not None

        def send(number: int, method: str, **params: Any) -> None:
            assert daemon.stdin is not None
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            daemon.stdin.write(json.dumps(message).encode() + b"\n")
            daemon.stdin.flush()

        send(1, "initialize", protocolVersion="1.0")
        send(2, "run/start", runId="tick", agentKind="codex", request={"prompt": "tick"})
        late: list[float] = []
        started = 0.0
        masked = completed = 0
        for now, line in lines_of(daemon):
            masked += line.count(b"***")
            assert tokens["FIRST_TOKEN"].encode().hex().encode() not in line
            if b'"run/completed"' in line:
                completed += 1
                if completed == 2:
                    break
            elif b'"runId":"tick"' in line and b'"text":"' in line:
                if not started:
                    started = now
                    threading.Timer(
                        1.0,
                        send,
                        (3, "run/start"),
                        {
                            "runId": "flood",
                            "agentKind": "codex",
                            "request": {"prompt": "flood"},
                        },
                    ).start()
                late += [now - float(text) for text in _texts(json.loads(line)) if float(text) > started + 1]
        daemon.stdin.close()
        assert daemon.wait(20) == 0
    assert masked == 3
    # Of a machine that is busy with other things, a second is no news; it was half a minute.
    assert max(late) < 1.0


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "text" and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
