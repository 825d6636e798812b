"""Test an agent at work: turns, approvals, failures, and stop requests at any time."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from codex_adapter import BackendError, CodexConfig, Completion, RunCancelled, RunRequest, open_run
from codex_adapter.agents import known_places
from codex_adapter.agents.codex.agent import AGENT
from codex_adapter.errors import InvalidRequestError
from codex_adapter.prompting import ToolUsed
from codex_adapter.protocols.operations.agent import AgentWork
from codex_adapter.protocols.operations.agent_decisions import MAX_DECISION_BYTES, DecisionLines, PersonDecisions
from codex_adapter.protocols.operations.executor import PendingApproval
from codex_adapter.protocols.operations.messages import Approval
from codex_adapter.protocols.operations.opening import open_executor
from codex_adapter.protocols.operations.policy import FileRules
from codex_adapter.protocols.operations.state_file import StateError
from codex_adapter.protocols.operations.strict_schema import agent_schema
from codex_adapter.testing import Exit, Hang, IgnoreSignals, PrintJson, ReadPrompt
from codex_adapter.testing.thread_lines import THREAD_ID, thread_started, turn_failed, turn_started
from tests.widths import thinned

from ...waiting import SOON
from .agent_stage import DONE, Stage, message_of, saying, told
from .workbench import Workbench, bare, shell

pytestmark = pytest.mark.rule("O15")

REMOVE = shell("rm -r temp", id="rm-1")
CREATE = {"type": "createFile", "path": "a", "content": "1"}
RESUME = "agent_api.session.resume.v1"
ONE_TURN = ["runCompleted", "operations", "events completed"]


@pytest.fixture
def stage(bench: Workbench, tmp_path: Path) -> Stage:
    """A place for work."""
    return Stage(bench, tmp_path)


def lines(*messages: dict[str, Any] | bytes) -> DecisionLines:
    """Decisions on lines, and their end."""
    given = [line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in messages]

    async def receive_some() -> bytes:
        await trio.lowlevel.checkpoint()
        return given.pop(0) if given else b""

    return DecisionLines(receive_some)


def approval(decision: str = "approved", operation_id: str = "rm-1", **members: str) -> dict[str, Any]:
    """A decision as a message."""
    return {"approval": {"operationId": operation_id, "decision": decision, **members}}


@pytest.mark.rule("O16")
async def test_what_came_of_the_operations_is_the_next_prompt_until_there_are_only_words(stage: Stage) -> None:
    stage.agents(
        saying("I begin.", message_of(CREATE, shell("cat a"))),
        saying(message_of({"type": "readFile", "path": "b"}, {"type": "message", "content": "."})),
        saying(DONE),
    )
    ended = await stage.work()
    assert (ended.reason, ended.turns, ended.session_id) == ("completed", 3, THREAD_ID)
    assert stage.supervisor.shape == [*ONE_TURN * 3, "ended completed"]
    records = stage.supervisor.records
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert {record["turn"] for record in records} == {1, 2, 3}
    assert records[-1] | {"seq": 0} == {
        **{"type": "ended", "seq": 0, "turn": 3},
        **{"reason": "completed", "turns": 3, "sessionId": THREAD_ID},
    }
    answers = [record["message"] for record in told(records, "events")]
    for turn in (2, 3):
        prompt = stage.facts(turn).prompt
        assert prompt is not None
        assert json.loads(prompt) == answers[turn - 2]
    assert answers[0]["events"][1]["stdout"] == "1"
    assert bare(answers[1]["events"])[0]["error"] == "File not found"
    assert stage.bench.text("a") == "1"


@pytest.mark.rule("O18")
async def test_each_turn_is_a_run_that_can_change_nothing_by_itself_in_one_session(stage: Stage) -> None:
    stage.agents(saying(message_of(CREATE)), saying(DONE))
    await stage.work()
    first, second = stage.requests
    held = {
        "agent_api.exec.non_interactive": True,
        "backend.codex.exec.sandbox_mode": "read-only",
        "backend.codex.tools": "none",
        "backend.codex.output_schema": agent_schema(),
    }
    assert dict(first.extensions) == held
    assert dict(second.extensions) == held | {RESUME: {"selector": "id", "id": THREAD_ID}}
    assert "Do it." in first.prompt.splitlines()
    assert stage.facts(1).cwd == stage.facts(2).cwd
    for turn in (1, 2):
        facts = stage.facts(turn)
        assert not Path(facts.cwd).is_relative_to(stage.bench.root)
        assert not Path(facts.cwd).exists()
        assert facts.env["GIT_DIR"] == os.devnull
        assert facts.argv[facts.argv.index("--sandbox") + 1] == "read-only"
        assert facts.argv[facts.argv.index("--ask-for-approval") + 1] == "never"
        assert "--skip-git-repo-check" in facts.argv


async def test_no_operations_at_all_end_the_work_too(stage: Stage) -> None:
    stage.agents(saying(message_of()))
    assert (await stage.work()).reason == "completed"


async def test_a_file_longer_than_a_final_text_arrives_whole(stage: Stage) -> None:
    content = "höher & weiter\n" * 20_000
    stage.agents(saying(message_of(CREATE | {"content": content})), saying(DONE))
    assert (await stage.work()).reason == "completed"
    assert stage.bench.text("a") == content
    [first, _] = told(stage.supervisor.records, "operations")
    assert first["message"]["operations"] == [{"type": "createFile", "path": "a", "content": content}]


@pytest.mark.parametrize("decision", ["approved", "denied"])
@pytest.mark.rule("O16")
async def test_a_decision_is_awaited_and_the_agent_sees_one_event_for_each_operation(
    stage: Stage, decision: str
) -> None:
    stage.bench.write("temp/f", ".")
    stage.agents(saying(message_of(CREATE, REMOVE, shell("test -e temp; echo $?"))), saying(DONE))
    ended = await stage.work(lines(approval(decision)))
    assert ended.reason == "completed"
    shape = ["runCompleted", "operations", "events awaiting_approval", "events completed"]
    assert stage.supervisor.shape == [*shape, *ONE_TURN, "ended completed"]
    seen = json.loads(stage.facts(2).prompt or "")
    came = ["shell", "1\n"] if decision == "approved" else ["policyDenied", "0\n"]
    assert [event["type"] for event in seen["events"]] == ["createFile", came[0], "shell"]
    assert (seen["status"], seen["events"][2]["stdout"]) == ("completed", came[1])
    asked, came_of_it, _ = told(stage.supervisor.records, "events")
    assert asked["message"]["events"][1]["type"] == "approvalRequired"
    assert asked["message"]["runId"] == came_of_it["message"]["runId"] == seen["runId"]


@pytest.mark.rule("O16")
async def test_a_person_can_be_asked_in_place_of_lines(stage: Stage) -> None:
    asked: list[PendingApproval] = []

    async def decide(waiting: PendingApproval) -> Approval:
        await trio.lowlevel.checkpoint()
        asked.append(waiting)
        return Approval(operation_id=waiting.operation_id, decision="denied", reason="Not today.")

    stage.agents(saying(message_of(REMOVE, REMOVE | {"id": None})), saying(DONE))
    assert (await stage.work(PersonDecisions(decide))).reason == "completed"
    assert len({waiting.operation_id for waiting in asked}) == 2
    seen = json.loads(stage.facts(2).prompt or "")
    assert [(event["type"], event["reason"]) for event in seen["events"]] == [("policyDenied", "Not today.")] * 2


@pytest.mark.rule("O16")
async def test_a_line_that_decides_nothing_is_answered_and_is_nothing_to_the_agent(stage: Stage) -> None:
    operations = {"protocolVersion": "1.0", "operations": [CREATE]}
    wrong: list[dict[str, Any] | bytes] = [approval(operation_id="other"), operations, b" \n", b"{\n"]
    too_long = b"x" * (MAX_DECISION_BYTES + 1) + b"\n"
    right = {"type": "userMessage", "content": "approved"}
    stage.agents(saying(message_of(REMOVE)), saying(DONE))
    assert (await stage.work(lines(*wrong, too_long, right))).reason == "completed"
    answers = [record["message"] for record in told(stage.supervisor.records, "events")]
    refused = [answer["events"][0]["message"] for answer in answers[1:5]]
    assert [text.partition(":")[0].split(" waits")[0] for text in refused] == [
        "operationId",
        "operation rm-1",
        "a message must be JSON in UTF-8",
        f"a decision must have at most {MAX_DECISION_BYTES} bytes",
    ]
    seen = json.loads(stage.facts(2).prompt or "")
    assert [event["type"] for event in seen["events"]] == ["shell"]
    assert not (stage.bench.root / "a").exists()


@pytest.mark.rule("O16")
@pytest.mark.fault(
    "workspace",
    "A supervisor sends plain text before an agent's operation waits for approval",
    "The text decides nothing",
)
async def test_plain_words_decide_on_nothing_that_comes_to_wait_later(stage: Stage) -> None:
    words = json.dumps({"type": "userMessage", "content": "approved"}).encode() + b"\n"
    ahead = json.dumps(approval("denied")).encode() + b"\n"
    come = [words + ahead, words]

    async def receive_some() -> bytes:
        await trio.lowlevel.checkpoint()
        return b""

    decisions = DecisionLines(receive_some, lambda: come.pop(0) if come else None)
    stage.agents(saying(message_of(REMOVE)), saying(DONE))
    assert (await stage.work(decisions)).reason == "completed"
    refused, asked, came, _ = [record["message"] for record in told(stage.supervisor.records, "events")]
    assert (
        refused["events"][0]["message"]
        == "2 lines arrived before an operation waited and were ignored. Send the decision again"
    )
    assert (asked["status"], came["events"][0]["type"]) == ("awaiting_approval", "policyDenied")
    seen = json.loads(stage.facts(2).prompt or "")
    assert [event["type"] for event in seen["events"]] == ["policyDenied"]


@pytest.mark.rule("O17")
@pytest.mark.fault(
    "workspace",
    "No decision arrives while an agent's operation waits",
    "The state keeps the operation for a later decision",
)
async def test_what_nobody_decides_on_is_kept_and_can_be_decided_later(stage: Stage) -> None:
    stage.bench.write("temp/f", ".")
    stage.agents(saying(message_of(REMOVE, CREATE)))
    stage.kept = True
    ended = await stage.work(lines())
    assert (ended.reason, ended.turns, ended.pending and ended.pending.operation_id) == ("awaiting_approval", 1, "rm-1")
    last = stage.supervisor.records[-1]
    assert (last["reason"], last["operationId"]) == ("awaiting_approval", "rm-1")
    async with stage.bench.open() as talk:
        assert [answer["status"] for answer in await talk.resume_unfinished()] == ["awaiting_approval"]
        later = await talk.decide("rm-1")
    assert [event["type"] for event in later["events"]] == ["shell", "createFile"]
    assert later["runId"] == last["runId"]


@pytest.mark.rule("O16", "O17")
async def test_what_an_earlier_life_left_is_settled_before_the_agent_begins(stage: Stage) -> None:
    async with stage.bench.open() as talk:
        await talk.send(REMOVE, CREATE)
    stage.kept = True
    stage.agents(saying(DONE))
    assert (await stage.work(lines())).turns == 0
    assert stage.requests == []
    stage.supervisor.records.clear()
    assert (await stage.work(lines(approval()))).reason == "completed"
    assert stage.supervisor.shape == ["events awaiting_approval", "events completed", *ONE_TURN, "ended completed"]
    assert [record["turn"] for record in told(stage.supervisor.records, "events")] == [0, 0, 1]
    assert stage.bench.text("a") == "1"


OWN_APPROVAL = pytest.mark.fault(
    "workspace", "An agent's answer is an approval", "The runtime refuses it, because it is not an operations message"
)


@pytest.mark.parametrize(
    "text",
    thinned(
        [
            pytest.param("I am done.", id="words"),
            pytest.param("", id="nothing"),
            pytest.param('{"protocolVersion":"2.0","operations":[]}', id="another version"),
            pytest.param(json.dumps(approval()), id="a decision", marks=OWN_APPROVAL),
            pytest.param("[" * 100_000, id="nesting"),
        ],
        2,
    ),
)
@pytest.mark.rule("O17")
@pytest.mark.fault(
    "workspace",
    "An agent's answer is not an operations message",
    "The agent receives the reason up to two times; then the work fails",
)
async def test_an_answer_that_is_no_operations_message_is_given_back_twice(stage: Stage, text: str) -> None:
    stage.agents(saying(text))
    ended = await stage.work()
    assert (ended.reason, ended.turns) == ("failed", 3)
    assert stage.supervisor.shape == [*["runCompleted", "events error"] * 3, "ended failed"]
    assert stage.supervisor.records[-1]["error"] == "3 messages of the agent in a row were not operations"
    [event] = json.loads(stage.facts(1).prompt or "")["events"]
    assert (event["type"], event["category"]) == ("error", "validation")


async def test_an_agent_that_mends_its_answer_goes_on(stage: Stage) -> None:
    wrong = saying("Hm.")
    stage.agents(wrong, wrong, saying(message_of(CREATE)), wrong, wrong, saying(DONE))
    ended = await stage.work()
    assert (ended.reason, ended.turns) == ("completed", 6)


async def test_more_operations_than_the_policy_allows_are_told_to_the_agent(stage: Stage) -> None:
    policy = stage.bench.policy
    limits = type(policy.limits)(operations=1, file_bytes=policy.limits.file_bytes)
    stage.bench.policy = type(policy)(**{**{n: getattr(policy, n) for n in policy.__struct_fields__}, "limits": limits})
    words = {"type": "message", "content": "."}
    stage.agents(saying(message_of(words, words)), saying(DONE))
    assert (await stage.work()).turns == 2
    [event] = json.loads(stage.facts(2).prompt or "")["events"]
    assert event["message"] == "operations: must have at most 1 operations. Send fewer at once"


@pytest.mark.rule("O17")
@pytest.mark.fault("workspace", "An agent never ends its work", "A limit on its turns ends the work")
async def test_an_endless_agent_ends_with_its_turns(stage: Stage) -> None:
    stage.agents(saying(message_of(shell("echo x >> log"))))
    ended = await stage.work(turns=4)
    assert (ended.reason, ended.turns) == ("turn_limit", 4)
    assert stage.bench.text("log") == "x\n" * 4
    assert stage.supervisor.shape == [*ONE_TURN * 4, "ended turn_limit"]


@pytest.mark.rule("O17")
@pytest.mark.fault("workspace", "The agent's run fails", "The work fails, and no operation of that run executes")
@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ([ReadPrompt(), Exit(3)], "runCompleted"),
        ([ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()), Exit(0)], "runCompleted"),
        ([*saying(DONE)[:-1], PrintJson(turn_failed("no")), Exit(1)], "runCompleted"),
    ],
    ids=["status", "cut off", "turn failed"],
)
async def test_a_run_that_fails_ends_the_work(stage: Stage, steps: Any, kind: str) -> None:
    stage.agents(saying(message_of(CREATE)), steps)
    ended = await stage.work()
    assert (ended.reason, ended.turns, isinstance(ended.outcome, Completion)) == ("failed", 2, True)
    assert stage.supervisor.shape == [*ONE_TURN, kind, "ended failed"]


@pytest.mark.rule("O17")
async def test_a_refused_request_ends_the_work(stage: Stage) -> None:
    with open_executor(stage.bench.root, stage.bench.policy, agents=known_places()) as runtime:
        request = RunRequest(prompt="Do it.", timeout=-1, working_dir=str(stage.bench.root))
        work = AgentWork(
            runtime,
            AGENT,
            lambda request: open_run(request, config=CodexConfig()),
            request,
            stage.supervisor,
        )
        ended = await work.run()
    assert (ended.reason, isinstance(ended.outcome, InvalidRequestError)) == ("failed", True)
    [failed] = told(stage.supervisor.records, "runFailed")
    assert failed["completion"]["error"]["kind"] == "invalid_request"


@pytest.mark.rule("O17")
async def test_a_stop_before_the_beginning_starts_no_agent(stage: Stage) -> None:
    stage.agents(saying(DONE))
    async with stage.working() as work:
        work.cancel()
        ended = await work.run()
    assert (ended.reason, ended.turns, stage.requests) == ("stopped", 0, [])


@pytest.mark.rule("O17")
@pytest.mark.parametrize("end", [AgentWork.cancel, AgentWork.kill])
async def test_a_stop_while_the_agent_runs_ends_it(stage: Stage, end: Callable[[AgentWork], None]) -> None:
    stage.agents([ReadPrompt(), PrintJson(thread_started()), Hang()])
    async with stage.working() as work:
        stage.supervisor.on["runEvent"] = lambda: end(work)
        with trio.fail_after(SOON):
            ended = await work.run()
    assert (ended.reason, isinstance(ended.outcome, RunCancelled)) == ("stopped", True)
    assert stage.supervisor.shape == ["runFailed", "ended stopped"]
    assert stage.processes() == []


@pytest.mark.rule("O17")
async def test_a_kill_does_not_wait_for_an_agent_that_will_not_end(stage: Stage) -> None:
    stage.agents([IgnoreSignals(("SIGINT", "SIGTERM")), ReadPrompt(), PrintJson(thread_started()), Hang()])
    stage.stop_timeout = 50 * SOON
    async with stage.working() as work:

        def twice() -> None:
            work.cancel()
            work.kill()

        stage.supervisor.on["runEvent"] = twice
        with trio.fail_after(SOON):
            assert (await work.run()).reason == "stopped"
    assert stage.processes() == []


@pytest.mark.rule("O17")
async def test_a_stop_before_the_operations_carries_out_none_of_them(stage: Stage) -> None:
    stage.agents(saying(message_of(CREATE)))
    async with stage.working() as work:
        stage.supervisor.on["operations"] = work.cancel
        ended = await work.run()
    assert ended.reason == "stopped"
    assert stage.supervisor.shape == ["runCompleted", "operations", "events error", "ended stopped"]
    assert not (stage.bench.root / "a").exists()


@pytest.mark.rule("O17", "O13")
async def test_a_stop_while_a_command_runs_kills_it_and_what_follows_is_not_begun(stage: Stage) -> None:
    fifo = stage.bench.root / "fifo"
    os.mkfifo(fifo)
    stage.agents(saying(message_of(shell("echo > fifo; sleep 600"), CREATE)))
    async with stage.working() as work, trio.open_nursery() as nursery:

        async def stop() -> None:
            await trio.to_thread.run_sync(fifo.read_text)
            work.cancel()

        nursery.start_soon(stop)
        with trio.fail_after(SOON):
            assert (await work.run()).reason == "stopped"
    assert not (stage.bench.root / "a").exists()
    assert stage.supervisor.shape[-2:] == ["events error", "ended stopped"]


@pytest.mark.rule("O17")
async def test_a_stop_while_a_decision_is_awaited_leaves_it_undecided(stage: Stage) -> None:
    async def never(_waiting: PendingApproval) -> Approval:
        stop()
        await trio.sleep_forever()
        raise AssertionError

    stage.agents(saying(message_of(REMOVE)))
    async with stage.working(PersonDecisions(never)) as work:
        stop = work.cancel
        ended = await work.run()
    assert (ended.reason, ended.pending and ended.pending.operation_id) == ("stopped", "rm-1")


@pytest.mark.rule("O17")
@pytest.mark.parametrize("kind", ["runEvent", "runCompleted", "operations", "events"])
async def test_nobody_reading_any_more_is_a_stop(stage: Stage, kind: str) -> None:
    stage.agents(saying(message_of(CREATE)))
    stage.supervisor.on[kind] = stage.supervisor.gone.set
    ended = await stage.work()
    assert (ended.reason, ended.turns) == ("stopped", 1)
    assert stage.processes() == []


@pytest.mark.rule("O16", "O17")
async def test_with_nobody_to_decide_what_waits_ends_the_work(stage: Stage) -> None:
    stage.agents(saying(message_of(REMOVE)))
    ended = await stage.work()
    assert (ended.reason, ended.pending and ended.pending.operation_id) == ("awaiting_approval", "rm-1")


@pytest.mark.rule("O17")
async def test_an_agent_without_a_session_cannot_be_answered(stage: Stage) -> None:
    nameless = [step for step in saying(message_of(CREATE)) if step != PrintJson(thread_started())]
    stage.agents(nameless)
    ended = await stage.work()
    assert (ended.reason, ended.turns) == ("failed", 1)
    assert stage.supervisor.records[-1]["error"] == "the agent did not report its session, so it cannot be resumed"
    assert stage.bench.text("a") == "1"


@pytest.mark.rule("O17")
async def test_nobody_is_asked_when_nobody_reads_any_more(stage: Stage) -> None:
    async def never(_waiting: PendingApproval) -> Approval:
        await trio.sleep_forever()
        raise AssertionError

    stage.agents(saying(message_of(REMOVE)))
    stage.supervisor.on["events"] = stage.supervisor.gone.set
    assert (await stage.work(PersonDecisions(never))).reason == "stopped"


@pytest.mark.rule("O17", "K5")
async def test_a_program_that_cancels_the_work_leaves_nothing_of_it(stage: Stage) -> None:
    stage.agents([ReadPrompt(), PrintJson(thread_started()), Hang()])
    with trio.fail_after(SOON), trio.CancelScope() as scope:
        async with stage.working() as work:
            stage.supervisor.on["runEvent"] = scope.cancel
            await work.run()
    assert scope.cancelled_caught
    assert stage.processes() == []


CHANGED = "{} in the workspace has changed. It configures programs outside of the sandbox. Check it first"


@pytest.mark.rule("H15", "O18")
@pytest.mark.fault(
    "workspace", "An agent's operations change files that control other programs", "No further run starts"
)
@pytest.mark.parametrize(
    ("command", "path"),
    thinned(
        [
            ("echo x >> .codex/there", ".codex/there"),
            ("ln -s elsewhere .codex/link", ".codex"),
            ("echo x > outside", ".codex/linked"),
            ("rm .codex/there", ".codex"),
            ("mv .codex codex && cp -a codex .codex", ".codex"),
            ("mkdir -p $(printf 'd/%.0s' $(seq 500)) && ln -s .. .codex/loop", ".codex"),
            ("echo '[filter \"x\"] clean = ./x' >> .git/config", ".git/config"),
            ("echo ../evil > .git/modules/sub/commondir", ".git/modules/sub/commondir"),
            ("mv .git x && mkdir .git", ".git"),
            ("echo x > .git/hooks/pre-commit", ".git/hooks"),
            ("mkdir .vscode", ".vscode"),
            ("echo x > .envrc", ".envrc"),
        ],
        3,
    ),
)
async def test_no_run_begins_once_what_steers_other_programs_has_changed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, command: str, path: str
) -> None:
    # Without the sandbox and the rules of the presets, which keep them from it.
    policy = stage.bench.policy
    stage.bench.policy = replace(policy, files=replace(policy.files, write=FileRules(approve=(), deny=())))
    monkeypatch.setattr("codex_adapter.protocols.operations.opening.find_sandbox", lambda *_, **__: None)
    for name in (".codex/there", "outside", ".git/config", ".git/hooks/x", ".git/modules/sub/HEAD"):
        stage.bench.write(name, ".")
    (stage.bench.root / ".codex" / "linked").symlink_to("../outside")
    stage.agents(saying(message_of(shell(command))))
    ended = await stage.work()
    assert (ended.reason, ended.turns, ended.error) == ("failed", 1, CHANGED.format(path))
    assert stage.supervisor.records[-1]["error"] == ended.error


@pytest.mark.rule("H15", "O18")
async def test_what_steers_other_programs_and_is_left_alone_ends_nothing(stage: Stage) -> None:
    stage.bench.write(".codex/config.toml", "")
    stage.agents(saying(message_of(shell("cat .codex/config.toml; touch other; mkdir -p .git/refs"))), saying(DONE))
    assert (await stage.work()).reason == "completed"


@pytest.mark.rule("O17")
async def test_a_change_by_the_last_turn_is_reported(stage: Stage) -> None:
    stage.agents(saying(message_of(shell("mkdir .codex"))))
    ended = await stage.work(turns=1)
    assert (ended.reason, ended.error) == ("turn_limit", CHANGED.format(".codex"))


@pytest.mark.rule("O18")
async def test_a_run_that_uses_a_tool_of_its_own_is_ended(stage: Stage) -> None:
    tool = PrintJson({"type": "item.started", "item": {"id": "item_0", "type": "command_execution", "command": "id"}})
    stage.agents([ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()), tool, Hang()])
    ended = await stage.work()
    assert ended.reason == "failed"
    assert isinstance(ended.outcome, ToolUsed)
    assert ended.outcome.advice is not None
    assert "its own tool (command_execution)" in ended.outcome.advice
    assert str(ended.outcome).startswith("codex backend error: ")


@pytest.mark.rule("O18")
async def test_a_run_finds_no_program_in_the_workspace(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.bench.write("bin/git", "")
    path = os.pathsep.join([str(stage.bench.root / "bin"), "bin", "", os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    stage.agents(saying(DONE))
    await stage.work()
    assert stage.facts(1).env["PATH"] == path.split(os.pathsep, 3)[3]


@pytest.mark.rule("O18")
async def test_a_temporary_directory_in_the_workspace_is_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(stage.bench.root))
    stage.agents(saying(DONE))
    ended = await stage.work()
    assert ended.reason == "failed"
    assert isinstance(ended.outcome, BackendError)
    assert ended.outcome.advice is not None
    assert ended.outcome.advice.startswith("The temporary directory is in the workspace")


@pytest.mark.rule("O17", "O9")
@pytest.mark.fault("workspace", "The state fails while an agent works", "The work fails and raises the error")
async def test_a_state_that_fails_ends_the_work(stage: Stage) -> None:
    def broken() -> None:
        with closing(sqlite3.connect(stage.bench.state)) as database:
            database.execute("DROP TABLE batches")

    stage.kept = True
    stage.agents(saying(message_of(CREATE)))
    stage.supervisor.on["operations"] = broken
    async with stage.working() as work:
        with pytest.raises(StateError, match="the state cannot be read or written"):
            await work.run()
    assert stage.supervisor.shape == ["runCompleted", "operations", "ended failed"]
    assert stage.supervisor.records[-1]["error"].startswith("the state: ")
    assert not (stage.bench.root / "a").exists()


@pytest.mark.rule("X5")
async def test_a_secret_that_the_agent_writes_is_masked_before_it_is_an_operation(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_TOKEN", "hunter2-hunter2-hunter2")
    stage.agents(saying(message_of(CREATE | {"content": "key = hunter2-hunter2-hunter2\n"})), saying(DONE))
    assert (await stage.work()).reason == "completed"
    assert stage.bench.text("a") == "key = ***\n"
    assert "hunter2" not in json.dumps(stage.supervisor.records)
