"""Test that `view FILE` shows the request of a run, as text and on the page, and only as text."""

from __future__ import annotations

import re

import pytest

from codex_adapter.cli.present.lines import printable
from codex_adapter.cli.view.page import page

from .command import Cli
from .journal_lines import STORY, journal, records
from .journal_lines import runs as runs_of
from .page_reader import read_page
from .test_page import HOSTILE, LONG, assert_harmless
from .test_view_index import ASKED, asked, keep

pytestmark = pytest.mark.rule("C10", "J19")


def test_a_journal_is_told_with_what_was_asked(cli: Cli) -> None:
    runs = cli.directory / "runs"
    keep(runs, "first")
    keep(runs, "second", 3, after=60)
    told = cli.run("view", "runs/first.jsonl").stdout.decode().splitlines()
    assert told[:2] == [
        "# run of 2026-11-22 07:07:02 UTC",
        "# first, /home/me/src/app, gpt-5.1-codex, CLI 0.169.0, cgroup, task=12",
    ]
    only = runs / "only.jsonl"
    only.write_bytes(journal([(0.0, asked("only", prompt="Fix\x1b it."))]))
    told = cli.run("view", "runs/only.jsonl").stdout.decode().splitlines()
    assert told[1] == "# prompt: Fix␛ it."
    assert told[2].startswith("! no completion")
    both = (runs / "second.jsonl").read_bytes() + (runs / "first.jsonl").read_bytes() + only.read_bytes()
    told = cli.run("view", "-", stdin=both).stdout.decode().splitlines()
    assert [line.split(",")[0] for line in told if "/home/me/src/app" in line] == ["# second", "# first", "# only"]


def test_the_page_of_a_journal_shows_what_was_asked(cli: Cli) -> None:
    runs = cli.directory / "runs"
    keep(runs, "first")
    keep(runs, "second", 3, after=60)
    labels = {"task": "12", "team": "a<b>"}
    only = runs / "only.jsonl"
    only.write_bytes(journal([(0.0, asked("only", labels=labels, prompt="Fix\x1b <script>it</script>.\nNow."))]))
    both = (runs / "second.jsonl").read_bytes() + (runs / "first.jsonl").read_bytes() + only.read_bytes()
    page = cli.run("view", "--html", "-", "-", stdin=both)
    assert page.status == 0
    lists = re.findall(r'<dl class="asked">(.*?)</dl>', page.stdout.decode(), re.DOTALL)
    facts = [re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", each, re.DOTALL) for each in lists]
    texts = [{name: re.sub("<[^>]*>", "|", value).strip("|") for name, value in each} for each in facts]
    of_all = {"Directory": "/home/me/src/app", "Model": "gpt-5.1-codex", "CLI": "0.169.0", "Containment": "cgroup"}
    assert texts == [
        {"Run": "second", **of_all, "Labels": "task=12"},
        {"Run": "first", **of_all, "Labels": "task=12"},
        {
            "Run": "only",
            **of_all,
            "Labels": "task=12||||team=a&lt;b&gt;",
            "Prompt": "Fix␛ &lt;script&gt;it&lt;/script&gt;.\nNow.",
        },
    ]
    assert (page.stdout.count(b"<article"), page.stdout.count(b"No completion")) == (3, 1)


def test_what_was_asked_is_text_on_the_page() -> None:
    text = f"{HOSTILE} {LONG}"
    fields = {name: text for name in ASKED if name != "labels"}
    data = journal([(0.0, asked(text, **fields, labels={text: text}, prompt=text)), *records(STORY)])
    reader = read_page(page(runs_of(data)))
    assert_harmless(reader)
    assert reader.text.count(printable(HOSTILE)) == 8
    assert 'dl class="asked"' not in page(runs_of(journal(records(STORY)))).decode()
