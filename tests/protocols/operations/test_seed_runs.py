"""Test that the example turns of the protocol are executed and answered as documented."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from .workbench import Message, Workbench

EXAMPLES = {
    example["name"]: example["document"]
    for example in json.loads((Path(__file__).parent / "seed_examples.json").read_text())
}
SCRIPT, TRAINS, SENSITIVE = (
    "specification, Example 1: Simple Script Execution",
    "specification, Example 2: Train Schedule (From Original Essay)",
    "specification, Example 3: Sensitive Operation with Approval",
)
BUN = """\
#!/bin/sh
case "$1 $2" in
"run date-script.ts") echo 2025-01-15T10:30:02.123Z ;;
"run reminder.ts") echo 'Reminder created' ;;
"run a.ts") : > output.txt ;;
"run app.ts") echo app ;;
*) exit 1 ;;
esac
"""
VARYING = ("timestamp", "durationMs", "sandbox", "bytesWritten", "operationId")


@pytest.fixture
def bench(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """A workspace with a program `bun`, that knows these scripts."""
    bench.write("bin/bun", BUN)
    (bench.root / "bin" / "bun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bench.root / 'bin'}:{os.environ['PATH']}")
    return bench


def same(events: list[Message], told: list[Message]) -> bool:
    """Whether events say what those of an example say; times, and sizes that it made up, apart."""

    def said(event: Message) -> Message:
        return {name: value for name, value in event.items() if name not in VARYING}

    return all(said(example).items() <= event.items() for event, example in zip(events, told, strict=True))


@pytest.mark.rule("O7", "O4")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (f"{SCRIPT}, operations message", f"{SCRIPT}, events message 2"),
        (f"{TRAINS}, operations message", f"{TRAINS}, events message 2"),
        (
            "specification, Partial Failure Handling, operations message",
            "specification, Partial Failure Handling, events message",
        ),
    ],
)
async def test_a_turn_is_answered_as_the_example_says(bench: Workbench, asked: str, told: str) -> None:
    async with bench.open() as talk:
        answer = await talk.say(EXAMPLES[asked])
    assert answer["status"] == EXAMPLES[told]["status"]
    assert same(answer["events"], EXAMPLES[told]["events"]), answer["events"]
    for operation, event in zip(EXAMPLES[asked]["operations"], answer["events"], strict=True):
        if event["type"] == "createFile":
            assert event["bytesWritten"] == len(operation["content"].encode())


@pytest.mark.rule("A7", "A8")
async def test_the_example_of_an_approval_goes_as_it_says(bench: Workbench) -> None:
    bench.write("temp/f", ".")
    paused_as, resumed_as = (EXAMPLES[f"{SENSITIVE}, events message{which}"] for which in ("", " 2"))
    async with bench.open() as talk:
        paused = await talk.say(EXAMPLES[f"{SENSITIVE}, operations message"])
        resumed = await talk.say(EXAMPLES[f"{SENSITIVE}, approval"])
    assert [event["type"] for event in paused["events"]] == [event["type"] for event in paused_as["events"]]
    assert paused["status"] == paused_as["status"]
    asked, asked_as = paused["events"][1], paused_as["events"][1]
    assert (asked["operationId"], asked["operationType"]) == (asked_as["operationId"], asked_as["operationType"])
    assert asked["details"]["command"] == asked_as["details"]["command"]
    assert (resumed["status"], resumed["runId"]) == (resumed_as["status"], paused["runId"])
    assert same(resumed["events"], resumed_as["events"])
    assert resumed["events"][0]["operationId"] == resumed_as["events"][0]["operationId"]
    assert list((bench.root / "temp").iterdir()) == []


@pytest.mark.rule("O7")
@pytest.mark.parametrize(
    "name",
    [name for name in EXAMPLES if name.endswith((", operations message", ", operations message 2"))],
)
async def test_every_example_of_a_message_has_an_event_for_each_operation(bench: Workbench, name: str) -> None:
    operations: list[Any] = EXAMPLES[name]["operations"]
    async with bench.open() as talk:
        answer = await talk.say(EXAMPLES[name])
    kinds = [event["type"].replace("approvalRequired", "shell") for event in answer["events"]]
    assert kinds == [operation["type"] for operation in operations][: len(kinds)]
    assert len(kinds) == len(operations) or answer["status"] == "awaiting_approval"
