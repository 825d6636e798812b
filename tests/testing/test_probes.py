"""Test probes: what they do with a CLI, and the verdict on its behaviour."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter import Completion, ExitStatus
from codex_adapter.agents.codex.probes import PROBES, Evidence, Probe, judge, judge_all, perform
from codex_adapter.agents.codex.probes.probe import Promise, Seen
from codex_adapter.runtime.programs import Version
from codex_adapter.runtime.releases import Quirk
from codex_adapter.testing import Hang, PrintJson, ReadPrompt, WriteFacts, read_facts, write_agent
from codex_adapter.testing.thread_lines import thread_started, turn_completed, turn_started

pytestmark = pytest.mark.rule("C8")

NAMED = {probe.name: probe for probe in PROBES}
NOT_YET = Quirk("not_yet", "it was not there yet", until=Version(0, 50, 0))
ONE = Probe("one", NAMED["message"].scenario, (Promise("F2", "it goes well", lambda _: None, (NOT_YET,)),))
SEEN = Seen((), Completion(ExitStatus(code=0)), (), 0, 0.1)


def states(probe: Probe, evidence: Evidence | None, release: Version | None = None) -> set[tuple[str, str | None]]:
    """The different verdicts on a probe's promises."""
    return {(verdict.state, verdict.detail) for verdict in judge(probe, evidence, release)}


async def test_a_run_that_hangs_breaks_the_promises_of_its_probe(tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "bin", [Hang()])
    evidence = await perform(NAMED["message"], tmp_path / "probe", binary=agent, release=None, seconds=0.2)
    timeout = "codex backend error: timeout (details redacted when unsafe)"
    assert states(NAMED["message"], evidence) == {("broken", f"did not end in time; {timeout}; reported: nothing")}


async def test_a_session_that_was_never_told_cannot_be_gone_on_with(tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "bin", [ReadPrompt(), PrintJson(turn_started()), PrintJson(turn_completed())])
    evidence = await perform(NAMED["resume"], tmp_path / "probe", binary=agent, release=None, seconds=60)
    assert len(evidence.runs) == 1
    told = "exit status: 0, turn completed; reported: usage"
    assert states(NAMED["resume"], evidence) == {("broken", f"no session exists to continue; {told}")}


@pytest.mark.rule("S5", "S9")
async def test_what_a_probe_runs_sees_neither_a_network_nor_anything_of_the_user(tmp_path: Path) -> None:
    first = PrintJson(thread_started("the-first"))
    agent = write_agent(tmp_path / "bin", [ReadPrompt(), WriteFacts(str(tmp_path / "facts")), first])
    await perform(NAMED["resume"], tmp_path / "probe", binary=agent, release=None, seconds=60)
    facts = read_facts(tmp_path / "facts")
    assert facts.argv[-3:] == ["resume", "the-first", "-"]
    assert facts.prompt == "Continue."
    for place in (facts.cwd, *(facts.env[name] for name in ("HOME", "CODEX_HOME", "TMPDIR"))):
        assert Path(place).is_relative_to(tmp_path / "probe")
    assert facts.env["HTTPS_PROXY"] == facts.env["https_proxy"] == "http://127.0.0.1:1"


def test_without_evidence_the_time_was_over() -> None:
    assert states(ONE, None) == {("broken", "did not end in time")}


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
    assert states(ONE, Evidence((SEEN,), {}, ""), release) == {state}


@pytest.mark.rule("T1", "T4")
def test_nothing_that_was_seen_anywhere_is_all_well() -> None:
    assert {verdict.state for verdict in judge_all([Evidence((SEEN,), {}, "")])} == {"holds"}


@pytest.mark.rule("K4")
def test_a_process_that_is_left_breaks_a_promise() -> None:
    evidence = Evidence((SEEN._replace(left=1),), {}, "")
    assert states(NAMED["left behind"], evidence) == {("broken", "processes left: 1")}
