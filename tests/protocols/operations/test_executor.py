"""Test batches from message to answer: order, partial failure, denied and invalid operations."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime

import pytest

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.opening import open_executor

from ...cli.command import ADAPTER
from ...needs import missing, without
from ...waiting import SOON
from .workbench import Conversation, Workbench, bare, shell


@pytest.mark.rule("O7")
async def test_each_operation_has_its_event_in_its_place(bench: Workbench) -> None:
    async with bench.open() as talk:
        answer = await talk.send(
            {"type": "createFile", "path": "a.ts", "content": "..."},
            {"type": "readFile", "path": "nonexistent.txt"},
            shell("echo hello"),
            {"type": "message", "content": "Done."},
        )
    assert (answer["status"], bare(answer["events"])) == (
        "completed",
        [
            {"type": "createFile", "path": "a.ts", "success": True, "bytesWritten": 3},
            {"type": "readFile", "path": "nonexistent.txt", "success": False, "error": "File not found"},
            {
                "type": "shell",
                "command": "echo hello",
                "success": True,
                "exitCode": 0,
                "stdout": "hello\n",
                "stderr": "",
            },
            {"type": "message", "success": True},
        ],
    )


@pytest.mark.rule("O7")
async def test_an_operation_sees_what_the_one_before_it_did(bench: Workbench) -> None:
    async with bench.open() as talk:
        answer = await talk.send(
            shell("printf 1 > n"),
            {"type": "editFile", "path": "n", "edits": [{"oldContent": "1", "newContent": "12"}]},
            shell("printf 3 >> n"),
            {"type": "readFile", "path": "n"},
            {"type": "deleteFile", "path": "n"},
            shell("test -e n"),
        )
    events = answer["events"]
    assert events[3]["content"] == "123"
    assert [event["success"] for event in events] == [True, True, True, True, True, False]


@pytest.mark.rule("O7", "O3")
async def test_what_is_invalid_is_an_error_in_its_place_and_the_rest_goes_on(bench: Workbench) -> None:
    async with bench.open() as talk:
        answer = await talk.send(
            {"type": "readFile", "path": "../x", "id": "out"},
            {"type": "rename", "id": "r"},
            {"type": "message", "content": 3},
            "no object",
            {"type": "message", "id": "last", "content": "."},
        )
    kinds = [(event["type"], event.get("category"), event.get("operationId")) for event in answer["events"]]
    wrong = ("error", "validation")
    assert kinds == [(*wrong, "out"), (*wrong, "r"), (*wrong, None), (*wrong, None), ("message", None, "last")]
    assert answer["status"] == "completed"


@pytest.mark.rule("O7")
async def test_an_event_has_the_operations_id_and_the_time_in_utc(bench: Workbench) -> None:
    moment = datetime(2025, 1, 15, 10, 30, 0, 123_999, tzinfo=UTC)
    with open_executor(bench.root, bench.policy, agents=known_places(), clock=lambda: moment) as runtime:
        answer = await Conversation(runtime).send({"type": "message", "id": "m", "content": "."})
    assert answer["events"] == [
        {"type": "message", "timestamp": "2025-01-15T10:30:00.123Z", "operationId": "m", "success": True}
    ]


@pytest.mark.rule("O7")
async def test_no_operations_are_completed(bench: Workbench) -> None:
    async with bench.open() as talk:
        answer = await talk.send()
    assert (answer["status"], answer["events"]) == ("completed", [])


@pytest.mark.rule("O7", "A2")
async def test_what_is_denied_says_what_to_do_instead_and_the_rest_goes_on(bench: Workbench) -> None:
    async with bench.open() as talk:
        answer = await talk.send(shell("sudo ls", id="s"), shell("echo on"))
    denied, went_on = answer["events"]
    assert denied["type"] == "policyDenied"
    assert (denied["operationId"], denied["operationType"]) == ("s", "shell")
    assert "sudo" in denied["reason"]
    assert denied["suggestion"] == "Remove sudo from the command"
    assert went_on["stdout"] == "on\n"


@pytest.mark.rule("O7")
@pytest.mark.parametrize(
    ("edits", "error"),
    [
        ([("b", "x"), ("nope", "y")], "edits[1].oldContent is not in the file after the edits before it"),
        ([("nope", "y")], "edits[0].oldContent is not in the file"),
        ([("b", "x"), ("b", "y"), ("b", "z")], "edits[2].oldContent"),
    ],
)
async def test_edits_are_made_all_or_none(bench: Workbench, edits: list[tuple[str, str]], error: str) -> None:
    bench.write("f", "a b b")
    listed = [{"oldContent": old, "newContent": new} for old, new in edits]
    async with bench.open() as talk:
        answer = await talk.send({"type": "editFile", "path": "f", "edits": listed})
    [event] = answer["events"]
    assert (event["success"], bench.text("f")) == (False, "a b b")
    assert error in event["error"]


@pytest.mark.rule("O7")
async def test_an_edit_replaces_the_first_place_only_and_leaves_what_is_no_text(bench: Workbench) -> None:
    (bench.root / "f").write_bytes(b"\xff a a \xfe")
    edits = [{"oldContent": "a", "newContent": "é"}, {"oldContent": "", "newContent": ">"}]
    async with bench.open() as talk:
        answer = await talk.send({"type": "editFile", "path": "f", "edits": edits})
    assert answer["events"][0]["editsApplied"] == 2
    assert (bench.root / "f").read_bytes() == b">\xff \xc3\xa9 a \xfe"


@pytest.mark.rule("O7")
async def test_a_file_that_is_no_text_can_be_read_as_base64(bench: Workbench) -> None:
    (bench.root / "f").write_bytes(b"\xff\x00")
    async with bench.open() as talk:
        answer = await talk.send(
            {"type": "readFile", "path": "f"}, {"type": "readFile", "path": "f", "encoding": "base64"}
        )
    refused, read = bare(answer["events"])
    assert refused["error"] == "The file is not UTF-8 text. Read it with the encoding base64"
    assert read == {
        "type": "readFile",
        "path": "f",
        "success": True,
        "encoding": "base64",
        "size": 2,
        "content": "/wA=",
    }


@pytest.mark.rule("O7")
async def test_a_file_is_replaced_only_when_that_was_asked_for(bench: Workbench) -> None:
    create = {"type": "createFile", "path": "f", "content": "2"}
    bench.write("f", "1")
    async with bench.open() as talk:
        refused = await talk.send(create)
        assert bench.text("f") == "1"
        await talk.send(create | {"overwrite": True})
    assert refused["events"][0]["error"] == "File already exists"
    assert bench.text("f") == "2"


@pytest.mark.rule("O7")
async def test_a_command_that_takes_too_long_ends_with_124(bench: Workbench) -> None:
    async with bench.open() as talk:
        answer = await talk.send(shell("yes", timeout=1000), shell("exit 7"), shell("kill -9 $$"))
    late, failed, killed = answer["events"]
    assert (late["success"], late["timedOut"], late["exitCode"]) == (False, True, 124)
    assert late["leftOut"]["stdout"] > 0
    assert "bytes left out" in late["stdout"]
    assert (failed["success"], failed["exitCode"], "error" in failed, "timedOut" in failed) == (False, 7, False, False)
    assert killed["exitCode"] == 137


@without("root", os.geteuid() != 0)
@pytest.mark.rule("O8")
@pytest.mark.fault(
    "workspace", "The disk is full", "The batch stops with a system error that counts the remaining operations"
)
def test_a_failure_of_the_machine_halts_the_batch(bench: Workbench) -> None:
    mounting = f'mount -t tmpfs -o size=64k none {bench.root} && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", mounting, "-", *ADAPTER, "operations", "--workspace", str(bench.root)]
    messages = [
        [
            {"type": "message", "content": "."},
            {"type": "createFile", "id": "large", "path": "a/f", "content": "x" * 100_000},
            {"type": "message", "content": "."},
            shell("echo on"),
        ],
        [{"type": "createFile", "path": "small", "content": "."}],
    ]
    lines = [json.dumps({"protocolVersion": "1.0", "operations": operations}) for operations in messages]
    done = subprocess.run(words, input="\n".join(lines), capture_output=True, text=True, timeout=SOON, check=False)
    if done.stderr.startswith(("unshare:", "mount:")):
        missing("namespaces")
    assert (done.returncode, done.stderr) == (0, "")
    halted, went_on = map(json.loads, done.stdout.splitlines())
    message, error = halted["events"]
    assert (halted["status"], message["type"]) == ("error", "message")
    assert (error["type"], error["category"], error["operationId"]) == ("error", "system", "large")
    assert (error["message"], error["details"]) == ("No space is left for the workspace", {"notCarriedOut": 2})
    assert (went_on["status"], went_on["events"][0]["success"]) == ("completed", True)
