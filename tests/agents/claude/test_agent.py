"""Test runs of Claude Code whose program is a script: checks, sessions, secrets and what the sandbox leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from codex_adapter import BackendError, InvalidRequestError, RunConfig, RunRequest, collect, open_run
from codex_adapter.agents import agent_of
from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.agents.claude.releases import FEATURES, missing_feature, needs_version, parse_version
from codex_adapter.records import encode_events
from codex_adapter.runtime.private_file import LONGEST_DIRECTORY
from codex_adapter.runtime.programs import Version

ID = "11111111-1111-4111-8111-111111111111"
AGENT = agent_of("claude_code")
FREE: dict[str, Any] = {keys.SANDBOX_MODE: "danger-full-access"}
LAST = {"selector": "last"}


class Stage:
    """A workspace and a program that prints the lines of a run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        for directory in (self.workspace, root / "config"):
            directory.mkdir()
        self.config = ClaudeConfig(binary=str(root / "claude"), config_dir=str(root / "config"))

    def write(self, *lines: object, before: str = "", release: str = "2.1.330") -> None:
        text = "\n".join(json.dumps(line) for line in lines)
        script = self.root / "claude"
        script.write_text(
            f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{release} (Claude Code)"; exit; fi\n'
            f"head -n 1 > {self.root}/prompt\n{before}\ncat <<'END'\n{text}\nEND\n"
        )
        script.chmod(0o755)

    def request(self, **extensions: Any) -> RunRequest:
        return RunRequest(prompt="Do it.", working_dir=str(self.workspace), extensions=extensions)


def answer(session: str = ID, text: str = "Done.") -> list[dict[str, object]]:
    return [
        {"type": "system", "subtype": "init", "session_id": session},
        {"type": "result", "subtype": "success", "result": text, "session_id": session},
    ]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.rule("AG1", "AG2", "S3")
async def test_a_run_passes_its_prompt_and_reports_the_result(stage: Stage) -> None:
    stage.write(*answer(), before=f"echo $CLAUDE_CONFIG_DIR > {stage.root}/where")
    completion = await collect(stage.request(), agent="claude_code", config=stage.config)
    assert (completion.final_text, completion.session_id, completion.ok) == ("Done.", ID, True)
    prompt = {"type": "user", "message": {"role": "user", "content": "Do it."}}
    assert json.loads((stage.root / "prompt").read_text()) == prompt
    assert (stage.root / "where").read_text().strip() == str(stage.root / "config")


@pytest.mark.rule("K8")
@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
async def test_what_the_sandbox_leaves_is_removed(stage: Stage, mode: str) -> None:
    stage.write(*answer(), before="mkdir -p .claude/.cc-writes other")
    await collect(stage.request(**{keys.SANDBOX_MODE: mode}), agent="claude_code", config=stage.config)
    assert [path.name for path in stage.workspace.iterdir()] == ["other"]


@pytest.mark.rule("K8")
async def test_without_a_sandbox_nothing_is_removed(stage: Stage) -> None:
    stage.write(*answer(), before="mkdir .claude")
    await collect(stage.request(**FREE), agent="claude_code", config=stage.config)
    assert [path.name for path in stage.workspace.iterdir()] == [".claude"]


@pytest.mark.rule("S9")
@pytest.mark.parametrize("key", [keys.RESUME, keys.FORK])
async def test_the_last_session_of_a_directory_without_one_does_not_exist(stage: Stage, key: str) -> None:
    stage.write(*answer())
    with pytest.raises(BackendError, match="no session found") as caught:
        await collect(stage.request(**{key: LAST}), agent="claude_code", config=stage.config)
    assert (caught.value.failure, caught.value.hint) == ("session", "session_unknown")
    assert not (stage.root / "prompt").exists()


@pytest.mark.rule("S9")
async def test_the_last_session_is_one_of_the_directory(stage: Stage) -> None:
    project = stage.root / "config" / "projects" / "".join(c if c.isalnum() else "-" for c in str(stage.workspace))
    project.mkdir(parents=True)
    (project / "agent-1.jsonl").touch()
    stage.write(*answer())
    with pytest.raises(BackendError, match="no session found"):
        await collect(stage.request(**{keys.RESUME: LAST}), agent="claude_code", config=stage.config)
    (project / f"{ID}.jsonl").touch()
    completion = await collect(stage.request(**{keys.RESUME: LAST}), agent="claude_code", config=stage.config)
    assert completion.session_id == ID
    stage.write(*answer("22222222-2222-4222-8222-222222222222"))
    with pytest.raises(BackendError, match="no session found"):
        await collect(stage.request(**{keys.RESUME: LAST}), agent="claude_code", config=stage.config)
    completion = await collect(stage.request(**{keys.FORK: LAST}), agent="claude_code", config=stage.config)
    assert completion.ok


@pytest.mark.rule("S9")
async def test_a_named_session_has_its_id_and_a_fork_another_one(stage: Stage) -> None:
    stage.write(*answer("22222222-2222-4222-8222-222222222222"))
    named = {"selector": "id", "id": ID}
    with pytest.raises(BackendError, match="session not found"):
        await collect(stage.request(**{keys.RESUME: named}), agent="claude_code", config=stage.config)
    assert (await collect(stage.request(**{keys.FORK: named}), agent="claude_code", config=stage.config)).ok


@pytest.mark.rule("S9")
@pytest.mark.parametrize("key", [keys.RESUME, keys.FORK])
async def test_a_session_that_the_cli_does_not_find_is_a_failure_of_the_run(stage: Stage, key: str) -> None:
    errors = [f"No conversation found with session ID: {ID}"]
    stage.write({"type": "result", "subtype": "error_during_execution", "errors": errors, "session_id": ID})
    named = {"selector": "id", "id": ID}
    with pytest.raises(BackendError, match="session not found") as caught:
        await collect(stage.request(**{key: named}), agent="claude_code", config=stage.config)
    assert (caught.value.failure, caught.value.hint) == ("session", "session_unknown")


@pytest.mark.rule("S8")
@pytest.mark.parametrize(
    ("release", "extensions", "word"),
    [
        ("2.0.76", {}, "sandbox"),
        ("2.1.100", {keys.SANDBOX_MODE: "read-only"}, "sandbox"),
        ("1.0.128", {keys.TOOLS: "none"}, "tools"),
        ("1.0.128", {**FREE, keys.OUTPUT_SCHEMA: {}}, "schema"),
        ("1.0.128", {**FREE, keys.MAX_BUDGET: 1}, "cost"),
    ],
)
async def test_a_release_without_a_feature_is_refused(
    stage: Stage, release: str, extensions: dict[str, Any], word: str
) -> None:
    stage.write(*answer(), release=release)
    with pytest.raises(BackendError) as caught:
        await collect(stage.request(**extensions), agent="claude_code", config=stage.config)
    assert caught.value.failure == "invalid_request"
    assert word in str(caught.value.advice)
    assert not (stage.root / "prompt").exists()


@pytest.mark.rule("S8", "S11")
@pytest.mark.parametrize("kind", [[".git"], ["HEAD", "objects", "refs"]])
@pytest.mark.parametrize("above", [False, True])
async def test_a_release_that_runs_the_programs_of_a_repository_is_refused_in_one(
    stage: Stage, kind: list[str], above: bool
) -> None:
    for name in kind:
        (stage.root if above else stage.workspace).joinpath(name).mkdir()
    stage.write(*answer(), release="2.1.290")
    with pytest.raises(BackendError) as caught:
        await collect(stage.request(**FREE), agent="claude_code", config=stage.config)
    assert caught.value.failure == "invalid_request"
    assert str(caught.value.advice).startswith("A git repository that is not trusted: release 2.1.321 or newer")
    assert not (stage.root / "prompt").exists()
    trusted = stage.request(**FREE, **{keys.TRUST_PROJECT: True})
    assert (await collect(trusted, agent="claude_code", config=stage.config)).ok
    stage.write(*answer(), release="2.1.321")
    assert (await collect(stage.request(**FREE), agent="claude_code", config=stage.config)).ok


@pytest.mark.rule("S8")
async def test_a_run_without_such_a_feature_accepts_any_release(stage: Stage) -> None:
    stage.write(*answer(), release="1.0.128")
    assert (await collect(stage.request(**FREE), agent="claude_code", config=stage.config)).ok
    stage.write(*answer(), release="unknown")
    assert (await collect(stage.request(), agent="claude_code", config=stage.config)).ok


@pytest.mark.rule("R1", "S8")
def test_the_table_of_releases() -> None:
    assert parse_version("2.1.330 (Claude Code)\n") == Version(2, 1, 330)
    assert parse_version("2.1.330-beta.1 (Claude Code)") == Version(2, 1, 330, "beta.1")
    assert parse_version("codex-cli 0.1.2") is None
    assert not needs_version(RunOptions(sandbox_mode="danger-full-access"))
    assert all(missing_feature(RunOptions(), row.since) is None for row in FEATURES[:1])


@pytest.mark.rule("X5", "X6")
@pytest.mark.parametrize(
    ("file", "content"),
    [
        (".credentials.json", {"claudeAiOauth": {"accessToken": "opaque-hunter2-token", "scopes": ["user:inference"]}}),
        (".claude.json", {"primaryApiKey": "opaque-hunter2-token", "userID": "not-secret-id"}),
        ("settings.json", {"env": {"SOME_API_KEY": "opaque-hunter2-token", "N": 7}}),
    ],
)
async def test_the_login_is_masked(stage: Stage, file: str, content: object) -> None:
    (stage.root / "config" / file).write_text(json.dumps(content))
    message = {"id": "m", "content": "it is opaque-hunter2-token, user:inference, not-secret-id"}
    stage.write({"type": "assistant", "message": message}, *answer(text="opaque-hunter2-token"))
    async with open_run(stage.request(), agent="claude_code", config=stage.config) as run:
        events = encode_events([event async for event in run.events])
        completion = await run.wait_completed()
    assert b"it is ***, user:inference, not-secret-id" in events
    assert completion.final_text == "***"


@pytest.mark.rule("X5")
@pytest.mark.parametrize(
    ("file", "content", "trusted"),
    [
        (".claude.json", {"mcpServers": {"s": {"env": {"A_KEY": "opaque-hunter2-token"}}}}, False),
        (
            ".claude.json",
            {"projects": {"/": {"mcpServers": {"s": {"headers": {"X": "opaque-hunter2-token"}}}}}},
            False,
        ),
        (".claude.json", {"customApiKeyResponses": {"approved": ["opaque-hunter2-token"]}}, False),
        ("settings.json", {"env": {"ANTHROPIC_CUSTOM_HEADERS": "X-Key: opaque-hunter2-token"}}, False),
        ("../workspace/.mcp.json", {"mcpServers": {"s": {"headers": {"X": "Bearer opaque-hunter2-token"}}}}, True),
        ("../workspace/.claude/settings.local.json", {"env": {"A_KEY": "opaque-hunter2-token"}}, True),
    ],
)
async def test_what_servers_and_headers_need_is_masked(stage: Stage, file: str, content: object, trusted: bool) -> None:
    path = stage.root / "config" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"// mine\n{json.dumps(content)}")
    stage.write(*answer(text="opaque-hunter2-token"))
    for trust in (False, True):
        request = stage.request(**{keys.TRUST_PROJECT: trust})
        completion = await collect(request, agent="claude_code", config=stage.config)
        assert completion.final_text == ("***" if trust or not trusted else "opaque-hunter2-token")


@pytest.mark.rule("X5")
@pytest.mark.parametrize("content", ["", "[", "[]", '{"env": 7}', '{"primaryApiKey": {}}'])
async def test_odd_login_files_do_not_matter(stage: Stage, content: str) -> None:
    for file in (".credentials.json", ".claude.json", "settings.json"):
        (stage.root / "config" / file).write_text(content)
    stage.write(*answer())
    assert (await collect(stage.request(), agent="claude_code", config=stage.config)).ok


@pytest.mark.rule("AG7")
def test_a_run_that_only_answers_has_no_tools() -> None:
    request = AGENT.resume(AGENT.with_schema(AGENT.restricted(RunRequest(prompt="x")), {"type": "object"}), "id-1")
    assert dict(request.extensions) == {
        "agent_api.exec.non_interactive": True,
        "backend.claude_code.exec.sandbox_mode": "read-only",
        "backend.claude_code.tools": "none",
        "backend.claude_code.output_schema": {"type": "object"},
        "agent_api.session.resume.v1": {"selector": "id", "id": "id-1"},
    }
    places = AGENT.places()
    assert places.settings == {".claude"}
    assert places.variables == ("CLAUDE_CONFIG_DIR",)
    assert places.logins == (".claude", ".claude.json")


@pytest.mark.rule("Q5")
async def test_a_configuration_of_another_agent_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidRequestError, match="a ClaudeConfig"):
        await collect(stage.request(), agent="claude_code", config=RunConfig())
    with pytest.raises(InvalidRequestError, match=r"config\.config_dir"):
        AGENT.check_config(ClaudeConfig(config_dir="a\0b"))


@pytest.mark.rule("Q5", "M7")
async def test_defaults_of_the_configuration_apply(stage: Stage) -> None:
    stage.write(*answer(), before=f'printf "%s\\n" "$@" > {stage.root}/argv')
    config = ClaudeConfig(binary=stage.config.binary, model="opus", tool_payloads="full")
    await collect(stage.request(), agent="claude_code", config=config)
    assert "--model\nopus\n" in (stage.root / "argv").read_text()


@pytest.mark.rule("S11")
def test_a_notice_says_that_claude_md_is_not_read(stage: Stage) -> None:
    assert AGENT.notice(stage.request()) is None
    (stage.workspace / "CLAUDE.md").touch()
    assert "--trust-project" in str(AGENT.notice(stage.request()))
    assert AGENT.notice(stage.request(**{keys.TRUST_PROJECT: True})) is None


@pytest.mark.rule("C16", "C22")
def test_the_login_is_a_command_of_the_cli(stage: Stage) -> None:
    stage.write()
    binary = str(stage.config.binary)
    (stage.root / "config").rmdir()
    assert AGENT.login_command(stage.config, [])[0] == [binary, "auth", "login"]
    assert (stage.root / "config").stat().st_mode & 0o777 == 0o700
    assert AGENT.login_command(stage.config, ["--console"])[0] == [binary, "auth", "login", "--console"]
    assert AGENT.login_command(stage.config, ["status"])[0] == [binary, "auth", "status"]
    assert AGENT.login_command(stage.config, ["setup-token"])[0] == [binary, "setup-token"]
    with pytest.raises(InvalidRequestError, match="cannot be created"):
        AGENT.login_command(ClaudeConfig(binary=binary, config_dir="/dev/null/x"), [])


@pytest.mark.rule("C4")
async def test_the_report_of_doctor(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    remove_logins(monkeypatch)
    monkeypatch.setenv("PATH", "/nowhere")
    report = await AGENT.examine(stage.config)
    assert [(finding.subject, finding.state) for finding in report.findings] == [
        ("claude", "failed"),
        ("home", "ok"),
        ("login", "warning"),
    ]
    stage.write(release="2.0.76")
    (stage.root / "config" / ".credentials.json").write_text('{"claudeAiOauth": {"accessToken": "x"}}')
    report = await AGENT.examine(stage.config)
    assert [finding.state for finding in report.findings] == ["ok"] * 4
    assert (report.sandbox, report.logged_in) == (False, True)
    assert report.sandbox_findings[0].found == "the sandbox of releases before 2.1.152 may not start"
    assert report.binary is not None
    assert report.binary.features["a sandbox that must start"] is False
    assert {"plan_by_todo_write", "warms_up"} < report.binary.differences.keys()
    stage.write(release="2.1.152")
    report = await AGENT.examine(stage.config)
    assert (report.sandbox, report.sandbox_findings[0].found) == (False, "bwrap and socat not found")
    for release, words in (("1.0.1", "not supported"), ("x", "prints no release")):
        stage.write(release=release)
        report = await AGENT.examine(stage.config)
        assert words in report.findings[1].found
        assert report.binary is not None
        assert not report.binary.features
        assert not report.binary.differences


@pytest.mark.rule("C4")
@pytest.mark.parametrize(
    ("file", "content", "found"),
    [
        (".credentials.json", {"claudeAiOauth": {"accessToken": "x"}}, True),
        (".credentials.json", {"claudeAiOauth": {}}, False),
        (".credentials.json", ["claudeAiOauth"], False),
        (".claude.json", {"primaryApiKey": "x"}, True),
        (".claude.json", {"theme": "dark"}, False),
        ("settings.json", {"apiKeyHelper": "cat key"}, True),
        ("settings.json", {"env": {"CLAUDE_CODE_USE_BEDROCK": "1"}}, True),
        ("settings.json", {"env": {"ANTHROPIC_MODEL": "opus"}}, False),
        ("settings.json", {"env": ["ANTHROPIC_API_KEY"]}, False),
    ],
)
async def test_doctor_finds_a_login_in_a_file(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, file: str, content: object, found: bool
) -> None:
    remove_logins(monkeypatch)
    (stage.root / "config" / file).write_text(json.dumps(content))
    report = await AGENT.examine(stage.config)
    assert {name for name, is_there in report.login.items() if is_there} == ({file} if found else set())
    assert report.logged_in is found


@pytest.mark.rule("C4")
@pytest.mark.parametrize("name", ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_VERTEX"])
async def test_doctor_finds_a_login_in_a_variable(stage: Stage, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    remove_logins(monkeypatch)
    monkeypatch.setenv(name, "1")
    report = await AGENT.examine(stage.config)
    assert ("login", "ok", name) in [(finding.subject, finding.state, finding.found) for finding in report.findings]


def remove_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the variables of all logins."""
    clouds = [f"CLAUDE_CODE_USE_{cloud}" for cloud in ("BEDROCK", "VERTEX", "FOUNDRY")]
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", *clouds):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.rule("S10", "AG9")
async def test_a_run_has_a_temporary_directory_of_its_own(stage: Stage) -> None:
    names = "$TMPDIR $CLAUDE_CODE_TMPDIR"
    before = f"echo {names} > {stage.root}/names; mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod 500 $TMPDIR/a/b"
    stage.write(*answer(), before=before)
    assert (await collect(stage.request(), agent="claude_code", config=stage.config)).ok
    ours, theirs = (stage.root / "names").read_text().split()
    assert ours == theirs
    assert Path(ours).name.startswith("codex-adapter-")
    assert len(ours) <= LONGEST_DIRECTORY
    assert not Path(ours).exists()


@pytest.mark.rule("S5", "S10")
async def test_a_request_can_name_another_temporary_directory(stage: Stage) -> None:
    stage.write(*answer(), before=f"echo $TMPDIR $CLAUDE_CODE_TMPDIR > {stage.root}/names")
    request = replace(stage.request(**FREE), env={"TMPDIR": str(stage.root)})
    assert (await collect(request, agent="claude_code", config=stage.config)).ok
    ours, theirs = (stage.root / "names").read_text().split()
    assert ours == str(stage.root)
    assert theirs != ours


@pytest.mark.rule("S10", "Q5")
async def test_a_temporary_directory_in_which_the_sandbox_cannot_make_sockets_is_refused(stage: Stage) -> None:
    long = "/" + "t" * LONGEST_DIRECTORY
    stage.write(*answer())
    request = replace(stage.request(), env={"TMPDIR": long})
    with pytest.raises(InvalidRequestError, match="TMPDIR is longer than 72 bytes"):
        await collect(request, agent="claude_code", config=stage.config)
    free = replace(stage.request(**FREE), env={"TMPDIR": long})
    assert (await collect(free, agent="claude_code", config=stage.config)).ok


@pytest.mark.rule("K8", "AG8")
async def test_mount_points_of_a_killed_sandbox_are_removed_and_files_stay(stage: Stage) -> None:
    (stage.workspace / ".zshrc").touch(mode=0o444)
    before = "mkdir .claude; touch .bashrc .claude/skills; chmod 444 .bashrc .claude/skills; echo x > .profile"
    stage.write(*answer(), before=before)
    assert (await collect(stage.request(), agent="claude_code", config=stage.config)).ok
    assert sorted(path.name for path in stage.workspace.iterdir()) == [".profile", ".zshrc"]
