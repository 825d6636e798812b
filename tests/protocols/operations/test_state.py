"""Test the state: its owner, and how a runtime resumes interrupted work."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import pytest
from msgspec import Raw

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.audit import read_audit
from codex_adapter.protocols.operations.event_factory import EventFactory
from codex_adapter.protocols.operations.events import EditFileEvent
from codex_adapter.protocols.operations.files import FileExecutor
from codex_adapter.protocols.operations.opening import open_executor
from codex_adapter.protocols.operations.operations import EditFileOperation
from codex_adapter.protocols.operations.state_file import StateError
from codex_adapter.protocols.operations.store import Intent, Store
from codex_adapter.protocols.operations.validation import parse_operation
from codex_adapter.workspace import Workspace

from .workbench import Message, Workbench, bare, shell

CREATE = {"type": "createFile", "id": "c", "path": "f", "content": "new"}
REPLACE = CREATE | {"overwrite": True}
EDIT = {"type": "editFile", "id": "e", "path": "f", "edits": [{"oldContent": "old", "newContent": "new"}]}
DELETE = {"type": "deleteFile", "id": "d", "path": "f"}
READ = {"type": "readFile", "id": "r", "path": "f"}
ON = shell("echo on")


def digest(text: str | None) -> bytes | None:
    """As an intent has it."""
    return None if text is None else hashlib.sha256(text.encode()).digest()


def leave(bench: Workbench, *operations: Message, intent: Intent | None = None) -> str:
    """A state as a kill leaves it when the first of these operations was under way."""
    run_id = "run_left"
    with Store(bench.state, str(bench.root)) as store:
        with store.change():
            batch = store.add(run_id, [Raw(json.dumps(operation).encode()) for operation in operations])
        step = store.next_step(batch)
        assert step is not None
        with store.change():
            store.begin(step, intent)
    return run_id


@pytest.mark.rule("O12", "O11")
@pytest.mark.parametrize(
    ("operation", "was", "becomes", "now", "told", "after"),
    [
        pytest.param(CREATE, None, "new", None, {"success": True, "bytesWritten": 3}, "new", id="create, not done"),
        pytest.param(CREATE, None, "new", "new", {"success": True, "bytesWritten": 3}, "new", id="create, done"),
        pytest.param(CREATE, "new", "new", "new", {"success": False}, "new", id="create, there was one"),
        pytest.param(CREATE, None, "new", "other", {"success": False}, "other", id="create, somebody else's"),
        pytest.param(REPLACE, "old", "new", "old", {"success": True, "bytesWritten": 3}, "new", id="replace, not done"),
        pytest.param(REPLACE, "old", "new", "new", {"success": True, "bytesWritten": 3}, "new", id="replace, done"),
        pytest.param(REPLACE, "old", "new", None, {"success": False}, None, id="replace, gone meanwhile"),
        pytest.param(
            EDIT, "old old", "new old", "old old", {"success": True, "editsApplied": 1}, "new old", id="edit, not done"
        ),
        pytest.param(
            EDIT, "old old", "new old", "new old", {"success": True, "editsApplied": 1}, "new old", id="edit, done"
        ),
        pytest.param(EDIT, "old", "new", "old old", {"success": False}, "old old", id="edit, somebody else's"),
        pytest.param(DELETE, "old", None, "old", {"success": True}, None, id="delete, not done"),
        pytest.param(DELETE, "old", None, None, {"success": True}, None, id="delete, done"),
        pytest.param(DELETE, None, None, None, {"success": False}, None, id="delete, never there"),
        pytest.param(DELETE, "old", None, "other", {"success": False}, "other", id="delete, somebody else's"),
    ],
)
async def test_a_file_operation_that_was_cut_short_is_found_done_or_done(
    bench: Workbench,
    operation: Message,
    was: str | None,
    becomes: str | None,
    now: str | None,
    told: Message,
    after: str | None,
) -> None:
    run_id = leave(bench, operation, ON, intent=Intent(digest(was), digest(becomes)))
    if now is not None:
        bench.write("f", now)
    async with bench.open() as talk:
        [answer] = await talk.resume_unfinished()
    event, went_on = bare(answer["events"])
    assert (answer["runId"], answer["status"]) == (run_id, "completed")
    assert told.items() <= event.items()
    assert (event["type"], event["operationId"], went_on["stdout"]) == (operation["type"], operation["id"], "on\n")
    assert (bench.text("f") if (bench.root / "f").exists() else None) == after


@pytest.mark.rule("O12")
@pytest.mark.fault(
    "workspace",
    "SIGKILL ends the runtime during a command",
    "The runtime never starts the command again, and its event reports this",
)
async def test_a_command_that_was_cut_short_is_not_started_again(bench: Workbench) -> None:
    leave(bench, shell("echo twice >> f", id="s"), ON)
    async with bench.open() as talk:
        [answer] = await talk.resume_unfinished()
    event, went_on = answer["events"]
    assert (event["type"], event["operationId"], event["success"]) == ("shell", "s", False)
    assert (
        event["error"] == "The runtime was killed while this command ran, and its outcome is unknown. "
        "Check its effects before you repeat it"
    )
    assert went_on["stdout"] == "on\n"
    assert not (bench.root / "f").exists()


@pytest.mark.rule("O12")
@pytest.mark.parametrize("there", [True, False])
async def test_a_link_that_leads_nowhere_is_deleted_once(bench: Workbench, *, there: bool) -> None:
    (bench.root / "f").symlink_to("nowhere")
    with Workspace(bench.root, agents=known_places()) as workspace:
        intent = FileExecutor(workspace, 1000, EventFactory()).intent(parse_operation(DELETE))
    leave(bench, DELETE, intent=intent)
    if not there:
        (bench.root / "f").unlink()
    async with bench.open() as talk:
        [answer] = await talk.resume_unfinished()
    assert answer["events"][0]["success"]
    assert not (bench.root / "f").is_symlink()


@pytest.mark.rule("O12")
@pytest.mark.parametrize("now", ["gone", "changed", "same"])
def test_an_edit_that_could_not_be_made_is_not_found_done(bench: Workbench, now: str) -> None:
    bench.write("f", "something else")
    operation = parse_operation(EDIT)
    assert isinstance(operation, EditFileOperation)
    with Workspace(bench.root, agents=()) as workspace:
        files = FileExecutor(workspace, 1000, EventFactory())
        intent = files.intent(operation)
        assert intent is not None
        if now == "gone":
            (bench.root / "f").unlink()
        elif now == "changed":
            bench.write("f", "another thing")
        event = files.recover(operation, intent, "op")
    assert isinstance(event, EditFileEvent)
    assert not event.success


@pytest.mark.rule("O12")
async def test_reading_is_done_again(bench: Workbench) -> None:
    bench.write("f", "now")
    leave(bench, READ)
    async with bench.open() as talk:
        [answer] = await talk.resume_unfinished()
    assert answer["events"][0]["content"] == "now"


@pytest.mark.rule("O11", "O9")
@pytest.mark.fault(
    "workspace",
    "SIGKILL ends the runtime before it writes its answer",
    "The next start sends the answer and repeats nothing",
)
async def test_an_answer_that_was_not_delivered_comes_at_the_next_start(bench: Workbench) -> None:
    with open_executor(bench.root, bench.policy, agents=known_places(), state=bench.state) as runtime:
        lost = await runtime.handle(
            json.dumps({"protocolVersion": "1.0", "operations": [CREATE, shell("echo once >> trace")]}).encode()
        )
    async with bench.open() as talk:
        [again] = await talk.resume_unfinished()
        assert again == json.loads(lost.line)
    async with bench.open() as talk:
        assert await talk.resume_unfinished() == []
    assert bench.text("trace") == "once\n"


@pytest.mark.rule("O9")
async def test_a_state_keeps_only_the_log_of_what_is_over(bench: Workbench) -> None:
    async with bench.open() as talk:
        await talk.send(CREATE | {"content": "much" * 1000})
    assert b"muchmuch" not in bench.state.read_bytes().replace(b"\0", b"")[:4096]
    assert [record.kind for record in read_audit(bench.state)] == ["message", "event", "ended"]


@pytest.mark.rule("O9")
async def test_a_state_is_for_its_owner_one_runtime_and_one_workspace(bench: Workbench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with bench.open():
        for path in tmp_path.glob("state.db*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with (
            pytest.raises(StateError, match="another runtime uses this state"),
            open_executor(bench.root, bench.policy, agents=known_places(), state=bench.state),
        ):
            pass
    with (
        pytest.raises(StateError, match="belongs to another workspace"),
        open_executor(other, bench.policy, agents=known_places(), state=bench.state),
    ):
        pass


@pytest.mark.rule("O9")
@pytest.mark.parametrize(
    "content", [b"no database, and longer than the head of one" * 100, b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_a_file_that_is_no_state_is_refused_and_left_as_it_is(bench: Workbench, content: bytes) -> None:
    bench.state.write_bytes(content)
    with (
        pytest.raises(StateError, match="not a state of codex-adapter"),
        open_executor(bench.root, bench.policy, agents=known_places(), state=bench.state),
    ):
        pass
    assert bench.state.read_bytes() == content


@pytest.mark.rule("O9")
def test_a_state_where_no_file_can_be_is_refused(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "s.db", tmp_path):
        with (
            pytest.raises(StateError, match="cannot be created"),
            open_executor(bench.root, bench.policy, agents=known_places(), state=place),
        ):
            pass


@pytest.mark.rule("O9")
async def test_nothing_is_left_of_a_runtime_without_a_state(bench: Workbench, tmp_path: Path) -> None:
    async with bench.open(kept=False) as talk:
        await talk.send(CREATE, shell("rm -rf x", id="x"))
        assert (await talk.decide("x"))["status"] == "completed"
    assert list(tmp_path.iterdir()) == [bench.root]


@pytest.mark.rule("O13")
async def test_a_runtime_that_is_asked_to_stop_says_what_is_left_and_goes_on_later(bench: Workbench) -> None:
    async with bench.open() as talk:
        talk.runtime.stop()
        stopped = await talk.send(CREATE, shell("echo on >> trace"))
    assert stopped["status"] == "error"
    [error] = stopped["events"]
    assert (error["category"], error["details"]) == ("system", {"notCarriedOut": 2})
    assert not (bench.root / "f").exists()
    async with bench.open() as talk:
        [rest] = await talk.resume_unfinished()
    assert (rest["runId"], rest["status"]) == (stopped["runId"], "completed")
    assert [event["type"] for event in rest["events"]] == ["createFile", "shell"]
    assert bench.text("trace") == "on\n"


@pytest.mark.rule("O9")
@pytest.mark.fault(
    "workspace", "The state directory would be inside the workspace, where an agent can write", "The command refuses it"
)
async def test_a_state_is_out_of_an_agents_reach(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(bench.root)
    (bench.root / "out").symlink_to(tmp_path)
    for place in (bench.root / "s.db", tmp_path / "link" / "s.db", bench.root / "out" / "s.db"):
        with (
            pytest.raises(StateError, match="the state is in the workspace"),
            open_executor(bench.root, bench.policy, agents=known_places(), state=place),
        ):
            pass
    async with bench.open() as talk:
        answer = await talk.send(shell(f"head -c 15 {bench.state}"))
    assert answer["events"][0]["stdout"] == "" or answer["events"][0]["sandbox"] == "none"
