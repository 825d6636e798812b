"""The page in a real browser, where there is one: it is drawn, nothing runs, and the console stays empty."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from codex_adapter.cli.page import page
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from .journal_lines import STORY, Line, journal, records, runs

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.rule("C10"),
    pytest.mark.nightly,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]
INJECTION = "</script></style><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
HOSTILE: list[Line] = [
    (1, line) for line in (thread_started(), turn_started(), agent_message("a", INJECTION), turn_completed())
]


class Drawn(NamedTuple):
    """What the browser made of a page."""

    dom: str
    console: list[str]


def draw(html: bytes, directory: Path, *words: str) -> Drawn:
    """Open a page without a network."""
    file = directory / "page.html"
    file.write_bytes(html)
    command = [
        *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
        *(f"--user-data-dir={directory / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-sync"),
        *("--disable-background-networking", "--enable-logging=stderr", *words, file.as_uri()),
    ]
    environ = {"PATH": os.environ["PATH"], "HOME": str(directory), "XDG_RUNTIME_DIR": str(directory)}
    done = subprocess.run(command, capture_output=True, timeout=120, check=True, env=environ)
    said = done.stderr.decode(errors="replace").splitlines()
    return Drawn(done.stdout.decode(), [line for line in said if "CONSOLE" in line])


def of(lines: list[Line]) -> bytes:
    """The page of a run with these lines."""
    return page(runs(journal(records(lines))))


def test_a_story_is_drawn(tmp_path: Path) -> None:
    drawn = draw(of(STORY), tmp_path, "--dump-dom")
    assert drawn.console == []
    for told in ("Completed", "$ make all", "The answer.", "error: no rule", "Turn 1"):
        assert told in drawn.dom


@pytest.mark.parametrize("words", [(), ("--force-dark-mode",)], ids=["light", "dark"])
def test_it_has_a_picture(tmp_path: Path, words: tuple[str, ...]) -> None:
    picture = tmp_path / "page.png"
    drawn = draw(of(STORY), tmp_path, f"--screenshot={picture}", "--window-size=390,1200", *words)
    assert drawn.console == []
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


def test_what_an_agent_says_does_not_run(tmp_path: Path) -> None:
    drawn = draw(of(HOSTILE), tmp_path, "--dump-dom")
    assert drawn.console == []
    assert "<title>Completed - codex-adapter</title>" in drawn.dom
    assert "<script" not in drawn.dom
    assert "<img" not in drawn.dom


def test_even_what_got_in_could_not_run_and_the_console_would_say_so(tmp_path: Path) -> None:
    broken = of(HOSTILE).replace(b"<main>", b"<main>" + INJECTION.encode() + b'<p style="color: red">x</p>')
    drawn = draw(broken, tmp_path, "--dump-dom")
    assert "<title>Completed - codex-adapter</title>" in drawn.dom
    assert any("Content Security Policy" in line for line in drawn.console)
