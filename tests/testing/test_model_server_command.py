"""Test `python -m codex_adapter.testing.model_server` with a scenario from a file."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.rule("TK1")

COMMAND = [sys.executable, "-W", "error", "-m", "codex_adapter.testing.model_server"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_listens_and_ends_in_order(tmp_path: Path, ending: signal.Signals) -> None:
    path = tmp_path / "scenario.json"
    path.write_text('{"answers":[{"items":[{"item":"message","text":"from a file"}]}]}')
    with subprocess.Popen([*COMMAND, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = urlsplit(json.loads(process.stdout.readline())["base_url"])
        connection = http.client.HTTPConnection("127.0.0.1", url.port or 0, timeout=10)
        connection.request("POST", f"{url.path}/responses", "{}")
        assert b"from a file" in connection.getresponse().read()
        connection.close()
        process.send_signal(ending)
        assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"answers":[{"items":[{"item":"dance"}]}]}', b"$.answers[0].items[0].item"),
        ("{", b"one JSON object"),
        (None, b"cannot be read"),
    ],
)
def test_it_refuses_what_it_cannot_play(tmp_path: Path, text: str | None, reason: bytes) -> None:
    path = tmp_path / "scenario.json"
    if text is not None:
        path.write_text(text)
    done = subprocess.run([*COMMAND, str(path)], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert reason in done.stderr


def test_it_refuses_a_port_that_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run([*COMMAND, str(path), "--port", port], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
