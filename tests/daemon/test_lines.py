"""Test request lines that are too long, endless, empty, torn, binary or deeply nested."""

from __future__ import annotations

import os
import select

import pytest

from ..rows import rows
from .jsonrpc_rules import LARGEST_BATCH, LONGEST, Line
from .measures import MIB, peak
from .messages import encode
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J7", "J5")
ROOM = 40 * MIB
"""What the daemon may need for a line: that of the longest allowed, and of its parts."""


def too_long(daemon: Supervisor) -> None:
    """Wait for the answer to a line that goes over the limit just now."""
    daemon.log.append(Line(True, bytes(LONGEST + 1)))
    before = len(daemon.told)
    daemon.receive_until(lambda: len(daemon.told) > before)
    answer = daemon.told[before]
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.fault(
    "daemon",
    "A request line exceeds the limit, with or without a newline",
    "The daemon answers it once, in bounded memory",
)
@pytest.mark.parametrize("size", [200 * MIB, pytest.param(1024 * MIB, marks=pytest.mark.nightly)])
def test_a_line_over_the_limit_is_skipped_in_bounded_memory_and_answered_before_it_ends(
    daemon: Supervisor, size: int
) -> None:
    before = peak(daemon.pid)
    piece = b'{"jsonrpc":"2.0","method":"run/list","id":7,"params":[' + b"x" * MIB
    for _ in range(LONGEST // len(piece) + 1):
        daemon.write(piece)
    too_long(daemon)
    for _ in range((size - LONGEST) // len(piece)):
        daemon.write(piece)
    daemon.write(b'"id":7}\n')
    assert daemon.silence() == []
    assert peak(daemon.pid) - before < ROOM


def test_lines_over_the_limit_are_answered_one_by_one(daemon: Supervisor) -> None:
    for _ in range(3):
        daemon.write(b"[" * (LONGEST + 2))
        too_long(daemon)
        daemon.write(b"\n")
    assert daemon.silence() == []


def test_a_line_over_the_limit_may_be_the_last(daemon: Supervisor) -> None:
    daemon.write(b" " * (LONGEST + 2))
    too_long(daemon)
    daemon.close_stdin()
    assert daemon.wait() == 0


@pytest.mark.fault(
    "daemon", "The last request line is one byte over the limit and has no newline", "The daemon answers it once"
)
def test_a_last_line_that_is_one_byte_over_the_limit_is_answered(daemon: Supervisor) -> None:
    daemon.write(b"[" * (LONGEST + 1))
    daemon.close_stdin()
    too_long(daemon)
    assert daemon.wait() == 0


@pytest.mark.rule("J1", "J3")
@pytest.mark.parametrize("pad", [b" ", b"x"])
def test_the_limit_is_the_one_that_is_told_to_the_byte(workshop: Workshop, pad: bytes) -> None:
    daemon = workshop.daemon(initialize=False)
    assert daemon.initialize()["limits"]["maxMessageBytes"] == LONGEST
    head, tail = b'{"jsonrpc":"2.0","id":"%b","method":"run/list"', b"}"
    for id_, over in ((b"fits", 0), (b"over", 1)):
        begin = head % id_ + (b"" if pad == b" " else b',"params":{"more":"')
        end = tail if pad == b" " else b'"}}'
        line = begin + pad * (LONGEST - len(begin) - len(end) + over) + end
        assert len(line) == LONGEST + over
        daemon.send(line)
    fits = daemon.answer("fits")
    assert "result" in fits if pad == b" " else fits["error"]["code"] == -32602
    assert daemon.answer(None)["error"]["code"] == -32600
    assert daemon.silence() == []


@pytest.mark.rule("J1")
def test_an_empty_line_is_nothing_and_a_carriage_return_at_the_end_is_white_space(shared: Supervisor) -> None:
    shared.send(b"", b"\r", b"", b"\r")
    assert shared.silence() == []
    shared.send(b'{"jsonrpc":"2.0","id":"crlf","method":"run/list"}\r', b'\t{"jsonrpc":"2.0","method":"run/list"} \r')
    assert shared.result("crlf") == {"runs": []}
    assert shared.silence() == []


@pytest.mark.rule("J10")
@pytest.mark.fault("daemon", "Stdin ends after a line without a newline", "The daemon processes the line")
def test_the_last_line_may_have_no_newline(daemon: Supervisor) -> None:
    line = b'{"jsonrpc":"2.0","id":"last","method":"run/list"}'
    daemon.log.append(Line(True, line))
    daemon.write(line)
    daemon.close_stdin()
    assert daemon.wait() == 0
    assert daemon.result("last") == {"runs": []}


def test_a_line_that_is_torn_by_the_end_of_stdin_is_no_json(daemon: Supervisor) -> None:
    line = b'{"jsonrpc":"2.0","id":"last","meth'
    daemon.log.append(Line(True, line))
    daemon.write(line)
    daemon.close_stdin()
    assert daemon.wait() == 0
    assert daemon.answer(None)["error"]["code"] == -32700


@pytest.mark.rule("J1")
def test_a_line_may_come_in_single_bytes_and_many_lines_in_one_write(shared: Supervisor) -> None:
    line = encode({"jsonrpc": "2.0", "id": "slow “ü”", "method": "run/list"})
    shared.log.append(Line(True, line))
    for byte in line + b"\n":
        shared.write(bytes([byte]))
    assert shared.result("slow “ü”") == {"runs": []}
    shared.send(*(encode({"jsonrpc": "2.0", "id": f"fast{n}", "method": "run/list"}) for n in range(3000)))
    for number in range(3000):
        assert shared.result(f"fast{number}") == {"runs": []}


@pytest.mark.fault(
    "daemon",
    "A request line is not JSON in UTF-8, or is nested too deeply",
    "The daemon answers with an error and continues",
)
@rows(
    "line",
    [
        b"\0",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1,"method":"run/list\xff"}',
        b'{"jsonrpc":"2.0","id":"\xed\xa0\x80","method":"run/list"}',
        b'{"jsonrpc":"2.0","id":"\xc0\xaf","method":"run/list"}',
        b'{"jsonrpc":"2.0","id":"\x00","method":"run/list"}',
        "{\u00a0}".encode(),
        b"\x0b{}",
        b"[1,]",
        b"[1,2",
        b'{"a":1,}',
        b"// {}",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"run/start","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"jsonrpc":"2.0","id":1,"method":"run/start","params":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        b'{"jsonrpc":"2.0","id":1,"method":"run/start","more":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"Content-Length: 50\r",
        b"GET / HTTP/1.1\r",
    ],
    ids=lambda line: line[:30].decode("ascii", "backslashreplace"),
)
def test_what_is_no_json_is_answered_once(shared: Supervisor, line: bytes) -> None:
    expect_a_refusal(shared, line)


def test_the_longest_line_that_is_no_json_is_answered_once(shared: Supervisor) -> None:
    expect_a_refusal(shared, b"[" * (LONGEST - 1))


def expect_a_refusal(shared: Supervisor, line: bytes) -> None:
    before = len(shared.told)
    shared.send(line)
    shared.silence()
    (answer,) = shared.told[before:-1]
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)


@pytest.mark.rule("J6")
@pytest.mark.fault(
    "daemon",
    "A batch contains as many requests as fit in a line",
    "The daemon refuses the whole batch in bounded memory",
)
def test_a_batch_without_measure_is_refused_in_bounded_memory(daemon: Supervisor) -> None:
    before = peak(daemon.pid)
    # The rules are applied to each value of a line, which would take half a minute: a shorter batch stands in the log.
    daemon.log.append(Line(True, b"[" + b"1," * LARGEST_BATCH + b"1]"))
    daemon.write(b"[" + b"1," * 8_000_000 + b"1]\n")
    assert daemon.answer(None)["error"]["code"] == -32600
    assert peak(daemon.pid) - before < ROOM


def test_nesting_within_reason_is_read(shared: Supervisor) -> None:
    deep = b'{"a":' * 50 + b"1" + b"}" * 50
    shared.send(b'{"jsonrpc":"2.0","id":"deep","method":"run/start","params":%b}' % deep)
    assert shared.answer("deep")["error"]["code"] == -32602


@pytest.mark.rule("J10")
@pytest.mark.fault(
    "daemon",
    "A supervisor sends requests without end and reads no answers",
    "The daemon stops reading requests and loses none",
)
def test_while_answers_are_not_read_no_further_requests_are(daemon: Supervisor) -> None:
    before = peak(daemon.pid)
    line = b"1".ljust(63) + b"\n"
    written = 0
    while select.select([], [daemon.stdin], [], 1.0)[1]:
        written += os.write(daemon.stdin, line * 100)
        assert written < MIB, "it reads on and on"
    torn = -written % len(line)
    daemon.write(line[len(line) - torn :])
    count = (written + torn) // len(line)
    daemon.log += [Line(True, b"1")] * count
    assert daemon.silence() == [daemon.told[1]] * count
    assert peak(daemon.pid) - before < ROOM
