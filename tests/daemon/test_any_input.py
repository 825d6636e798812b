"""Test that any input leaves the daemon alive, and that it sends exactly the required responses."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from .json_text import NotJsonError, UnclearError, parse
from .jsonrpc_rules import Line, broken_rules
from .measures import MIB, peak
from .messages import decode
from .run_rules import broken_run_rules
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J7", "J5", "J6")

SLOW = settings(
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
methods = st.sampled_from(
    ["initialize", "run/start", "run/cancel", "run/detach", "run/credit", "run/list", "run/events", "no/such"]
)
members = st.fixed_dictionaries(
    {},
    optional={
        "runId": st.sampled_from(["a", "b", "!", ""]) | values,
        "agentKind": st.sampled_from(["codex", "Codex", "other"]) | values,
        "request": st.fixed_dictionaries(
            {},
            optional={
                "prompt": st.text(max_size=5) | values,
                "timeout": st.sampled_from([0, 1000, -1]) | values,
                "env": st.just({}) | values,
                "extensions": st.just({}) | values,
                "working_dir": st.just("/") | values,
            },
        )
        | values,
        "credit": st.integers(-1, 1000) | values,
        "events": st.integers(-1, 1000) | values,
        "kill": st.booleans() | values,
        "fromSeq": st.integers(-1, 5) | values,
        "protocolVersion": st.just("1.0") | values,
        "more": values,
    },
)
requests = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": methods},
    optional={"id": st.integers() | st.text() | st.none() | values, "params": members | values},
)
odd_requests = st.fixed_dictionaries(
    {}, optional={"jsonrpc": st.just("2.0") | values, "method": methods | values, "id": values, "params": values}
)
messages = st.one_of(requests, odd_requests, st.lists(requests | odd_requests | values, max_size=4), values)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line: a message, as it is, torn, or with some bytes of it replaced."""
    line = json.dumps(draw(messages), ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    match draw(st.sampled_from(["whole", "whole", "torn", "spoilt"])):
        case "torn":
            line = line[: draw(st.integers(0, len(line)))]
        case "spoilt":
            at = draw(st.integers(0, len(line)))
            line = line[:at] + draw(st.binary(max_size=3)) + line[at + draw(st.integers(0, 3)) :]
    return line.replace(b"\n", b"").replace(b"\r", b"")


class Conversation:
    """A daemon that is asked after each example whether all is well; one that is not is replaced."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._daemon: Supervisor | None = None

    def say(self, *said: bytes, written: Sequence[bytes] | None = None) -> list[Line]:
        """Say lines, as one write or as they are `written`, and judge the conversation up to the end of all runs."""
        daemon = self._daemon or self._workshop.daemon()
        self._daemon = None
        first = len(daemon.log)
        daemon.log += (Line(True, line) for line in said)
        for piece in [b"".join(line + b"\n" for line in said)] if written is None else written:
            daemon.write(piece)
        for run in daemon.call("run/list")["runs"]:
            daemon.call("run/detach", runId=run["runId"])
        while (live := daemon.call("run/list")["runs"]) != []:
            # One that has no credit ends when it is detached; the list is asked again until it has.
            assert all(run["detached"] for run in live)
        part = daemon.log[first:]
        assert daemon.process.poll() is None
        assert broken_rules(part) == []
        assert broken_run_rules(part) == []
        assert daemon.stderr == ""
        assert not any(b"-32603" in line.data for line in part if not line.sent)
        self._daemon = daemon
        return part

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        assert self._daemon is not None
        return self._daemon.pid


@pytest.fixture(scope="module")
def conversation(shared_workshop: Workshop) -> Conversation:
    return Conversation(shared_workshop)


@SLOW
@given(st.lists(st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")), max_size=5))
def test_random_bytes(conversation: Conversation, said: list[bytes]) -> None:
    conversation.say(*said)


@SLOW
@given(st.lists(lines(), min_size=1, max_size=6))
def test_messages_right_and_wrong(conversation: Conversation, said: list[bytes]) -> None:
    conversation.say(*said)


@SLOW
@given(lines())
def test_what_is_json_to_us_is_json_to_the_daemon(conversation: Conversation, line: bytes) -> None:
    assume(line.strip())
    told = [decode(it.data) for it in conversation.say(line) if not it.sent]
    no_json = any(isinstance(it, dict) and it.get("error", {}).get("code") == -32700 for it in told)
    try:
        parse(line)
    except NotJsonError:
        assert no_json
    except UnclearError:
        pass
    else:
        assert not no_json


@SLOW
@given(
    st.lists(st.tuples(lines(), st.sampled_from([b"\n", b"\r\n"])), min_size=1, max_size=5),
    st.lists(st.integers(1, 50)),
)
def test_the_cuts_between_writes_do_not_matter(
    conversation: Conversation, said: list[tuple[bytes, bytes]], sizes: list[int]
) -> None:
    text = b"".join(line + end for line, end in said)
    cuts = [0, *itertools.accumulate(sizes), len(text)]
    written = [text[start:end] for start, end in itertools.pairwise(cuts)]
    conversation.say(*(line for line, _ in said), written=[*written[:-1], text[sum(sizes) :]])


def test_the_same_garbage_again_and_again_does_not_grow_the_daemon(conversation: Conversation) -> None:
    garbage: list[Any] = [b"{", b"[]", b"[1,{}]", b"\xff", b'{"jsonrpc":"2.0","id":1,"method":"run/start","params":{}}']
    conversation.say(*garbage * 100)
    before = peak(conversation.pid)
    conversation.say(*garbage * 500)
    assert peak(conversation.pid) - before < 4 * MIB
