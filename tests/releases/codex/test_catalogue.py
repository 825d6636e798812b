"""Test that the catalogue is complete, serializes to JSON, and contains all inputs of a recorder."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from codex_adapter.testing import demo_script, write_agent
from tests.releases.codex.catalogue import CATALOGUE, FIRST_THREAD, Case, Run
from tests.releases.codex.recorder import command_line, record

from ...rows import rows

pytestmark = pytest.mark.rule("TK4")


def test_names_can_be_names_of_files_and_are_not_given_twice() -> None:
    runs = [".".join(filter(None, (case.name, run.name))) for case in CATALOGUE.values() for run in case.runs]
    assert len(set(runs)) == len(runs)
    assert [name for name in runs if not name.replace("_", "").replace(".", "").isalnum()] == []


def test_each_case_is_said_in_a_sentence_and_named_as_it_is_looked_up() -> None:
    assert [name for name, case in CATALOGUE.items() if case.name != name or not case.about.endswith(".")] == []


@rows("case", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_a_case_is_plain_data(case: Case) -> None:
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case) == case


def test_each_kind_of_item_and_each_trouble_is_in_some_case() -> None:
    scenarios = [case.scenario for case in CATALOGUE.values()]
    answers = [a for s in scenarios for a in (*s.answers, *(a for r in s.routes for a in r.answers), s.fallback) if a]
    kinds = {item.__struct_config__.tag for answer in answers for item in answer.items}
    assert kinds == {"message", "reasoning", "shell", "keys", "patch", "plan", "mcp", "web_search", "agent", "raw"}
    assert {answer.end for answer in answers} == {"completed", "failed", "incomplete", "none"}
    assert {answer.status for answer in answers} == {200, 400, 401, 403, 404, 413, 429, 500, 502, 503}
    assert any(answer.cut_after is not None for answer in answers)
    assert any(answer.pieces is not None for answer in answers)


def test_a_command_line_has_everything_in_the_place_where_each_release_takes_it() -> None:
    run = Run(
        approval="on-request",
        sandbox="read-only",
        images=("a.png", "b.png"),
        add_dirs=("../extra",),
        output_schema={"type": "object"},
        arguments=("--ephemeral",),
        resume=FIRST_THREAD,
    )
    assert " ".join(command_line(run, "codex", first_thread="T")) == (
        "codex --ask-for-approval on-request exec --color never --json --image a.png --image b.png"
        " --skip-git-repo-check --sandbox read-only --add-dir ../extra --output-schema ../schema.json"
        " --ephemeral resume T -"
    )


def test_a_prompt_can_be_an_argument_and_a_session_the_last_one() -> None:
    run = Run(prompt="go on", prompt_by="argument", resume="last", skip_git_check=False)
    assert command_line(run, "codex")[-3:] == ["resume", "--last", "go on"]
    assert "--skip-git-repo-check" not in command_line(run, "codex")


def test_a_run_that_goes_on_with_a_thread_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no thread id"):
        command_line(Run(fork=FIRST_THREAD), "codex")


@pytest.mark.parametrize("name", ["image", "output_schema", "add_dir", "resume_id", "fork", "resume_last"])
def test_a_recorder_plays_every_run_of_a_case_with_its_inputs(name: str, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agent", demo_script())
    recordings = record(CATALOGUE[name], agent, f"{tmp_path}/case")
    assert [recording.run for recording in recordings] == [run.name for run in CATALOGUE[name].runs]
    assert [(recording.returncode, recording.stderr) for recording in recordings] == [(0, b"")] * len(recordings)
