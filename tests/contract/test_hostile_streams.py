"""Test agents with hostile output: the run ends in the normal way, and memory stays bounded."""

from __future__ import annotations

import random
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import pytest

from codex_adapter.hints import ADVICE, Hint
from codex_adapter.testing import (
    CloseStdout,
    Fill,
    Hang,
    IgnoreSignals,
    PrintBytes,
    PrintFile,
    PrintJson,
    PrintText,
    ReadPrompt,
    Repeat,
    StartDescendant,
    Step,
    WriteFacts,
    WriteStderr,
    read_facts,
)
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from ..cli.command import Cli
from .measured import Measured, living, measured

MIB: Final = 1024 * 1024
MOST_MIB: Final = 64
PROMPT: Final = "".join(f"{number:07d}\n" for number in range(MIB // 8))
BEGIN: Final = (PrintJson(thread_started()), PrintJson(turn_started()))
END: Final = (PrintJson(agent_message("item_9", "done")), PrintJson(turn_completed()))
BEFORE_TEXT: Final = '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"'
AFTER_TEXT: Final = '"}}\n'
PARSE_ERROR: Final = re.compile(
    r"codex stream parse error \(redacted\): (malformed JSON at byte [0-9]+|invalid UTF-8|not an object"
    r"|line longer than [0-9]+ bytes) \(line_bytes=[0-9]+\)"
)


def run(cli: Cli, *steps: Step, words: tuple[str, ...] = ()) -> Measured:
    """A run with a prompt of a MiB."""
    return measured(cli, "run", "--codex", cli.agent(*steps), *words, "-", stdin=PROMPT.encode())


def line(text: object) -> str:
    return f"{BEFORE_TEXT}{text}{AFTER_TEXT}"


def assert_whole(found: Measured, most_mib: float = MOST_MIB, exit_status: int = 0, **completion: Any) -> None:
    """The agent's status, text and turn are told, in little memory."""
    expected = {"final_text": "done", "turn": "completed", "status": {"code": 0, "signal": None}, **completion}
    assert {name: found.completion.get(name) for name in expected} == expected
    assert (found.done.status, found.done.stderr) == (exit_status, "")
    assert found.peak_mib < most_mib


def assert_failed(found: Measured, status: int, failure: str, message: str, hint: Hint | None = None) -> None:
    """The run is told to have failed, by the last event too, in little memory."""
    told = {} if hint is None else {"hint": hint, "advice": ADVICE[hint]}
    complaint = "" if hint is None else f"codex-adapter: {ADVICE[hint]}\n".replace("`timeout`", "`--timeout`")
    assert (found.done.status, found.done.stderr) == (status, complaint)
    assert found.completion["error"] == {"kind": "backend", "message": message, "failure": failure, **told}
    assert found.complaints[-1] == message
    assert found.peak_mib < MOST_MIB


class Stream(NamedTuple):
    """What an agent does between its first and its last line, and how many bad lines that makes."""

    steps: tuple[Step, ...]
    bad: int = 0


STREAMS: Final = {
    "an agent that never reads": Stream(()),
    "an agent that prints 10 MiB and never reads": Stream((Repeat(line("x" * 3_000)[:-1], count=3_300),)),
    "300 MB on stderr": Stream((WriteStderr(size=300_000_000),)),
    "a line of white space": Stream((Fill(256 * MIB, char=" ", after="\n"),), 1),
    "a line of NUL": Stream((Fill(20 * MIB, char="\0", after="\n"),), 1),
    "a line of escapes": Stream((Fill(10 * MIB // 6, BEFORE_TEXT, AFTER_TEXT, "\\u0001"),)),
    "lines of white space": Stream((Repeat(" ", count=MIB),)),
    "lines of garbage": Stream((Repeat("garbage", count=30_000),), 30_000),
}


@pytest.mark.fault("stream", "The agent writes 300 MB to stderr", "The adapter drains it in bounded memory")
@pytest.mark.fault(
    "stream",
    "The agent prints lines of 256 MiB of white space and 20 MiB of NUL",
    "Each line yields one error in bounded memory",
)
@pytest.mark.fault(
    "stream", "The agent prints 30,000 lines of garbage", "Each line yields one error, and the turn is valid"
)
@pytest.mark.rule("S3", "S7", "L2", "L4", "F2")
@pytest.mark.parametrize("name", STREAMS)
def test_a_hostile_stream_ends_as_ever(cli: Cli, name: str) -> None:
    stream = STREAMS[name]
    found = run(cli, *BEGIN, *stream.steps, *END)
    assert_whole(found)
    assert len(found.complaints) == stream.bad
    assert all(map(PARSE_ERROR.fullmatch, found.complaints))


@pytest.mark.fault(
    "stream", "The agent prints 10 MiB before it reads the prompt", "The prompt and the output arrive complete"
)
@pytest.mark.rule("S3")
def test_a_prompt_of_a_mib_arrives_though_the_agent_prints_10_mib_before_it_reads(cli: Cli) -> None:
    flood = Repeat(line("x" * 900)[:-1], count=11_000)
    found = run(cli, *BEGIN, flood, ReadPrompt(), WriteFacts("facts"), *END)
    assert_whole(found)
    assert read_facts(cli.directory / "facts").prompt == PROMPT
    assert found.texts == ["x" * 900] * 11_000 + ["done"]


@pytest.mark.fault(
    "stream", "The agent prints a line of 1 GiB", "The line yields an error with its length; the other lines stay valid"
)
@pytest.mark.rule("L2", "X2")
def test_a_line_of_a_gib_is_told_by_its_length_alone(cli: Cli) -> None:
    found = run(cli, *BEGIN, PrintText(line("before"), end=""), Fill(1024 * MIB, after="\n"), *END)
    assert_whole(found)
    message = "codex stream parse error (redacted): line longer than 16777216 bytes (line_bytes=1073741824)"
    assert found.complaints == [message]
    assert found.texts == ["before", "done"]


def message(char: str) -> tuple[Step, ...]:
    """A turn of one message of 10 MiB."""
    return *BEGIN, Fill(10 * MIB // len(char.encode()), BEFORE_TEXT, AFTER_TEXT, char), PrintJson(turn_completed())


@pytest.mark.fault(
    "stream",
    "The agent prints a message of 10 MiB",
    "The adapter splits it into bounded pieces that together are the whole message",
)
@pytest.mark.rule("B2", "B5")
@pytest.mark.parametrize("char", ["x", "€"])
def test_a_message_of_10_mib_is_whole_in_pieces(cli: Cli, char: str) -> None:
    found = run(cli, *message(char))
    final_text = found.completion["final_text"]
    assert final_text == char * final_text.count(char) + "…(truncated)"
    assert 65_500 < len(final_text.encode()) <= 65_536
    assert "".join(found.texts) == char * (10 * MIB // len(char.encode()))
    assert max(len(text.encode()) for text in found.texts) <= 65_536
    assert_whole(found, 128, final_text=final_text)


@pytest.mark.rule("B2", "X5")
@pytest.mark.parametrize("char", ["x", "€"])
def test_a_message_of_10_mib_takes_little_memory(cli: Cli, char: str) -> None:
    assert run(cli, *message(char)).peak_mib < MOST_MIB


@pytest.mark.rule("T4", "L4")
@pytest.mark.parametrize(
    ("fill", "kind"),
    [
        (Fill(5 * MIB, '{"type":"tomorrow","list":[', "0]}\n", "[],"), "unknown"),
        (Fill(7 * MIB, "[", "0]\n", "1,"), "error"),
    ],
    ids=["a line of tomorrow", "a line that is no object"],
)
def test_a_long_line_that_nobody_understands_takes_little_memory(cli: Cli, fill: Fill, kind: str) -> None:
    found = run(cli, *BEGIN, fill, *END)
    assert [event["kind"] for event in found.events[2:-2]] == [kind]
    assert_whole(found)


@pytest.mark.fault("stream", "The agent prints 5 MiB of random bytes", "Each line yields one error")
@pytest.mark.rule("L4")
def test_a_binary_blob_is_an_error_for_each_of_its_lines(cli: Cli) -> None:
    blob = cli.directory / "blob"
    blob.write_bytes(random.Random(1).randbytes(5 * MIB) + b"\n")
    found = run(cli, *BEGIN, PrintFile(str(blob)), *END)
    assert_whole(found)
    assert len(found.complaints) == sum(bool(line.strip()) for line in blob.read_bytes().split(b"\n"))
    assert all(map(PARSE_ERROR.fullmatch, found.complaints))


LINES: Final = {
    b'{"type":"error","message":"\xff"}': "parse error (redacted): invalid UTF-8",
    b'{"type":"error","message":"\xed\xa0\xbd"}': "parse error (redacted): invalid UTF-8",
    b'\xef\xbb\xbf{"type":"turn.started"}': "parse error (redacted): malformed JSON at byte 0",
    b'{"type":"error","message":"\0"}': "parse error (redacted): malformed JSON at byte 27",
    b'{"type":"error","message":"\\ud83d"}': "parse error (redacted): malformed JSON at byte 35",
    b'{"type":"turn.started"}{"type":"turn.started"}': "parse error (redacted): malformed JSON at byte 24",
    b"[" * 100_000: "parse error (redacted): not an object",
    b'{"a":' * 100_000: "parse error (redacted): nesting too deep",
    b'{"type":"turn.completed","usage":{"n":' + b"9" * 10_000 + b"}}": "parse error (redacted): number out of range",
    b'["type"]': "parse error (redacted): not an object",
    b"null": "parse error (redacted): not an object",
    b"{}": "normalize error (redacted): missing field type",
    b'{"type":7}': "normalize error (redacted): wrong type for field type",
    b'{"type":"item.completed","item":7}': "normalize error (redacted): wrong type for field item",
    b'{"type":"error"}': "normalize error (redacted): missing field message",
    b'{"type":"error","message":"\\u0000"}': None,
    b'{"type":"error","type":"error","message":"a","message":"b"}': None,
    '{"type":"error","message":"\u2028\x85\x7f"}'.encode(): None,
    b'\r \t{"type":"error","message":"\\r"}\r': None,
}
"""What is found wrong with a line; nothing with some that look as if."""


@pytest.mark.rule("L1", "L4", "X2", "X3")
def test_each_bad_line_is_one_error_and_its_neighbours_are_untouched(cli: Cli) -> None:
    good, stdout = line("good").encode(), cli.directory / "stdout"
    stdout.write_bytes(good + b"".join(bad + b"\n" + good for bad in LINES))
    found = run(cli, *BEGIN, PrintFile(str(stdout), piece=4_099), *END)
    assert_whole(found)
    between = found.events[2:-2]
    assert [event.get("text") for event in between[::2]] == ["good"] * (len(LINES) + 1)
    told = [None if "data" in event else event["message"] for event in between[1::2]]
    assert told == [why and f"codex stream {why} (line_bytes={len(bad)})" for bad, why in LINES.items()]


@pytest.mark.rule("L1")
def test_carriage_returns_before_the_newline_change_nothing(cli: Cli) -> None:
    lines = "".join(map(line, range(1_000))).encode()
    plain, returned = run(cli, PrintBytes(lines)), run(cli, PrintBytes(lines.replace(b"\n", b"\r\n")))
    assert plain.done == returned.done
    assert plain.texts == list(map(str, range(1_000)))


@pytest.mark.fault(
    "stream", "The output ends in the middle of a line", "The line yields one error, and the turn is cut off"
)
@pytest.mark.rule("L3", "F2")
def test_output_that_ends_in_mid_line_is_one_error_and_a_turn_cut_off(cli: Cli) -> None:
    found = run(cli, *BEGIN, PrintText(BEFORE_TEXT, end=""), CloseStdout())
    assert_whole(found, exit_status=1, final_text=None, turn="cut_off")
    assert len(found.complaints) == 1
    assert PARSE_ERROR.fullmatch(found.complaints[0])


@pytest.mark.fault(
    "timing",
    "An agent that ignores signals floods its output when its timeout expires",
    "The adapter ends the run within the time limit",
)
@pytest.mark.rule("F7", "F8", "K1", "K4")
def test_who_holds_the_output_or_leaves_it_or_floods_it_is_waited_for_a_bounded_time(cli: Cli) -> None:
    """All at once, since all of them wait."""

    def run_apart(name: str, *steps: Step, words: tuple[str, ...] = ()) -> Measured:
        apart = Cli(cli.directory / name)
        apart.directory.mkdir()
        return run(apart, *BEGIN, *steps, words=words)

    holding = StartDescendant("pid", hold_stdout=True, session=True, ignore=("SIGTERM", "SIGHUP"))
    flooding = (IgnoreSignals(("SIGINT", "SIGTERM")), Repeat("garbage", per_second=1_000))
    with ThreadPoolExecutor() as pool:
        held = pool.submit(run_apart, "holder", *END, holding)
        left = pool.submit(run_apart, "leaver", PrintText(BEFORE_TEXT, end=""), CloseStdout(), Hang())
        flooded = pool.submit(run_apart, "flooder", *flooding, words=("--timeout", "1"))
    assert_whole(held.result())
    assert held.result().seconds >= 2, "the grace for descendants is 2 s"
    assert living(cli.directory) == []
    assert_failed(left.result(), 125, "closed", "codex stream closed unexpectedly")
    assert left.result().seconds >= 10, "the grace for an agent that has closed its output is 10 s"
    text = "codex backend error: timeout (details redacted when unsafe)"
    assert_failed(flooded.result(), 124, "timeout", text, "time_limit")
    assert flooded.result().seconds >= 1
