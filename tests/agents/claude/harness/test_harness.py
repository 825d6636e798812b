"""Test how the harness starts Claude Code for a turn, and which models it lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codex_adapter import AdapterError, Completion, ExitStatus, SpawnError
from codex_adapter.agents import agent_of_harness
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.harness import ClaudeHarness
from codex_adapter.harness import Harness, HarnessTurn
from codex_adapter.turn_errors import TurnError

from ....harness.environments import EMPTY, a_server, a_skill, environment

SESSION = "01234567-89ab-4def-8123-456789abcdef"
CLI = """#!/bin/sh
test "$1" = --version && {{ echo "{release} (Claude Code)"; exit; }}
if ! printf '%s\\n' "$@" | grep -qx -- --permission-mode; then
echo list >> {root}/log
{listing}
exit
fi
head -n 1 > {root}/prompt
printf '%s\\n' "$@" > {root}/argv
env > {root}/env
cat <<'END'
{lines}
END
"""
MODELS = {"models": [{"value": name} for name in ("default", "sonnet", "opus", "other")]}


def lists(models: object) -> str:
    """The shell command of a CLI that tells its models."""
    line = {"type": "control_response", "response": {"subtype": "success", "response": models}}
    return f"cat > /dev/null; echo '{json.dumps(line)}'"


class Place:
    """A CLI that does nothing but write down what it was started with, its user's directory, and a conversation."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = root / "own"
        self.directory = root / "conversation"
        self.home = self.directory / "claude"
        for directory in (self.own, self.directory):
            directory.mkdir()
        self.config = ClaudeConfig(binary=str(root / "claude"), config_dir=str(self.own))
        self.write()

    def write(self, *, release: str = "2.1.330", listing: str = lists(MODELS), servers: object = ()) -> None:
        lines: list[dict[str, object]] = [
            {"type": "system", "subtype": "init", "session_id": SESSION, "mcp_servers": servers},
            {"type": "result", "subtype": "success", "result": "Done.", "session_id": SESSION},
        ]
        text = "\n".join(map(json.dumps, lines))
        (self.root / "claude").write_text(CLI.format(release=release, root=self.root, listing=listing, lines=text))
        (self.root / "claude").chmod(0o755)

    async def turn(self, **fields: Any) -> list[str]:
        """What a turn with these fields starts: the argv."""
        values = {"environment": EMPTY, "prompt": "Do it.", "env": {}, "cwd": str(self.root), **fields}
        async with ClaudeHarness(self.config).open(HarnessTurn(**values, directory=self.directory)) as run:
            await run.events.aclose()
            await run.wait_completed()
        return (self.root / "argv").read_text().splitlines()

    @property
    def env(self) -> dict[str, str]:
        """The environment of the last turn."""
        lines = (self.root / "env").read_text().splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    @property
    def prompt(self) -> str:
        """The prompt of the last turn."""
        return str(json.loads((self.root / "prompt").read_text())["message"]["content"])

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the last turn."""
        found: dict[str, Any] = json.loads((self.home / "settings.json").read_text())
        return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return Place(tmp_path)


@pytest.mark.rule("U1", "U5")
def test_turns_select_it_by_the_name_of_the_protocol() -> None:
    harness: Harness = agent_of_harness("agent-sdk").harness()
    assert harness.id == "agent-sdk"


@pytest.mark.rule("U14", "U15")
async def test_a_turn_has_its_own_home_its_variables_and_its_options(place: Place) -> None:
    space = environment(env={"A": "space", "B": "space"}, permissions="full", instructions="Be brief.")
    env = {"B": "turn", "CLAUDE_CONFIG_DIR": "/nowhere", "CLAUDE_SECURESTORAGE_CONFIG_DIR": "/nowhere"}
    argv = await place.turn(environment=space, env=env, model="api/sonnet")
    names = ("A", "B", "CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR")
    assert [place.env[name] for name in names] == ["space", "turn", str(place.home), str(place.home)]
    assert place.prompt == "Do it."
    assert argv[argv.index("--permission-mode") + 1] == "bypassPermissions"
    assert argv[argv.index("--model") + 1] == "sonnet"
    assert argv[argv.index("--setting-sources") + 1] == "user"
    assert "--include-partial-messages" in argv
    assert (place.home / "CLAUDE.md").read_text() == "Be brief.\n"
    assert list(place.own.iterdir()) == []


async def test_the_next_turn_has_nothing_of_the_last_but_the_cli_keeps_its_files(place: Place) -> None:
    (place.root / "skill").mkdir()
    (place.root / "skill" / "SKILL.md").write_text("---\ndescription: x\nallowed-tools: Bash\n---\nSay ahoy.\n")
    await place.turn(environment=environment(skills=(a_skill(place.root / "skill"),), instructions="Be brief."))
    assert "allowed-tools" not in (place.home / "skills" / "greeting" / "SKILL.md").read_text()
    for name in ("projects", "plans", "cache"):
        (place.home / name).mkdir()
    await place.turn()
    assert {path.name for path in place.home.iterdir()} == {".claude.json", "settings.json", "projects", "plans"}


@pytest.mark.rule("U5")
async def test_without_a_model_it_is_what_the_user_has_chosen(place: Place) -> None:
    assert "opus" in await place.turn()
    (place.own / "settings.json").write_text('{"model": "own"}')
    assert "own" in await place.turn()


@pytest.mark.rule("U5")
@pytest.mark.parametrize("model", ["", "name", "/name", "api/", "claude/opus", "other/opus"])
async def test_what_is_no_model_of_a_provider_is_refused(place: Place, model: str) -> None:
    with pytest.raises(TurnError) as refused:
        await place.turn(model=model)
    assert refused.value.error.code == "model_not_supported"


@pytest.mark.rule("U5", "U14")
async def test_a_subscription_is_used_in_its_own_place_and_not_a_key(place: Place) -> None:
    (place.own / ".credentials.json").write_text('{"claudeAiOauth": {"accessToken": "secret-token-of-the-user"}}')
    await place.turn(model="claude/opus", env={"ANTHROPIC_API_KEY": "key-of-the-turn"})
    assert place.env["CLAUDE_SECURESTORAGE_CONFIG_DIR"] == str(place.own)
    assert place.env["ANTHROPIC_API_KEY"] == ""
    assert not any("secret-token" in path.read_text() for path in place.directory.rglob("*") if path.is_file())
    await place.turn(model="api/opus", env={"ANTHROPIC_API_KEY": "key-of-the-turn"})
    assert place.env["CLAUDE_SECURESTORAGE_CONFIG_DIR"] == str(place.home)
    assert place.env["ANTHROPIC_API_KEY"] == "key-of-the-turn"


@pytest.mark.rule("U8")
async def test_a_session_goes_on_where_it_is_kept(place: Place) -> None:
    for key in (SESSION, "../..", SESSION.upper()):
        with pytest.raises(TurnError) as refused:
            await place.turn(session=key)
        assert refused.value.error.code == "harness_session_not_found"
    assert [path.name for path in place.directory.iterdir()] == ["claude.lock"]
    kept = place.home / "projects" / "-work" / f"{SESSION}.jsonl"
    kept.parent.mkdir(parents=True)
    for begun in ("", '{"type":"us'):
        kept.write_text(begun)
        with pytest.raises(TurnError, match="The session does not exist"):
            await place.turn(session=SESSION)
    kept.write_text('{"type":"user"}\n')
    argv = await place.turn(session=SESSION)
    assert argv[argv.index("--resume") + 1] == SESSION


@pytest.mark.rule("U8")
async def test_a_second_turn_of_a_session_at_once_is_refused(place: Place) -> None:
    turn = HarnessTurn(environment=EMPTY, directory=place.directory, cwd=str(place.root), prompt="x", env={})
    async with ClaudeHarness(place.config).open(turn) as run:
        with pytest.raises(TurnError, match="Another turn of this session is running"):
            await place.turn()
        await run.events.aclose()
        await run.wait_completed()


@pytest.mark.rule("U15")
async def test_images_are_mentioned_and_files_are_named(place: Place) -> None:
    for name, content in {"a b.bin": b"\x89PNG\r\n\x1a\n....", "notes.txt": b"hello"}.items():
        (place.root / name).write_bytes(content)
    await place.turn(attachments=tuple(str(place.root / name) for name in ("a b.bin", "notes.txt")))
    link = place.directory / "images" / "0.png"
    notes = place.root / "notes.txt"
    assert place.prompt == f'Do it.\n\nAttached files:\n- {notes}\n\n@"{link}"'
    assert link.readlink() == place.root / "a b.bin"
    assert place.settings["permissions"]["allow"] == [f"Read(/{notes})"]


@pytest.mark.rule("U6", "AG3")
@pytest.mark.parametrize("status", ["failed", "pending", "needs-auth"])
async def test_a_turn_whose_server_is_not_connected_fails(place: Place, status: str) -> None:
    place.write(servers=[{"name": "one", "status": status}])
    turn = HarnessTurn(
        environment=environment(servers=(a_server(),)), directory=place.directory, cwd="/", prompt="x", env={}
    )
    harness = ClaudeHarness(place.config)
    async with harness.open(turn) as run:
        assert [event async for event in run.events if event.kind != "error"] == []
        with pytest.raises(AdapterError, match="claude_code backend error") as caught:
            await run.wait_completed()
    found = harness.failure(caught.value)
    assert found is not None
    assert found.details == {"hint": "mcp_server_failed", "failure": "other"}
    assert place.env["MCP_CONNECTION_NONBLOCKING"] == "0"
    place.write(servers=[{"name": "one", "status": "connected"}])
    await place.turn(environment=environment(servers=(a_server(),)))


@pytest.mark.rule("U6")
async def test_servers_of_others_need_not_be_connected(place: Place) -> None:
    place.write(servers=[{"name": "one", "status": "failed"}])
    await place.turn()


@pytest.mark.rule("U14")
async def test_an_old_release_is_refused(place: Place) -> None:
    place.write(release="2.1.151")
    with pytest.raises(TurnError, match=r"Turns need release 2\.1\.152 or newer"):
        await place.turn()
    with pytest.raises(TurnError, match=r"Turns need release 2\.1\.152 or newer"):
        await ClaudeHarness(place.config).check()
    assert await ClaudeHarness(place.config).models() is None


@pytest.mark.rule("U5", "U16")
async def test_its_models_are_those_that_it_lists_for_each_login(place: Place) -> None:
    harness = ClaudeHarness(place.config)
    await harness.check()
    assert await harness.models() == ("api/opus", "api/sonnet", "api/other", "api/haiku")
    (place.own / ".credentials.json").write_text('{"claudeAiOauth": {}}')
    (place.own / "settings.json").write_text('{"model": "own"}')
    models = await harness.models()
    assert models is not None
    assert (models[:2], models[5:7]) == (("claude/own", "claude/opus"), ("api/own", "api/opus"))
    assert (place.root / "log").read_text() == "list\n"
    (place.own / "settings.json").write_text("broken")
    assert await harness.models() is None
    with pytest.raises(TurnError, match=r"settings\.json"):
        await harness.check()


@pytest.mark.rule("U5", "U16")
@pytest.mark.parametrize(
    ("release", "listing", "expected"),
    [
        ("2.1.330", "cat > /dev/null", ("api/opus", "api/sonnet", "api/haiku")),
        ("2.1.330", "cat > /dev/null; exit 2", ("api/opus", "api/sonnet", "api/haiku")),
        ("2.1.330", "kill -9 $$", None),
        ("nonsense", "cat > /dev/null", None),
        ("nonsense", lists(MODELS), ("api/opus", "api/sonnet", "api/other", "api/haiku")),
    ],
)
async def test_a_cli_that_lists_no_models(place: Place, release: str, listing: str, expected: Any) -> None:
    place.write(release=release, listing=listing)
    assert await ClaudeHarness(place.config).models() == expected


@pytest.mark.rule("U5")
async def test_without_a_cli_there_are_no_models_and_no_turns(place: Place) -> None:
    (place.root / "claude").unlink()
    harness = ClaudeHarness(place.config)
    assert await harness.models() is None
    with pytest.raises(TurnError, match="Claude Code is not installed"):
        await harness.check()
    with pytest.raises(SpawnError):
        await place.turn()


@pytest.mark.rule("Z11", "U13")
def test_what_its_sandbox_leaves_writable_counts(place: Place) -> None:
    harness = ClaudeHarness(place.config)
    assert harness.writable(environment(permissions="read-only"), "/work", {}) == ()
    assert harness.writable(environment(permissions="full"), "/work", {}) == ()
    assert harness.writable(EMPTY, "/nowhere", {"TMPDIR": "/t"})[0] == "/nowhere"
    with pytest.raises(TurnError, match=r"The agent may write to settings\.json"):
        harness.writable(EMPTY, str(place.root), {})


@pytest.mark.rule("U6")
def test_a_failure_names_the_agent() -> None:
    found = ClaudeHarness().failure(Completion(status=ExitStatus(signal="SIGKILL"), turn="cut_off"))
    assert found is not None
    assert found.message == "Claude Code exited during its turn."
