"""Test the store of conversations: resumed ones, and no files of failed first turns."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import trio

from codex_adapter.protocols.turns.conversations import ABANDONED, Conversation, Conversations
from codex_adapter.protocols.turns.messages import AgentEvent, SessionCallbacks
from codex_adapter.testing import Exit, Hang, PrintJson, ReadPrompt
from codex_adapter.testing.thread_lines import agent_message

from .desk import Desk
from .listener import Listener
from .scripted_harness import MODELS, saying

pytestmark = pytest.mark.rule("U8")

KEY = "0199a213-81c0-7800-8aa1-bbab2a035a53"
NO_KEY = [ReadPrompt(), Exit(3)]
NOT_FOUND = "harness_session_not_found"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def conversations(tmp_path: Path) -> Conversations:
    return Conversations(tmp_path)


def kept(desk: Desk) -> list[str]:
    """The directories of conversations."""
    root = desk.home / "state" / "sessions"
    assert not any((root / "begun").iterdir())
    return sorted(path.name for path in root.iterdir() if path.is_dir() and path.name != "begun")


def record(home: Path, key: str = KEY) -> Path:
    return home / "state" / "sessions" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


@pytest.mark.fault("turns", "A first turn fails before it has a key", "The adapter keeps none of its files")
async def test_a_turn_that_came_to_no_conversation_leaves_none(tmp_path: Path) -> None:
    desk = Desk(tmp_path, NO_KEY, saying(PrintJson(agent_message("item_0", "Done."))))
    told, _ = await desk.turn()
    assert "harnessSessionId" not in told
    assert kept(desk) == []
    await desk.turn()
    assert kept(desk) == [desk.harness.turns[1].directory.name]


@pytest.mark.fault(
    "turns", "The conversation cannot be stored when its key arrives", "The turn fails and never reports the key"
)
async def test_a_key_that_cannot_be_written_down_is_not_told(desk: Desk) -> None:
    record(desk.home).mkdir(parents=True)
    told, events = await desk.turn()
    assert told["result"]["error"] == {
        "message": "the files of the turn under aspHome cannot be read or written. Check the disk."
    }
    assert not any("harnessSessionId" in it for it in (told, *events.told))
    assert kept(desk) == [record(desk.home).name]


@pytest.mark.rule("U2")
async def test_a_turn_that_is_cancelled_before_it_has_a_key_leaves_none(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [ReadPrompt(), Hang()])
    listener = Listener()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.client.run_turn, desk.request(), listener.callbacks)
            await desk.harness.asked.wait()
            assert desk.harness.turns[0].directory.is_dir()
            nursery.cancel_scope.cancel()
    assert kept(desk) == []


@pytest.mark.rule("U2")
async def test_a_turn_whose_listener_fails_before_it_has_a_key_leaves_none(desk: Desk) -> None:
    def raises(event: AgentEvent) -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        await desk.client.run_turn(desk.request(), SessionCallbacks(raises))
    assert not (desk.home / "state" / "sessions").exists()


@pytest.mark.fault(
    "turns", "SIGKILL ends first turns before they have a key", "The adapter removes their files after a day"
)
def test_what_killed_turns_left_is_removed_after_a_day(conversations: Conversations, tmp_path: Path) -> None:
    left = [conversations.begin() for _ in range(6)]
    (left[0] / "codex").mkdir()
    going_on = conversations.begin()
    conversations.save(Conversation(KEY, "scripted", going_on.name))
    fresh = conversations.begin()
    begun = tmp_path / "state" / "sessions" / "begun"
    assert {path.name for path in begun.iterdir()} == {path.name for path in [*left, fresh]}
    for path in left:
        os.utime(begun / path.name, (1, 1))
    os.utime(begun / fresh.name, (begun.stat().st_mtime - ABANDONED / 2,) * 2)
    conversations.begin()
    assert len([path for path in left if path.exists()]) == 2
    conversations.begin()
    assert not any(path.exists() for path in left)
    assert going_on.is_dir()
    assert fresh.is_dir()
    found = conversations.find(KEY)
    assert found is not None
    assert found.directory == going_on.name


DAMAGES: dict[str, bytes] = {
    "empty": b"",
    "no text": b"\xff\xfe",
    "a list": b"[]",
    "deep": b'{"x":' * 100_000,
    "another's": b'{"session":"x","harness":"scripted","directory":"0123456789abcdef"}',
    "huge": b" " * 1_000_000,
}


@pytest.mark.parametrize("content", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.fault(
    "turns", "The record of a conversation is damaged", "The session does not exist; the adapter does not guess"
)
async def test_a_damaged_record_is_no_session(desk: Desk, content: bytes) -> None:
    await desk.turn()
    record(desk.home).write_bytes(content)
    told, _ = await desk.turn(harness_session_id=KEY)
    assert told["result"]["error"]["code"] == NOT_FOUND


@pytest.mark.parametrize("kind", ["fifo", "directory", "device"])
@pytest.mark.fault(
    "turns",
    "A FIFO or a device has the name of a conversation's record",
    "The session does not exist, and the adapter does not wait",
)
async def test_what_is_no_file_is_no_session_and_is_not_waited_for(desk: Desk, kind: str) -> None:
    await desk.turn()
    path = record(desk.home)
    path.unlink()
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
    with trio.fail_after(60):
        told, _ = await desk.turn(harness_session_id=KEY)
    assert told["result"]["error"]["code"] == NOT_FOUND


@pytest.mark.parametrize("name", ["", ".", "..", "../..", "a/b", "\0", "begun", "ABCDEF0123456789", "x" * 300])
@pytest.mark.fault("turns", "A conversation's record points to another directory", "The session does not exist")
async def test_a_record_leads_to_nothing_but_a_conversations_directory(desk: Desk, name: str) -> None:
    await desk.turn()
    written = json.loads(record(desk.home).read_bytes())
    record(desk.home).write_text(json.dumps({**written, "directory": name}))
    told, _ = await desk.turn(harness_session_id=KEY)
    assert told["result"]["error"]["code"] == NOT_FOUND


@pytest.mark.rule("U5")
@pytest.mark.fault(
    "turns",
    "The model of a conversation no longer exists",
    "The conversation continues with the harness's default model",
)
async def test_a_conversation_whose_model_is_no_more_goes_on_with_the_harnesss_own(desk: Desk) -> None:
    told, _ = await desk.turn(model=MODELS[0])
    desk.harness.names = MODELS[1:]
    told, _ = await desk.turn(harness_session_id=told["harnessSessionId"])
    assert told["result"]["success"]
    assert "model" not in told
    assert desk.harness.turns[-1].model is None


@pytest.mark.rule("U5", "U6")
@pytest.mark.fault("turns", "The CLI cannot list its models", "The adapter refuses no model as unknown")
async def test_a_model_is_not_refused_for_a_harness_that_cannot_tell_its_models(desk: Desk) -> None:
    desk.harness.names = None
    told, listener = await desk.turn(model=MODELS[0])
    assert listener.shape == ["state running", "message", "state error", "complete"]
    assert told["result"]["error"] == {"message": "the harness scripted cannot list its models now. Try again."}
    told, _ = await desk.turn()
    assert told["result"]["success"]


@pytest.mark.rule("U1", "U4", "U6")
@pytest.mark.parametrize(
    "cwd", ["", ".", "work", "~", "/nothing/there", "/dev/null", "/\0", "/\ud800", "/" + "x" * 5000]
)
async def test_a_cwd_is_an_absolute_path_of_a_directory(desk: Desk, cwd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.root)
    told, listener = await desk.turn(cwd=cwd)
    assert listener.shape == ["state running", "message", "state error", "complete"]
    assert told["result"]["error"]["message"].startswith("cwd: ")
    assert "code" not in told["result"]["error"]
    assert desk.harness.turns == []


@pytest.mark.rule("U5")
async def test_an_empty_model_is_a_model_that_is_not_there(desk: Desk) -> None:
    told, _ = await desk.turn(model="")
    assert told["result"]["error"]["code"] == "model_not_supported"


async def pause() -> None:
    with trio.CancelScope(shield=True):
        await trio.lowlevel.checkpoint()


@pytest.mark.rule("U2")
@pytest.mark.parametrize("awaits", [False, True])
async def test_after_a_listener_has_cancelled_the_turn_there_is_no_further_event(desk: Desk, awaits: bool) -> None:
    listener = Listener()
    await desk.client.run_turn(desk.request(), listener.callbacks)
    for last in range(1, len(listener.told)):
        seen: list[Any] = []
        with trio.CancelScope() as scope:

            def hear(event: AgentEvent, seen: list[Any] = seen, last: int = last, scope: Any = scope) -> Any:
                seen.append(event.seq)
                if event.seq == last:
                    scope.cancel()
                return pause() if awaits else None

            await desk.client.run_turn(desk.request(), SessionCallbacks(hear))
        assert scope.cancelled_caught
        assert seen == list(range(1, last + 1))
