"""Test that a recorder passes inputs to a CLI and records its output, with a scripted agent."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from codex_adapter.testing import (
    Hang,
    PrintJson,
    PrintText,
    ReadPrompt,
    Step,
    WriteFacts,
    WriteStderr,
    read_facts,
    write_agent,
)
from codex_adapter.testing.thread_lines import THREAD_ID, command_started, thread_started
from tests.releases.codex.catalogue import FIRST_THREAD, Case, Run
from tests.releases.codex.recorder import Recording, record

pytestmark = pytest.mark.rule("TK4")


def _record(directory: Path, case: Case, *script: Step, timeout: float = 60.0) -> list[Recording]:
    return record(case, write_agent(directory, script), directory / "case", timeout=timeout)


def test_it_records_stdout_as_it_is_and_stderr_apart(tmp_path: Path) -> None:
    case = Case(name="x", about="X.")
    [recording] = _record(tmp_path, case, PrintJson(thread_started()), PrintJson({"é": 1}), WriteStderr("noise"))
    assert recording.stdout == b'{"type":"thread.started","thread_id":"%s"}\n{"\xc3\xa9":1}\n' % THREAD_ID.encode()
    assert recording.lines[1] == {"é": 1}
    assert (recording.returncode, recording.stderr, recording.requests) == (0, b"noise", 0)


def test_the_workspace_and_the_environment_are_those_of_the_case(tmp_path: Path) -> None:
    case = Case(name="x", about="X.", runs=(Run(prompt="do\nit", images=("a.png",)),), files={"f.txt": "é"})
    _record(tmp_path, case, ReadPrompt(), WriteFacts("facts"))
    root = tmp_path / "case"
    facts = read_facts(root / "workspace" / "facts")
    assert (facts.cwd, facts.prompt) == (str(root / "workspace"), "do\nit")
    assert Path(facts.env["CODEX_HOME"], "config.toml").is_file()
    assert {facts.env["HOME"], facts.env["TMPDIR"]} == {str(root / "home"), str(root / "tmp")}
    assert (root / "workspace" / "f.txt").read_text() == "é"
    assert (root / "workspace" / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (root / "extra").is_dir()


def test_later_runs_go_on_with_the_thread_of_the_first(tmp_path: Path) -> None:
    case = Case(name="x", about="X.", runs=(Run(), Run(name="again", resume=FIRST_THREAD)))
    recordings = _record(tmp_path, case, PrintJson(thread_started()))
    assert [recording.argv[-3:] for recording in recordings][1] == ["resume", THREAD_ID, "-"]


def test_a_signal_is_sent_once_a_command_has_started(tmp_path: Path) -> None:
    case = Case(name="x", about="X.", runs=(Run(signal="SIGTERM"),))
    [recording] = _record(tmp_path, case, PrintText("first"), PrintJson(command_started("item_0", "ls")), Hang())
    assert recording.returncode == -signal.SIGTERM


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match="longer than"):
        _record(tmp_path, Case(name="x", about="X."), Hang(), timeout=0.2)
