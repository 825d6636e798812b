"""Test that commands that the sandbox of Claude Code did not start are no success (F12)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codex_adapter import Completion, Event, Pipeline
from codex_adapter.agents.claude.advice import ADVICE
from codex_adapter.agents.claude.stream.decoder import ClaudeDecoder
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import ExitStatus, HintNotice

from ....rows import rows

pytestmark = pytest.mark.rule("F12")

REFUSED = (
    "Exit code 1\nbwrap: No permissions to create new namespace, likely because the kernel does not allow "
    "non-privileged user namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README>."
)
NOTICE = HintNotice("sandbox_unavailable", ADVICE["sandbox_unavailable"])


def command(use_id: str, text: Any = "make") -> dict[str, Any]:
    block = {"type": "tool_use", "id": use_id, "name": "Bash", "input": {"command": text}}
    return {"type": "assistant", "message": {"id": f"m{use_id}", "content": [block]}}


def result(use_id: str, text: str, *, failed: bool = True) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": use_id, "content": text, "is_error": failed}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def run(*lines: dict[str, Any], sandboxed: bool = True, error: bool = False) -> tuple[list[Event], Completion]:
    def decoder(masker: Masker) -> ClaudeDecoder:
        return ClaudeDecoder(masker, sandboxed=sandboxed)

    pipeline = Pipeline(decoder)
    begin = {"type": "system", "subtype": "init", "session_id": "s"}
    end = {"type": "result", "subtype": "success", "is_error": error, "result": "Done."}
    whole = b"".join(json.dumps(line).encode() + b"\n" for line in (begin, *lines, end))
    events = pipeline.receive_data(whole) + pipeline.receive_eof()
    return events, pipeline.completion(ExitStatus(code=0))


def notices(events: list[Event]) -> list[int]:
    """Return where the notices are, counted among results and notices."""
    shown = [event for event in events if event.kind in ("tool_result", "error")]
    return [place for place, event in enumerate(shown) if event.data == NOTICE]


@pytest.mark.rule("F11", "M8", "X2")
def test_a_run_none_of_whose_commands_was_started_is_not_ok() -> None:
    events, completion = run(*(line for use_id in "ab" for line in (command(use_id), result(use_id, REFUSED))))
    assert notices(events) == [1]
    assert events[-2].kind == "tool_result"
    assert [event.message for event in events if event.kind == "error"] == [
        "claude_code sandbox cannot start: commands fail"
    ]
    assert (completion.turn, completion.final_text) == ("completed", "Done.")
    assert (completion.ok, completion.hint) == (False, NOTICE.hint)


@pytest.mark.rule("F11")
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("other", [result("b", "x", failed=False), result("b", "Exit code 2\nno rule")])
def test_one_command_that_was_started_drops_the_hint(other: dict[str, Any], *, first: bool) -> None:
    refused, started = (command("a"), result("a", REFUSED)), (command("b"), other)
    events, completion = run(*(started + refused if first else refused + started))
    assert notices(events) == ([] if first else [1])
    assert (completion.ok, completion.hint) == (True, None)


@rows(
    "lines",
    [
        (command("a", "bwrap --ro-bind / / true"), result("a", REFUSED)),
        (command("a"), result("a", "Exit code 1\nbwrap: one\nbwrap: two")),
        (command("a"), result("a", "Exit code 1\nmake: bwrap: x")),
        (command("a"), result("a", REFUSED.replace("code 1", "code 2"))),
        (command("a"), result("a", "permission denied")),
        (command("a", ["no", "text"]), result("a", "ok", failed=False)),
        (result("a", REFUSED),),
    ],
    ids=["names it", "two lines", "other words", "other status", "denied", "no command", "no call"],
)
def test_what_does_not_prove_a_failed_sandbox_is_no_hint(lines: tuple[dict[str, Any], ...]) -> None:
    events, completion = run(*lines)
    assert (notices(events), completion.hint) == ([], None)


def test_a_run_without_a_sandbox_has_no_hint() -> None:
    events, completion = run(command("a"), result("a", REFUSED), sandboxed=False)
    assert (notices(events), completion.hint) == ([], None)


def test_the_cause_of_a_failed_turn_is_the_sandbox_if_no_other_is_known() -> None:
    assert run(command("a"), result("a", REFUSED), error=True)[1].hint == "sandbox_unavailable"


def test_the_number_of_commands_that_are_kept_is_bounded() -> None:
    ids = [str(number) for number in range(100)]
    events, completion = run(*map(command, ids), *(result(use_id, REFUSED) for use_id in ids))
    assert (len(notices(events)), completion.hint) == (1, "sandbox_unavailable")
