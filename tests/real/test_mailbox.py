"""Test `codex-adapter mailbox --answer codex` with the real CLI on a whole task."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.records import decode_record
from codex_adapter.testing import Answer, Shell, answer, script

from ..waiting import SOON
from .commands import Told, running, told
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("I17")]


@pytest.fixture(autouse=True)
def takes_tools_away(stage: Stage) -> None:
    """Skip releases that answer no outbox."""
    stage.release.needs(0, 147, what="a model without tools")


BUILD = "[RUN_COMMAND]\nsh build.sh\n[/RUN_COMMAND]\n"
FIRST = f"""I shall write a build and try it.

[CREATE_FILE path="build.sh"]
set -e
cat src/part.txt
echo built
[/CREATE_FILE]

```
{BUILD}```
"""
MEND = f"""The directory was missing.

[CREATE_FILE path="src/part.txt"]
one
[/CREATE_FILE]
[EDIT_FILE path="build.sh" start_line="3" end_line="3"]
echo built well
[/EDIT_FILE]
[READ_FILE path="build.sh"]
{BUILD}"""
DONE = "[MESSAGE]\nIt builds.\n[/MESSAGE]\n[DONE]\nThe build is there.\n[/DONE]\n"


def mailbox(stage: Stage) -> Path:
    """Where it is."""
    return stage.root / "mailbox"


def words(stage: Stage, action: str) -> list[str]:
    """The command line."""
    agent = ["--answer", "codex", "--codex", str(stage.release.binary)]
    return [action, "--mailbox", str(mailbox(stage)), "--workspace", str(stage.workspace), *agent]


def work(stage: Stage, *task: str, action: str = "start") -> Told:
    """The command from its start to its end."""
    with running(stage, "mailbox", *words(stage, action), *task) as process:
        return told(process)


def prompt(request: dict[str, Any]) -> str:
    """What the user said last."""
    text: str = request["input"][-1]["content"][-1]["text"]
    return text


def of(done: Told, kind: str) -> list[dict[str, Any]]:
    """What happened of one kind."""
    return [record for record in done.records if record["type"] == kind]


@pytest.mark.smoke
def test_a_task_with_a_failing_build_that_is_mended(stage: Stage) -> None:
    pause = stage.release.pause
    # What the agent itself tries changes nothing.
    second = [answer(Shell("echo x > own"), delay=pause), answer(MEND, delay=pause)]
    with stage.model(script(FIRST, *second, answer(DONE, delay=pause))) as server:
        done = work(stage, "Make a build.")
        requests = server.requests
    assert (done.status, done.stderr) == (0, b"")
    assert [result["result"]["success"] for result in of(done, "result")] == [
        *(True, False),
        *(True, True, True, True),
        *(True, True),
    ]
    assert [said["text"] for said in of(done, "message")] == ["It builds."]
    assert [end["summary"] for end in of(done, "done")] == ["The build is there."]
    assert (stage.workspace / "build.sh").read_text() == "set -e\ncat src/part.txt\necho built well\n"
    assert sorted(path.name for path in stage.workspace.iterdir() if path.name[0] != ".") == ["build.sh", "src"]

    # Each outbox is a prompt, in a session of its own; the records of each run are in the journal.
    outboxes = [Path(record["path"]).read_text() for record in of(done, "outbox")]
    assert [prompt(requests[number]) for number in (0, 1, 3)] == outboxes
    assert "[FAILED] RUN_COMMAND: Ran 'sh build.sh' (exit code 1)\n" in outboxes[1]
    assert "--- build.sh ---\nset -e\ncat src/part.txt\necho built well\n--- end build.sh ---\n" in outboxes[2]
    assert "  Output: one\n    built well\n" in outboxes[2]
    journals = sorted((mailbox(stage) / "journal").iterdir())
    assert [path.stem for path in journals] == [Path(record["path"]).stem for record in of(done, "outbox")]
    for path in journals:
        records = [decode_record(line) for line in path.read_bytes().splitlines()]
        assert [record.seq for record in records] == list(range(len(records)))
        assert json.loads(path.read_bytes().splitlines()[-1])["outcome"] == "completed"


@pytest.mark.rule("O18")
def test_the_model_has_nothing_but_words_and_works_where_nothing_steers_it(stage: Stage) -> None:
    secret = stage.root / "secret"
    secret.write_text("canary-in-a-file")
    (stage.root / "AGENTS.md").write_text("MARKED INSTRUCTIONS")
    asked = answer(Shell(f"cat {secret}; touch {stage.root}/ran"))
    with stage.model(script(asked, answer(DONE, delay=stage.release.pause))) as server:
        done = work(stage, "Write.")
        sent = json.dumps(server.requests)
    assert (done.status, len(server.requests)) == (0, 2)
    assert "read-only" in sent
    assert "canary-in-a-file" not in sent
    assert "MARKED INSTRUCTIONS" not in sent
    assert not (stage.root / "ran").exists()


def test_a_run_that_fails_ends_the_waiting_and_the_session_goes_on_later(stage: Stage) -> None:
    with stage.model(script(FIRST, Answer(status=500))):
        failed = work(stage, "Make a build.")
    assert failed.status != 0
    assert len(of(failed, "outbox")) == 2
    with stage.model(script(MEND, answer(DONE, delay=stage.release.pause))):
        done = work(stage, action="resume")
    assert done.status == 0
    assert (stage.workspace / "src" / "part.txt").read_text() == "one\n"
    first, *_ = sorted((mailbox(stage) / "journal").glob("*_seq0002.jsonl"))
    assert [json.loads(line)["outcome"] for line in first.read_bytes().splitlines() if b'"completion"' in line]


def test_a_signal_while_the_model_answers_leaves_nothing(stage: Stage) -> None:
    with stage.model(script(answer("slow", delay=1000))) as server:
        with running(stage, "mailbox", *words(stage, "start"), "Make a build.") as process:
            assert server.wait_for_requests(1, timeout=SOON)
            process.send_signal(signal.SIGTERM)
            stopped = told(process)
    assert stopped.status == 143
    with stage.model(script(answer(DONE, delay=stage.release.pause))):
        assert work(stage, action="once").status == 0
