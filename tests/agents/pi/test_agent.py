"""Test runs of pi whose program is a script: checks, sessions, secrets and temporary files."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from codex_adapter import (
    BackendError,
    InvalidRequestError,
    RunConfig,
    RunRequest,
    UnsupportedCapabilityError,
    collect,
    open_run,
)
from codex_adapter.agents import agent_of
from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.records import encode_events

ID = "01a20529-d74d-7647-a8cb-e2bb9d2b824f"
OTHER = "01a20529-d74d-7647-a8cb-e2bb9d2b8250"
AGENT = agent_of("pi")
LAST = {"selector": "last"}
NAMED = {"selector": "id", "id": ID}
PACKAGE = "@earendil-works/pi-coding-agent"


class Stage:
    """A workspace and a program that prints the lines of a run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.package = root / "package"
        for directory in (self.workspace, self.package, root / "agent"):
            directory.mkdir()
        self.config = PiConfig(binary=str(self.package / "pi"), agent_dir=str(root / "agent"))

    def write(self, *lines: object, before: str = "", release: str = "0.87.1", after: str = "") -> None:
        text = "\n".join(json.dumps(line) for line in lines)
        (self.package / "package.json").write_text(json.dumps({"name": PACKAGE, "version": release}))
        script = self.package / "pi"
        script.write_text(f"#!/bin/sh\ncat > {self.root}/prompt\n{before}\ncat <<'END'\n{text}\nEND\n{after}\n")
        script.chmod(0o755)

    def request(self, **extensions: Any) -> RunRequest:
        return RunRequest(prompt="Do it.", working_dir=str(self.workspace), extensions=extensions)

    def sessions(self) -> Path:
        name = str(self.workspace).lstrip("/").replace("/", "-")
        directory = self.root / "agent" / "sessions" / f"--{name}--"
        directory.mkdir(parents=True, exist_ok=True)
        return directory


def answer(session: str = ID, text: str = "Done.") -> list[dict[str, object]]:
    content = [{"type": "text", "text": text}]
    return [
        {"type": "session", "id": session},
        {"type": "agent_start"},
        {"type": "message_end", "message": {"role": "assistant", "content": content, "stopReason": "stop"}},
        {"type": "agent_end", "messages": [], "willRetry": False},
        {"type": "agent_settled"},
    ]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.rule("AG1", "AG2", "S3")
async def test_a_run_passes_its_prompt_and_reports_the_result(stage: Stage) -> None:
    stage.write(*answer(), before=f"echo $PI_CODING_AGENT_DIR > {stage.root}/where")
    completion = await collect(stage.request(), agent="pi", config=stage.config)
    assert (completion.final_text, completion.session_id, completion.ok) == ("Done.", ID, True)
    assert (stage.root / "prompt").read_text() == "Do it."
    assert (stage.root / "where").read_text().strip() == str(stage.root / "agent")


@pytest.mark.rule("S10", "AG12")
async def test_a_run_has_its_own_temporary_directory(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = stage.root / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    stage.write(*answer(), before=f"echo $TMPDIR > {stage.root}/where; mkdir $TMPDIR/a; touch $TMPDIR/a/b")
    await collect(stage.request(), agent="pi", config=stage.config)
    own = Path((stage.root / "where").read_text().strip())
    assert own.name.startswith("codex-adapter-")
    assert not own.exists()
    request = RunRequest(prompt="x", working_dir=str(stage.workspace), env={"TMPDIR": str(temporary)})
    await collect(request, agent="pi", config=stage.config)
    assert [path.name for path in temporary.iterdir()] == ["a"]


@pytest.mark.rule("S9")
async def test_the_last_session_is_one_of_the_directory(stage: Stage) -> None:
    stage.write(*answer())
    (stage.sessions() / "notes.txt").touch()
    with pytest.raises(BackendError, match="no session found") as caught:
        await collect(stage.request(**{keys.RESUME: LAST}), agent="pi", config=stage.config)
    assert (caught.value.failure, caught.value.hint) == ("session", "session_unknown")
    assert not (stage.root / "prompt").exists()
    (stage.sessions() / f"2026-11-22T21-29-17-901Z_{ID}.jsonl").touch()
    completion = await collect(stage.request(**{keys.RESUME: LAST}), agent="pi", config=stage.config)
    assert completion.session_id == ID
    stage.write(*answer(OTHER))
    with pytest.raises(BackendError, match="no session found"):
        await collect(stage.request(**{keys.RESUME: LAST}), agent="pi", config=stage.config)


@pytest.mark.rule("S9")
@pytest.mark.parametrize("place", ["variable", "settings"])
async def test_sessions_can_have_a_directory_of_their_own(stage: Stage, place: str) -> None:
    own = stage.root / "own"
    own.mkdir()
    (own / f"x_{ID}.jsonl").touch()
    env = {"PI_CODING_AGENT_SESSION_DIR": str(own)} if place == "variable" else {}
    if place == "settings":
        (stage.root / "agent" / "settings.json").write_text(json.dumps({"sessionDir": str(own)}))
    stage.write(*answer())
    request = RunRequest(prompt="x", working_dir=str(stage.workspace), env=env, extensions={keys.RESUME: LAST})
    assert (await collect(request, agent="pi", config=stage.config)).session_id == ID


@pytest.mark.rule("S9", "S11", "AG12")
@pytest.mark.parametrize("trusted", [False, True])
async def test_a_project_chooses_the_directory_of_its_sessions_only_if_it_is_trusted(
    stage: Stage, trusted: bool
) -> None:
    theirs = stage.workspace / "theirs"
    theirs.mkdir()
    (stage.workspace / ".pi").mkdir()
    (stage.workspace / ".pi" / "settings.json").write_text(json.dumps({"sessionDir": "theirs"}))
    (theirs if trusted else stage.sessions()).joinpath(f"x_{ID}.jsonl").touch()
    stage.write(*answer(), before=f'echo "$@" > {stage.root}/words')
    extensions = {keys.RESUME: LAST, keys.TRUST_PROJECT: trusted}
    assert (await collect(stage.request(**extensions), agent="pi", config=stage.config)).session_id == ID
    words = (stage.root / "words").read_text()
    assert ("theirs" in words, f"--session-dir {stage.sessions()}" in words) == (False, not trusted)


@pytest.mark.rule("S9", "AG12")
async def test_a_fork_is_found_wherever_its_session_is(stage: Stage) -> None:
    stage.write(*answer(OTHER), before=f'echo "$@" > {stage.root}/words')
    other = stage.sessions().with_name("--elsewhere--")
    other.mkdir()
    (other / f"x_{ID}.jsonl").touch()
    assert (await collect(stage.request(**{keys.FORK: NAMED}), agent="pi", config=stage.config)).ok
    assert f"--fork {other}/x_{ID}.jsonl" in (stage.root / "words").read_text()


@pytest.mark.rule("S9")
async def test_without_a_home_there_is_no_last_session(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    stage.write(*answer())
    config = PiConfig(binary=stage.config.binary)
    with pytest.raises(BackendError, match="no session found"):
        await collect(stage.request(**{keys.RESUME: LAST}), agent="pi", config=config)
    assert (await collect(stage.request(), agent="pi", config=config)).ok


@pytest.mark.rule("S9")
async def test_a_named_session_has_its_id_and_a_fork_another_one(stage: Stage) -> None:
    stage.write(*answer(OTHER))
    with pytest.raises(BackendError, match="session not found"):
        await collect(stage.request(**{keys.RESUME: NAMED}), agent="pi", config=stage.config)
    assert (await collect(stage.request(**{keys.FORK: NAMED}), agent="pi", config=stage.config)).ok


@pytest.mark.rule("S9", "AG13")
@pytest.mark.parametrize("key", [keys.RESUME, keys.FORK])
@pytest.mark.parametrize(
    ("words", "code"),
    [(f"No session found matching '{ID}'", 1), ("Session found in different project: /other", 0)],
)
async def test_a_session_that_the_cli_does_not_find_is_a_failure_of_the_run(
    stage: Stage, key: str, words: str, code: int
) -> None:
    stage.write(after=f'echo "{words}" >&2; exit {code}')
    with pytest.raises(BackendError, match="session not found") as caught:
        await collect(stage.request(**{key: NAMED}), agent="pi", config=stage.config)
    assert (caught.value.failure, caught.value.hint) == ("session", "session_unknown")


@pytest.mark.rule("S8", "S11", "AG12")
async def test_a_release_that_uses_every_project_is_refused_in_a_project_that_is_not_trusted(stage: Stage) -> None:
    stage.write(*answer(), release="0.74.2")
    assert (await collect(stage.request(), agent="pi", config=stage.config)).ok
    (stage.workspace / ".pi").mkdir()
    (stage.root / "prompt").unlink()
    with pytest.raises(BackendError) as caught:
        await collect(stage.request(), agent="pi", config=stage.config)
    assert caught.value.failure == "invalid_request"
    assert "0.80.10 or newer, or trust the project" in str(caught.value.advice)
    assert not (stage.root / "prompt").exists()
    assert (await collect(stage.request(**{keys.TRUST_PROJECT: True}), agent="pi", config=stage.config)).ok
    stage.write(*answer(), release="0.80.10")
    assert (await collect(stage.request(), agent="pi", config=stage.config)).ok


@pytest.mark.rule("X5", "X6")
@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("auth.json", {"openai": {"type": "api_key", "key": "opaque-hunter2-token"}}),
        ("models.json", {"providers": {"p": {"api": "openai-responses", "apiKey": "opaque-hunter2-token"}}}),
        (
            "models.json",
            {"providers": {"p": {"headers": {"x-key": "opaque-hunter2-token"}, "apiKey": "A_NAME_OF_MINE"}}},
        ),
        (
            "models.json",
            {"providers": {"p": {"models": [{"id": "openai-responses", "headers": {"x": "opaque-hunter2-token"}}]}}},
        ),
    ],
)
async def test_the_login_is_masked(stage: Stage, file: str, content: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_NAME_OF_MINE", "x")
    (stage.root / "agent" / file).write_text(f"// as pi reads it\n{json.dumps(content)}")
    stage.write(*answer(text="it is opaque-hunter2-token, openai-responses, A_NAME_OF_MINE"))
    async with open_run(stage.request(), agent="pi", config=stage.config) as run:
        events = encode_events([event async for event in run.events])
        completion = await run.wait_completed()
    assert b"it is ***, openai-responses, A_NAME_OF_MINE" in events
    assert completion.final_text == "it is ***, openai-responses, A_NAME_OF_MINE"


@pytest.mark.rule("X5")
@pytest.mark.parametrize("content", ["", "[", "[]", '{"providers": 7}'])
async def test_odd_files_of_the_cli_do_not_matter(stage: Stage, content: str) -> None:
    for file in ("auth.json", "models.json", "settings.json"):
        (stage.root / "agent" / file).write_text(content)
    (stage.sessions() / f"x_{ID}.jsonl").touch()
    stage.write(*answer())
    assert (await collect(stage.request(**{keys.RESUME: LAST}), agent="pi", config=stage.config)).ok


@pytest.mark.rule("AG7")
def test_a_run_that_only_answers_has_no_tools() -> None:
    request = AGENT.resume(AGENT.restricted(RunRequest(prompt="x")), "id-1")
    assert dict(request.extensions) == {
        "agent_api.exec.non_interactive": True,
        "backend.pi.exec.sandbox_mode": "read-only",
        "backend.pi.tools": "none",
        "agent_api.session.resume.v1": {"selector": "id", "id": "id-1"},
    }
    with pytest.raises(UnsupportedCapabilityError):
        AGENT.with_schema(request, {"type": "object"})
    places = AGENT.places()
    assert places.settings == {".pi"}
    assert places.logins == (".pi",)
    assert places.variables == ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR")


@pytest.mark.rule("Q5")
async def test_a_configuration_of_another_agent_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidRequestError, match="a PiConfig"):
        await collect(stage.request(), agent="pi", config=RunConfig())
    with pytest.raises(InvalidRequestError, match=r"config\.agent_dir"):
        AGENT.check_config(PiConfig(agent_dir="a\0b"))


@pytest.mark.rule("Q5", "M7")
async def test_defaults_of_the_configuration_apply(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stage.root)
    stage.write(*answer(), before=f'printf "%s\\n" "$@" $PI_CODING_AGENT_DIR > {stage.root}/argv')
    config = PiConfig(binary=stage.config.binary, model="opus", tool_payloads="full", agent_dir="agent")
    await collect(stage.request(), agent="pi", config=config)
    assert (stage.root / "argv").read_text().endswith(f"--model\nopus\n{stage.root}/agent\n")


@pytest.mark.rule("S11")
def test_a_notice_says_that_agents_md_is_not_read(stage: Stage) -> None:
    assert AGENT.notice(stage.request()) is None
    (stage.workspace / "AGENTS.md").touch()
    assert "--trust-project" in str(AGENT.notice(stage.request()))
    assert AGENT.notice(stage.request(**{keys.TRUST_PROJECT: True})) is None


@pytest.mark.rule("C16")
def test_the_refusal_of_a_login_names_the_next_step(stage: Stage) -> None:
    with pytest.raises(InvalidRequestError, match="type /login"):
        AGENT.login_command(stage.config, [])


@pytest.mark.rule("C4")
async def test_the_report_of_doctor(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    report = await AGENT.examine(stage.config)
    found = [(finding.subject, finding.state) for finding in report.findings]
    assert found == [("pi", "failed"), ("home", "ok"), ("login", "warning")]
    stage.write()
    (stage.root / "agent" / "auth.json").write_text("{}")
    report = await AGENT.examine(stage.config)
    assert [finding.state for finding in report.findings] == ["ok", "ok", "ok", "warning"]
    (stage.root / "agent" / "models.json").write_text('{"providers": {"p": {}}}')
    report = await AGENT.examine(stage.config)
    assert [finding.state for finding in report.findings] == ["ok"] * 4
    assert (report.logged_in, report.sandbox, report.sandbox_findings[0].found) == (True, None, "pi has no sandbox")
    assert report.binary is not None
    assert report.binary.features == {"a project that is not trusted": True}


@pytest.mark.rule("C4")
@pytest.mark.parametrize(
    ("release", "after", "words"),
    [
        ("0.55.4", "", "0.55.4, which is not supported"),
        ("x", "", "the program prints no release"),
        ("0.87.1", "exit 1", "does not start"),
    ],
)
async def test_doctor_finds_a_program_that_cannot_run(stage: Stage, release: str, after: str, words: str) -> None:
    stage.write(release=release, after=after)
    report = await AGENT.examine(stage.config)
    assert [finding for finding in report.findings if finding.state == "failed" and words in finding.found]
