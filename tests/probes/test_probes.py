"""Test probes: what they do with a CLI, and the verdict on its behaviour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from codex_adapter import Completion, ExitStatus
from codex_adapter.agents.codex.probes import CodexStage
from codex_adapter.findings import Finding, Verdict
from codex_adapter.probes import session
from codex_adapter.probes.perform import perform
from codex_adapter.probes.probe import Evidence, NotProbed, Probe, Promise, Seen, values_in
from codex_adapter.probes.session import probe_all
from codex_adapter.probes.stage import Stage
from codex_adapter.probes.verdicts import judge, judge_all
from codex_adapter.runtime.containment.marks import marked
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import Quirk
from codex_adapter.testing import Hang, PrintJson, PrintText, WriteFacts, read_facts
from codex_adapter.testing.thread_lines import thread_started

from .scripted_agents import SCRIPTED, ScriptedAgent, each_scripted

pytestmark = pytest.mark.rule("C8")

NAMED = {probe.name: probe for probe in CodexStage.probes}
SCENARIO = NAMED["message"].scenario
NOT_YET = Quirk("not_yet", "it was not there yet", until=Version(0, 50, 0))
SINCE = Quirk("since", "it is reported", since=Version(0, 50, 0))
ONE = Probe("one", SCENARIO, (Promise("F2", "it goes well", lambda _: None, (NOT_YET,)),))
OTHER = Probe("other", SCENARIO, (Promise("F2", "it goes well", lambda _: None, only=(SINCE,)),))
SEEN = Seen((), Completion(ExitStatus(code=0)), (), 0)
EVIDENCE = Evidence((SEEN,), {}, "")
SECRETS = {
    **{"ANTHROPIC_API_KEY": "users-anthropic-key", "ANTHROPIC_BASE_URL": "http://users-gateway.example"},
    **{"CLAUDE_CODE_OAUTH_TOKEN": "users-oauth-token", "CLAUDE_CONFIG_DIR": "/users-claude"},
    **{"AWS_SECRET_ACCESS_KEY": "users-aws-key", "CLAUDE_CODE_USE_BEDROCK": "users-bedrock"},
    **{"CODEX_API_KEY": "users-codex-key", "CODEX_HOME": "/users-codex", "OPENAI_API_KEY": "users-openai-key"},
    **{"PI_CODING_AGENT_DIR": "/users-pi", "PI_CODING_AGENT_SESSION_DIR": "/users-pi-sessions"},
    **{"GITHUB_TOKEN": "users-github-token", "HTTPS_PROXY": "http://users-proxy.example"},
}
OF_THE_AGENT = {
    "codex": ("CODEX_", "OPENAI_", "CODEX_HOME"),
    "claude_code": ("ANTHROPIC_", "CLAUDE", "AWS_", "CLAUDE_CONFIG_DIR"),
    "pi": ("PI_", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "PI_CODING_AGENT_DIR"),
}
"""The first letters of variables that must not arrive; the last one names the directory of the CLI's own files."""


def states(probe: Probe, evidence: Evidence | None, release: Version | None = None) -> set[tuple[str, str | None]]:
    """The different verdicts on a probe's promises."""
    return {(verdict.state, verdict.detail) for verdict in judge(probe, evidence, release)}


def stage_of(agent: ScriptedAgent) -> tuple[Stage, dict[str, Probe]]:
    """The stage of an agent, and its probes by name."""
    stage = agent.stage("")
    return stage, {probe.name: probe for probe in stage.probes}


@each_scripted
async def test_a_run_that_hangs_breaks_the_promises_of_its_probe(agent: ScriptedAgent, tmp_path: Path) -> None:
    stage, probes = stage_of(agent)
    binary = agent.write(tmp_path / "bin", Hang())
    evidence = await perform(probes["message"], stage, tmp_path / "p", binary=binary, release=None, seconds=0.2)
    unasked = "the model server received no request"
    timeout = f"{agent.kind} backend error: timeout (details redacted when unsafe)"
    assert states(probes["message"], evidence) == {
        ("broken", f"did not end in time; {unasked}; {timeout}; reported: nothing")
    }


@each_scripted
async def test_a_session_that_was_never_told_cannot_be_gone_on_with(agent: ScriptedAgent, tmp_path: Path) -> None:
    stage, probes = stage_of(agent)
    binary = agent.write(tmp_path / "bin", *agent.speaking(named=False))
    evidence = await perform(probes["resume"], stage, tmp_path / "p", binary=binary, release=None, seconds=60)
    assert len(evidence.runs) == 1
    told = "exit status: 0, turn completed; reported: agent_message, usage"
    assert states(probes["resume"], evidence) == {("broken", f"no session exists to continue; {told}")}


@each_scripted
async def test_a_cli_that_never_asks_the_model_server_is_found_out(agent: ScriptedAgent, tmp_path: Path) -> None:
    stage, probes = stage_of(agent)
    binary = agent.write(tmp_path / "bin", *agent.speaking())
    evidence = await perform(probes["message"], stage, tmp_path / "p", binary=binary, release=None, seconds=60)
    verdicts = {verdict.promise: verdict for verdict in judge(probes["message"], evidence, None)}
    own_server = verdicts["the CLI uses the model server of its settings"]
    assert own_server.state == "broken"
    assert (own_server.detail or "").startswith("the model server received no request; exit status: 0, turn completed;")
    assert verdicts["a run reports the id of its session"].state == "holds"


@each_scripted
async def test_garbage_on_standard_output_is_counted_and_not_quoted(agent: ScriptedAgent, tmp_path: Path) -> None:
    stage, probes = stage_of(agent)
    binary = agent.write(tmp_path / "bin", *agent.speaking(PrintText('{"a secret'), PrintText("[1]")))
    evidence = await perform(probes["message"], stage, tmp_path / "p", binary=binary, release=None, seconds=60)
    assert [(verdict.rule, verdict.state, verdict.detail) for verdict in judge_all([evidence])] == [
        ("T4", "holds", None),
        ("T1", "broken", "lines that cannot be read: 2"),
    ]


@pytest.mark.rule("C24", "S5")
@each_scripted
async def test_what_a_probe_runs_sees_neither_a_network_nor_anything_of_the_user(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    stage, probes = stage_of(agent)
    binary = agent.write(tmp_path / "bin", *agent.speaking(WriteFacts(str(tmp_path / "facts"))))
    await perform(probes["message"], stage, tmp_path / "p", binary=binary, release=None, seconds=60)
    env = read_facts(tmp_path / "facts").env
    theirs = [name for name in SECRETS if name.startswith((*OF_THE_AGENT[agent.kind], "GITHUB_TOKEN", "HTTPS_PROXY"))]
    assert {name for name in theirs if env.get(name) == SECRETS[name]} == set()
    for name in ("HOME", OF_THE_AGENT[agent.kind][-1]):
        assert Path(env[name]).is_relative_to(tmp_path / "p")
    assert env["HTTPS_PROXY"] == env["https_proxy"] == "http://127.0.0.1:1"
    assert env["NO_PROXY"] == "127.0.0.1"


@pytest.mark.rule("S9")
async def test_the_session_of_the_first_run_is_the_one_that_is_resumed(tmp_path: Path) -> None:
    agent = SCRIPTED["codex"]
    stage, probes = stage_of(agent)
    first = PrintJson(thread_started("the-first"))
    binary = agent.write(tmp_path / "bin", *agent.speaking(WriteFacts(str(tmp_path / "facts")), first)[:3])
    await perform(probes["resume"], stage, tmp_path / "p", binary=binary, release=None, seconds=60)
    facts = read_facts(tmp_path / "facts")
    assert facts.argv[-3:] == ["resume", "the-first", "-"]
    assert facts.prompt == "Continue."
    for place in (facts.cwd, *(facts.env[name] for name in ("HOME", "CODEX_HOME", "TMPDIR"))):
        assert Path(place).is_relative_to(tmp_path / "p")


@pytest.mark.rule("C24", "K1")
@each_scripted
async def test_after_as_many_runs_that_hang_as_there_are_at_once_the_rest_is_not_performed(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_RUN_SECONDS", 0.3)
    records: list[Finding | Verdict] = []

    async def report(some: object) -> None:
        assert isinstance(some, list)
        records.extend(some)
        await trio.lowlevel.checkpoint()

    stage = agent.stage(agent.write(tmp_path / "bin", Hang()))
    (tmp_path / "p").mkdir()
    assert await probe_all(stage, tmp_path / "p", report) is not None
    found = [record for record in records if isinstance(record, Verdict)]
    assert [verdict.promise for verdict in found[:-2]] == [promise.text for promise in agent.promises]
    hung = [verdict for verdict in found if (verdict.detail or "").startswith("did not end in time; ")]
    skipped = [verdict for verdict in found if (verdict.detail or "").startswith("not performed")]
    assert {verdict.state for verdict in (*hung, *skipped)} == {"broken"}
    assert hung
    assert skipped
    assert len(hung) + len(skipped) == len(found) - 2
    assert list(marked(str(tmp_path))) == []


def test_a_probe_that_was_not_performed_breaks_its_promises() -> None:
    assert states(ONE, None) == {("broken", "not performed, because other runs did not end in time")}


@pytest.mark.rule("S8")
@pytest.mark.parametrize(
    ("release", "state"),
    [
        (Version(0, 44, 0), ("not_probed", "it was not there yet")),
        (Version(0, 50, 0, "alpha.1"), ("holds", None)),
        (Version(0, 50, 0), ("holds", None)),
        (Version(1, 0, 0), ("holds", None)),
        (None, ("holds", None)),
    ],
    ids=str,
)
def test_only_a_release_that_is_known_to_lack_something_is_let_off(
    release: Version | None, state: tuple[str, str | None]
) -> None:
    assert states(ONE, EVIDENCE, release) == {state}
    lacking = {("not_probed", "not in this release: it is reported")} if state[1] else {state}
    assert states(OTHER, EVIDENCE, release) == lacking


def test_what_this_machine_cannot_decide_is_not_probed() -> None:
    probe = Probe("one", SCENARIO, (Promise("S1", "it is safe", lambda _: NotProbed("no sandbox here")),))
    assert states(probe, EVIDENCE) == {("not_probed", "no sandbox here")}


@pytest.mark.rule("F12")
@each_scripted
def test_a_sandbox_that_does_not_start_decides_nothing_but_a_written_file_does(agent: ScriptedAgent) -> None:
    probe = stage_of(agent)[1]["sandbox"]
    without = Completion(ExitStatus(code=0), turn="completed", hint="sandbox_unavailable")
    seen = SEEN._replace(outcome=without)
    reason = "the sandbox of the CLI does not work on this machine"
    assert states(probe, Evidence((seen,), {}, "")) == {("not_probed", reason)}
    assert states(probe, Evidence((seen,), {"forbidden": "x"}, "")) == {("broken", "the agent wrote a file")}


@pytest.mark.rule("T1", "T4")
def test_nothing_that_was_seen_anywhere_is_all_well() -> None:
    assert {verdict.state for verdict in judge_all([EVIDENCE])} == {"holds"}


@pytest.mark.rule("K4")
@each_scripted
def test_a_process_that_is_left_breaks_a_promise(agent: ScriptedAgent) -> None:
    evidence = Evidence((SEEN._replace(left=1),), {}, "")
    assert states(stage_of(agent)[1]["left behind"], evidence) == {("broken", "processes left: 1")}


@pytest.mark.rule("X5")
@each_scripted
def test_a_secret_that_is_not_masked_breaks_a_promise(agent: ScriptedAgent) -> None:
    probe = stage_of(agent)[1]["secret"]
    answers = [item.text for answer in probe.scenario.answers for item in answer.items if hasattr(item, "text")]
    told = Completion(ExitStatus(code=0), turn="completed", final_text=answers[-1])
    [(state, detail)] = states(probe, Evidence((SEEN._replace(outcome=told),), {}, ""))
    assert state == "broken"
    assert (detail or "").startswith("it is in the output; ")


@pytest.mark.rule("P6")
@each_scripted
def test_each_promise_is_one_of_a_rule_and_told_once(agent: ScriptedAgent) -> None:
    specs = "".join(path.read_text() for path in (Path(__file__).parents[2] / "specs").glob("*.md"))
    assert [promise.rule for promise in agent.promises if f"\n### {promise.rule} - " not in specs] == []
    assert len({promise.text for promise in agent.promises}) == len(agent.promises)
    probes = agent.stage("").probes
    assert len({probe.name for probe in probes}) == len(probes)


def test_the_values_of_a_request_are_all_of_its_values() -> None:
    request = json.loads('{"a": [1, {"b": "x"}], "c": null}')
    assert list(values_in((request,)))[1:] == [request, [1, {"b": "x"}], 1, {"b": "x"}, "x", None]
