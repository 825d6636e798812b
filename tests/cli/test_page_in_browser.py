"""Test the page in a real browser, if one is installed: it renders, runs no script, and logs nothing."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from codex_adapter.cli.view.journal_index import Index, JournalRow
from codex_adapter.cli.view.page import page
from codex_adapter.cli.view.page_index import index_page
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    error,
    thread_started,
    turn_completed,
    turn_started,
)

from ..needs import without
from .journal_lines import STORY, Line, journal, records, runs
from .markdown_texts import EVERYTHING

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.rule("C10"),
    pytest.mark.nightly,
    without("chromium", CHROMIUM is None),
]
INJECTION = "</script></style><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
HOSTILE: list[Line] = [
    (1, line) for line in (thread_started(), turn_started(), agent_message("a", INJECTION), turn_completed())
]
COLUMNS = "|".join(f" column{number} " for number in range(30))
LONG = "".join(f"w{number}" for number in range(200))
WIDE: list[Line] = [
    (0, thread_started()),
    (1, turn_started()),
    (1, error(f"Reconnecting... 1/5 ({LONG})")),
    (1, command_completed("c", f"echo {LONG}", LONG, exit_code=1)),
    (
        1,
        agent_message(
            "a", f"{EVERYTHING}\n\n|{COLUMNS}|\n{'|-' * 30}|\n|{COLUMNS}|\n\n```\n{LONG}\n```\n\n# {LONG}\n\n{LONG}"
        ),
    ),
    (
        1,
        agent_message(
            "b",
            f"- {LONG}\n  - `{LONG}`\n\n    ```\n    {LONG}\n    ```\n\n> |{COLUMNS}|\n> {'|-' * 30}|\n\n<http://a/{LONG}>",
        ),
    ),
    (1, {"type": "turn.completed", "usage": {f"count_of_tokens_{number}": number for number in range(20)}}),
]
"""A run in which everything is wide."""
MEASURE = """<script>
const facts = {inner: innerWidth, page: document.documentElement.scrollWidth, boxes: [], spilled: [], broken: []};
const scrolls = e => ["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(e).overflowX);
for (const box of document.querySelectorAll(".wide")) {
  const before = document.querySelector("h1").getBoundingClientRect().left;
  box.scrollLeft = 40;
  facts.boxes.push({name: box.getAttribute("aria-label") || "Tokens", width: box.clientWidth, content: box.scrollWidth,
    moved: box.scrollLeft, text: document.querySelector("h1").getBoundingClientRect().left - before});
}
for (const e of document.querySelectorAll("main *")) {
  let inside = false;
  for (let up = e; up; up = up.parentElement) inside ||= scrolls(up);
  if (!inside && e.getBoundingClientRect().right > innerWidth + 0.5) facts.spilled.push(e.tagName);
}
for (const cell of document.querySelectorAll(".index th, .index td:not(.words)")) {
  const range = document.createRange();
  range.selectNodeContents(cell);
  if (range.getBoundingClientRect().height > 30) facts.broken.push(cell.textContent);
}
parent.document.title = JSON.stringify(facts);
</script>"""


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


@pytest.mark.rule("C18")
@pytest.mark.parametrize("width", [320, 360, 412, 768, 1280])
def test_what_is_wide_scrolls_by_itself_and_the_text_does_not(tmp_path: Path, width: int) -> None:
    facts = measured(of(WIDE), tmp_path, width)
    assert facts["page"] <= facts["inner"] == width
    assert facts["spilled"] == []
    boxes = [(box["name"], box["content"] > box["width"]) for box in facts["boxes"]]
    assert boxes == [
        ("Code", False),  # those of the short message
        ("Table", False),
        *(("Table", True), ("Code", True), ("Code", True), ("Table", True)),
        ("Tokens", True),
    ]
    assert [box["moved"] > 0 for box in facts["boxes"]] == [wide for _, wide in boxes]
    assert {box["text"] for box in facts["boxes"]} == {0}


@pytest.mark.rule("C21")
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("text", ["Done.", "many words " * 18, "W" * 200], ids=["short", "words", "one word"])
def test_an_index_keeps_short_facts_on_a_line_and_scrolls_by_itself(tmp_path: Path, width: int, text: str) -> None:
    row = JournalRow(
        file=f"{'0199a213-' * 5}.jsonl",
        status="completed",
        ok=True,
        started="2026-11-22T07:07:02.123Z",
        seconds=0.5,
        working_dir="/home/me/" + "a/" * 300,
        labels={"task": text, "team": "a"},
        usage={"input_tokens": 1_000_000, "output_tokens": 20_000},
        final_text=text,
    )
    facts = measured(index_page(Index([row, JournalRow(file="a.jsonl", status="empty")], 0), [], str), tmp_path, width)
    assert facts["page"] <= facts["inner"] == width
    assert (facts["spilled"], facts["broken"]) == ([], [])
    (box,) = facts["boxes"]
    assert (box["content"] > box["width"], box["moved"] > 0, box["text"]) == (True, True, 0)


@pytest.mark.rule("C18")
def test_markdown_is_drawn_with_an_empty_console(tmp_path: Path) -> None:
    drawn = draw(of(WIDE), tmp_path, "--dump-dom")
    assert drawn.console == []
    assert "<strong>two</strong>" in drawn.dom


def measured(page: bytes, directory: Path, width: int) -> dict[str, Any]:
    """What a script finds on a page that is shown this wide; the page itself would not let it run."""
    open_page = re.sub(rb'<meta http-equiv="Content-Security-Policy"[^>]*>', b"", page)
    framed = html.escape(open_page.replace(b"</body>", MEASURE.encode() + b"</body>").decode())
    # A window cannot be as narrow as a phone.
    outer = f'<!doctype html><title></title><iframe style="border: 0; width: {width}px" srcdoc="{framed}"></iframe>'
    drawn = draw(outer.encode(), directory, "--dump-dom", "--hide-scrollbars")
    found = re.search(r"<title>(.*?)</title>", drawn.dom)
    assert found is not None
    facts: dict[str, Any] = json.loads(html.unescape(found[1]))
    return facts
