"""Test the first line of a journal: the bounded and masked request, which is never sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.widths import thinned

from .agents import BRIEF, HANGING
from .kept import read_all, read_asked, read_file
from .messages import run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J19")

SECRET = "correct-horse-battery-staple-7"
LABELS = {"task": "12", "team/queue": "nightly"}


@pytest.fixture
def journal(workshop: Workshop) -> Path:
    """The directory of the journal."""
    return workshop.directory / "journal"


def perform(daemon: Supervisor, workshop: Workshop, run_id: str, **more: Any) -> str:
    """Make one run to its end in a directory of its own, which is returned."""
    place = str(workshop.place(f"at-{run_id}"))
    env = {**workshop.agent(f"agent-{run_id}", *BRIEF), **more.pop("env", {})}
    daemon.start(run_id, env=env, working_dir=place, **more)
    daemon.completion(run_id)
    return place


def test_the_first_line_says_what_was_asked(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--model", "gpt-5.1-codex", initialize=False)
    containment = daemon.initialize()["containment"]
    place = perform(daemon, workshop, "r", labels=LABELS)
    asked = read_asked(journal / "r.jsonl")
    release = asked.pop("release")
    assert asked == {
        "run_id": "r",
        "agent_kind": "codex",
        "working_dir": place,
        "model": "gpt-5.1-codex",
        "containment": containment,
        "labels": LABELS,
    }
    assert release.count(".") == 2


def test_what_is_sent_has_no_run_record_and_counts_as_ever(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal))
    perform(daemon, workshop, "r")
    assert b'"type":"run"' not in daemon.output
    records = read_all(daemon, "r")
    assert records == read_file(journal / "r.jsonl")
    assert [record["seq"] for record in records] == list(range(len(records)))


def test_the_model_of_a_request_wins(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--model", "gpt-5.1-codex")
    perform(daemon, workshop, "r", extensions={"agent_api.config.model.v1": "o9"})
    assert read_asked(journal / "r.jsonl")["model"] == "o9"


def test_the_prompt_is_kept_only_by_option(workshop: Workshop, journal: Path) -> None:
    without = workshop.daemon("--journal", str(journal))
    perform(without, workshop, "r", prompt="Fix it.")
    assert "prompt" not in read_asked(journal / "r.jsonl")
    keeping = workshop.daemon("--journal", str(journal), "--journal-prompts")
    perform(keeping, workshop, "s", prompt="Fix it.")
    assert read_asked(journal / "s.jsonl")["prompt"] == "Fix it."


@pytest.mark.rule("B3")
def test_a_long_prompt_is_cut(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--journal-prompts")
    perform(daemon, workshop, "r", prompt="ü" * 100_000)
    kept = read_asked(journal / "r.jsonl")["prompt"]
    assert len(kept.encode()) <= 16_384
    assert kept.startswith("ü" * 8_000)
    assert kept.endswith("…(truncated)")


@pytest.mark.rule("X5")
@pytest.mark.parametrize("where", ["started", "waiting"])
def test_secrets_are_masked_in_all_of_it(workshop: Workshop, journal: Path, where: str) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--journal-prompts", "--max-runs", "1")
    place = workshop.place(f"of-{SECRET}")
    if where == "waiting":
        daemon.start("first", env=workshop.agent("hanging", *HANGING))
    env = {**workshop.agent("agent", *BRIEF), "MY_API_KEY": SECRET}
    labels = {"task": f"with {SECRET}", SECRET: "name"}
    daemon.start("r", env=env, working_dir=str(place), prompt=f"Use {SECRET}.", labels=labels)
    if where == "waiting":
        daemon.call("run/cancel", runId="r")
    daemon.completion("r")
    assert SECRET not in (journal / "r.jsonl").read_text()
    asked = read_asked(journal / "r.jsonl")
    assert (asked["prompt"], asked["labels"]) == ("Use ***.", {"task": "with ***", "***": "name"})
    assert asked["working_dir"].endswith("/of-***")


def test_a_run_that_never_had_an_agent_says_what_was_asked_too(workshop: Workshop, journal: Path) -> None:
    daemon = workshop.daemon("--journal", str(journal), "--max-runs", "1")
    daemon.start("first", env=workshop.agent("hanging", *HANGING))
    place = workshop.place("place")
    daemon.start("second", env=workshop.agent("agent", *BRIEF), working_dir=str(place), labels=LABELS)
    daemon.call("run/cancel", runId="second")
    daemon.completion("second")
    asked = read_asked(journal / "second.jsonl")
    assert asked == {"run_id": "second", "agent_kind": "codex", "working_dir": str(place), "labels": LABELS}
    assert [record["type"] for record in read_file(journal / "second.jsonl")] == ["completion"]


@pytest.mark.rule("J14")
def test_a_run_that_has_said_nothing_when_its_daemon_is_killed_says_what_was_asked(
    workshop: Workshop, journal: Path
) -> None:
    daemon = workshop.daemon("--journal", str(journal))
    daemon.start("r", env=workshop.agent("silent", *HANGING[-1:]), labels=LABELS)
    while not (journal / "r.jsonl").stat().st_size:
        daemon.call("run/list")
    daemon.kill()
    daemon.wait()
    assert read_asked(journal / "r.jsonl")["labels"] == LABELS
    other = workshop.daemon("--journal", str(journal))
    page = other.call("run/events", runId="r")
    assert page == {"runId": "r", "events": [], "nextSeq": 0, "more": False, "live": False}
    assert other.refusal("run/start", run("r")).code == -32602


@pytest.mark.rule("J13", "J14")
def test_a_torn_run_record_is_cut_off(workshop: Workshop, journal: Path) -> None:
    journal.mkdir()
    (journal / "r.jsonl").write_text('{"time":"2026-01-01T00:00:00.000Z","type":"run","run_')
    daemon = workshop.daemon("--journal", str(journal))
    assert daemon.call("run/events", runId="r")["events"] == []
    assert (journal / "r.jsonl").read_bytes() == b""


@pytest.mark.rule("Q6")
@pytest.mark.parametrize(
    "labels",
    thinned(
        [
            *(5, ["a"], {"a": 5}, {"": "a"}, {"a b": "c"}, {"a": ""}, {"a": "x" * 257}, {"a": "\n"}, {"x" * 65: "a"}),
            {f"l{number}": "a" for number in range(17)},
        ],
        3,
    ),
)
def test_labels_out_of_bounds_are_refused(workshop: Workshop, journal: Path, labels: Any) -> None:
    daemon = workshop.daemon("--journal", str(journal))
    refused = daemon.refusal("run/start", run("r", labels=labels))
    assert (refused.code, refused.data["kind"]) == (-32010, "invalid_request")
    assert refused.message.startswith("labels")
    assert list(journal.iterdir()) == []


@pytest.mark.rule("C9", "M7")
@pytest.mark.parametrize(
    ("of_daemon", "of_run", "shown"), [(None, None, 0), ("full", None, 1), ("full", "metadata", 0)]
)
def test_tool_payloads_of_the_daemon_are_for_runs_that_do_not_say(
    workshop: Workshop, of_daemon: str | None, of_run: str | None, shown: bool
) -> None:
    daemon = workshop.daemon(*([] if of_daemon is None else ["--tool-payloads", of_daemon]))
    extensions = {} if of_run is None else {"backend.codex.tool_payloads": of_run}
    perform(daemon, workshop, "r", extensions=extensions)
    assert (b"no rule" in daemon.output) == shown
