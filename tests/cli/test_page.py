"""Test the page of a run: complete, self-contained, and with agent output only as text."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter import BackendError, Completion, ExitStatus, InvalidRequestError
from codex_adapter.cli.present.html import element
from codex_adapter.cli.present.lines import printable
from codex_adapter.cli.present.wording import amount, duration, offset, size
from codex_adapter.cli.view.page import page
from codex_adapter.hints import ADVICE
from codex_adapter.records import encode_completion
from codex_adapter.testing.thread_lines import (
    agent_message,
    command_completed,
    command_started,
    error,
    error_item,
    file_change,
    reasoning,
    thread_started,
    turn_completed,
    turn_started,
)

from ..rows import rows
from .journal_lines import STORY, Line, journal, records, runs, todo_list
from .page_reader import PageReader, read_page

pytestmark = pytest.mark.rule("C10")

NAME = re.compile(r"[a-z0-9-]+")
ELEMENTS = set(
    NAME.findall("""
    html head meta title style body main article header section footer h1 h2 h3 h4 h5 h6 p dl div dt dd ol ul li span b
    a code details summary table thead tbody tr th td svg rect line text blockquote pre em strong s br hr
    """)
)
ATTRIBUTES = set(
    NAME.findall("""
    lang charset http-equiv content name id class href dir role tabindex scope open aria-label aria-labelledby
    aria-hidden x x1 x2 y y1 y2 width height rel start
    """)
)
HOSTILE = (
    '</script><script>alert(1)</script></style></title></svg><img src=x onerror=alert(1)> " onload="x" \' x=\' `&amp;'
    "&lt\x1b[31mred\x1b]0;t\x07 \u202egnirts\u202c\u2066x\u2069 \x00\x07\x0c\r\n\t \u2028\ufeff --><!-- ]]> <?x?> "
    "🙂👩\u200d👧"
)
LONG = "W" * 5000


def shown(lines: list[Line], end: Any = 0) -> PageReader:
    """The page of a run with these lines."""
    return read_page(page(runs(journal(records(lines, end)))))


def hostile_lines(text: str) -> list[Line]:
    """A run in which everything that the agent chooses is this text."""
    tool = {"id": "m", "type": "mcp_tool_call", "server": text, "tool": text, "arguments": {text: text}}
    lines = [
        thread_started(),
        turn_started(),
        reasoning("r", text),
        command_started("c", text),
        command_completed("c", text, text, exit_code=1),
        {"type": "item.completed", "item": {**tool, "status": "failed", "error": {"message": text}}},
        file_change("f", {text: "add"}),
        error(text),
        error_item("e", text),
        {"type": "item.completed", "item": {"id": "u", "type": text}},
        todo_list(**{text: True}),
        agent_message("a", text),
        {"type": "turn.completed", "usage": {"input_tokens": 1, "of_tomorrow": 2}},
    ]
    return [(1, line) for line in lines]


def assert_harmless(reader: PageReader) -> None:
    """Nothing is on the page that runs, loads, or leads away."""
    assert {name for name, _ in reader.elements} <= ELEMENTS
    assert {name for _, attributes in reader.elements for name in attributes} <= ATTRIBUTES
    ids = [value for value in reader.values("id") if value]
    assert len(ids) == len(set(ids))
    addresses = [told for _, told in reader.elements if not (told.get("href") or "#").startswith("#")]
    assert all(re.match(r"https?://[!-~]+\Z", told["href"] or "", re.IGNORECASE) for told in addresses)
    assert {told["rel"] for told in addresses} <= {"noreferrer nofollow"}
    assert {f"#{id_}" for id_ in ids} >= set(reader.values("href")) - {told["href"] for told in addresses}
    assert set(ids) >= set(reader.values("aria-labelledby"))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", reader.text)


def test_a_story_is_shown_with_everything_that_it_has() -> None:
    reader = shown(STORY)
    assert_harmless(reader)
    for told in ("Completed", "10.0 s", "100 in, 20 out", "40 of them cached", "1 failed", "2026-11-22 07:07:02 UTC"):
        assert told in reader.text
    for told in ("$ make all", "failed", "exit 2 · 2.5 s", "error: no rule", "files: add /w/a.txt", "The answer."):
        assert told in reader.text
    for told in ("Reconnecting... 1/5", "1 of 2 steps done", "Turn 1", "Drawn to scale, 10.0 s", "Let me see."):
        assert told in reader.text
    names = [name for name, _ in reader.elements]
    assert [names.count(name) for name in ("main", "h1", "article", "title")] == [1, 1, 1, 1]
    assert names.index("h1") < names.index("h2") < names.index("h3")


def test_the_policy_lets_nothing_in_but_the_style_that_is_there() -> None:
    reader = shown(STORY)
    names = [name for name, _ in reader.elements]
    (policy,) = [told["content"] for _, told in reader.elements if told.get("http-equiv") == "Content-Security-Policy"]
    allowed = b64encode(sha256(reader.style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    assert names.index("meta") < names.index("style")
    assert names.count("style") == 1
    assert not re.search(r"url\(|@import|@font-face|expression|</|<!", reader.style)


def test_bars_are_to_scale_and_labelled_by_their_outcome() -> None:
    reader = shown(STORY)
    bars = [told for name, told in reader.elements if name == "rect" and told.get("y") == "4"]
    assert [(bar["class"], bar["x"], bar["width"]) for bar in bars] == [
        ("completed", "10.000%", "90.000%"),
        ("failed", "30.000%", "25.000%"),
        ("completed", "75.000%", "0.150%"),
    ]
    marks = [told["class"] for name, told in reader.elements if name == "span" and "mark" in (told.get("class") or "")]
    assert marks[:3] == ["mark completed", "mark failed", "mark completed"]


def test_without_times_the_order_is_drawn_and_said() -> None:
    reader = read_page(page(runs(b"".join(line for _, line in records(STORY)))))
    assert "Times are unknown. Drawn by order" in reader.text
    assert "Duration" not in reader.text
    assert "#3" in reader.text
    assert all(told["width"] != "0.000%" for name, told in reader.elements if name == "rect")


@rows(
    ("end", "headline", "sentence"),
    [
        (0, "Completed", None),
        (3, "Exited with status 3", None),
        (-9, "Killed by SIGKILL", None),
        (None, "No completion", "The run is still active, or its writer was killed."),
        (Completion(ExitStatus(code=0), turn="failed"), "The turn failed", None),
        (Completion(ExitStatus(code=0), turn="cut_off"), "Cut off in mid-turn", None),
        (Completion(ExitStatus(code=1), hint="rate_limited"), "Exited with status 1", ADVICE["rate_limited"][1:]),
        (BackendError("timeout", "codex stream idle timeout: 30s"), "Failed", "codex stream idle timeout: 30s"),
        (BackendError("timeout", "m", hint="no_network"), "Failed", ADVICE["no_network"][1:]),
        (BackendError("io", "m", advice="Enter it."), "Failed", "Enter it."),
        (
            Completion(ExitStatus(code=0), turn="completed", hint="sandbox_unavailable"),
            "Completed without success",
            ADVICE["sandbox_unavailable"][1:],
        ),
        (InvalidRequestError("prompt must be text"), "Failed", "prompt must be text"),
    ],
)
def test_the_head_says_how_it_ended_and_what_to_do(end: Any, headline: str, sentence: str | None) -> None:
    text = shown(STORY, end).text
    assert text.startswith(f"\n{headline} - codex-adapter")
    assert sentence is None or sentence in text


def test_what_is_not_there_is_said() -> None:
    written = records(STORY, None)
    reader = read_page(page(runs(journal([*written[:2], *written[4:5]])), ["2 lines are no records"]))
    assert_harmless(reader)
    assert "2 records missing here" in reader.text
    assert "2 lines are no records" in reader.text


def test_a_run_that_was_refused_has_a_page() -> None:
    reader = read_page(page(runs(encode_completion(0, InvalidRequestError("prompt must be text")))))
    assert_harmless(reader)
    assert "Timeline" not in reader.text


def test_several_runs_have_one_page() -> None:
    reader = read_page(page(runs(journal(records(STORY)) * 3)))
    assert_harmless(reader)
    assert "Run 2 of 3" in reader.text
    assert [name for name, _ in reader.elements].count("article") == 3


def test_a_long_run_is_drawn_as_a_whole_first_and_its_failures_stay_folded() -> None:
    calls: list[Line] = []
    for number in range(20):
        calls += [(1, command_started(f"c{number}", "ls")), (1, command_completed(f"c{number}", "ls", "x", 1))]
    reader = shown([(0, turn_started()), *calls, (1, turn_completed())])
    assert "20 tool calls" in reader.text
    assert [name for name, _ in reader.elements].count("details") == 20
    assert reader.values("open") == []


@rows("text", [HOSTILE, LONG, HOSTILE + LONG, "x\n" * 30_000, " ", "\n", "&", "-->"])
def test_hostile_text_is_text(text: str) -> None:
    reader = shown(hostile_lines(text), 1)
    assert_harmless(reader)
    assert text.isspace() or printable(text).strip("\n") in reader.text


@pytest.mark.rule("X1")
@given(st.text(max_size=60) | st.lists(st.sampled_from(HOSTILE), max_size=40).map("".join))
def test_any_text_is_shown_as_it_is_and_nothing_else_comes_of_it(text: str) -> None:
    reader = shown(hostile_lines(text))
    assert_harmless(reader)
    assert not text.strip() or printable(text).strip("\n") in reader.text
    assert {attributes.get("style") for _, attributes in reader.elements} == {None}


def test_an_attribute_cannot_be_broken_out_of() -> None:
    assert element("p", "<b>", title="\" '><i>\x1b") == '<p title="&quot; &#x27;&gt;&lt;i&gt;␛">&lt;b&gt;</p>'
    assert element("br", class_=None, aria_label="x") == '<br aria-label="x">'


def test_payloads_are_shown_where_the_label_does_not_say_them_and_a_cut_is_said() -> None:
    reader = shown([(0, turn_started()), *((1, line) for line in _command("echo one\necho two", "é" * 20_000))])
    assert "echo one\necho two" in reader.text
    assert "Output (truncated)" in reader.text


@pytest.mark.rule("M7")
def test_without_payloads_there_are_sizes() -> None:
    (run,) = runs(journal(records([(1, line) for line in _command("ls", "x" * 4200)])))
    for call in run.calls:
        call.opening = call.facet = type(call.facet)(call.facet.tool)
    reader = read_page(page([run]))
    assert "command_execution" in reader.text
    assert "4.2 kB of output" in reader.text
    assert "details" not in {name for name, _ in reader.elements}


def test_colours_can_be_read() -> None:
    style = shown(STORY).style
    light, dark, paper = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    for colours in (light, dark, paper):
        named = dict(re.findall(r"--([a-z_]+): #([0-9a-f]+)", colours))
        for name in ("ink", "soft", "completed", "failed", "cut_off", "unanswered", "open", "warning"):
            for ground in ("paper", "sheet"):
                assert _contrast(named[name], named[ground]) >= 4.5, (name, ground)


def test_numbers_are_put_for_a_person() -> None:
    assert [duration(seconds) for seconds in (0, 0.31, 59.9, 59.96, 184, 7500)] == [
        *("< 0.1 s", "0.3 s", "59.9 s", "1 min 00 s", "3 min 04 s", "2 h 05 min")
    ]
    assert [offset(at, total) for at, total in ((4.25, 50), (184, 200), (3784, 4000), (4, 4000))] == [
        *("4.2 s", "3:04", "1:03:04", "0:00:04")
    ]
    assert [size(count) for count in (1, 812, 4200, 999_949, 999_950)] == [
        *("1 byte", "812 bytes", "4.2 kB", "999.9 kB", "1.0 MB")
    ]
    assert [amount(1, "turn"), amount(12_000, "turn")] == ["1 turn", "12,000 turns"]


def _command(command: str, output: str) -> list[dict[str, Any]]:
    return [command_started("c", command), command_completed("c", command, output)]


def _contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        colour = "".join(2 * digit for digit in colour) if len(colour) == 3 else colour
        parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
