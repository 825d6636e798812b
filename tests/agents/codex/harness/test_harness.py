"""Test how the harness starts the CLI for a turn, and which models it lists."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from codex_adapter import CodexConfig, InvalidRequestError, SpawnError
from codex_adapter.agents.codex.harness import CodexHarness
from codex_adapter.agents.codex.harness.conversation_home import CodexHome
from codex_adapter.harness import Harness, HarnessTurn
from codex_adapter.runtime.containment import containment
from codex_adapter.runtime.containment.containment import Contained
from codex_adapter.runtime.containment.guard_client import LevelUnavailable, start_guarded
from codex_adapter.testing import Facts, PrintJson, ReadPrompt, Step, WriteFacts, read_facts, write_agent
from codex_adapter.testing.thread_lines import agent_message
from codex_adapter.turn_errors import TurnError

from ....harness.environments import EMPTY, a_hook, a_server, a_skill, environment

SESSION = "01234567-89ab-7def-8123-456789abcdef"
LISTS = """#!/bin/sh
echo $$ >> {log}
case "$1" in
--version) echo codex-cli {release};;
debug) test -d "$CODEX_HOME" && test -z "$(ls -A "$CODEX_HOME")" && cat <<'END'
{models}
END
esac
"""
MODELS = {
    "models": [
        {"slug": "second", "visibility": "list", "priority": 2, "other": 1},
        {"slug": "hidden", "visibility": "hide", "priority": 0},
        {"slug": "default", "visibility": "list", "priority": 1},
    ]
}


class Place:
    """A CLI that does nothing but write down what it was started with, its user's home, and a conversation."""

    def __init__(self, root: Path, release: str = "0.163.0") -> None:
        self.root = root
        self.own = root / "own"
        self.directory = root / "conversation"
        for directory in (self.own, self.directory):
            directory.mkdir(exist_ok=True)
        steps: list[Step] = [ReadPrompt(), WriteFacts(str(root / "facts"))]
        self.config = CodexConfig(binary=write_agent(root, steps, version=release), codex_home=str(self.own))

    async def turn(self, **fields: Any) -> Facts:
        """What a turn with these fields starts."""
        values = {"environment": EMPTY, "prompt": "Do it.", "env": {}, "cwd": str(self.root), **fields}
        turn = HarnessTurn(**values, directory=self.directory)
        async with CodexHarness(self.config).open(turn) as run:
            await run.events.aclose()
            await run.wait_completed()
        return read_facts(self.root / "facts")

    @property
    def settings(self) -> dict[str, Any]:
        """What the CLI was last configured with."""
        return tomllib.loads((self.directory / "codex" / "config.toml").read_text())

    def begun(self) -> None:
        """Have a session there."""
        sessions = self.directory / "codex" / "sessions"
        sessions.mkdir(parents=True)
        (sessions / f"rollout-2026-01-02T03-04-05-{SESSION}.jsonl").write_text('{"type":"session_meta"}\n')


def a_long_skill(root: Path) -> Any:
    """A skill with more to tell of itself than old releases hear."""
    return msgspec.structs.replace(a_skill(root), description="x" * 1025)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def lists(root: Path, release: str, models: object = MODELS) -> CodexConfig:
    """A CLI that tells its models."""
    binary = root / "codex"
    binary.write_text(LISTS.format(log=root / "log", release=release, models=json.dumps(models)))
    binary.chmod(0o755)
    own = root / "own"
    own.mkdir(exist_ok=True)
    return CodexConfig(binary=str(binary), codex_home=str(own))


@pytest.mark.rule("U10")
def test_it_is_a_harness_for_any_client() -> None:
    harness: Harness = CodexHarness()
    assert harness.id == "codex"


@pytest.mark.rule("U10", "X5")
@pytest.mark.fault(
    "turns",
    "The agent prints secrets from the settings of its MCP servers",
    "The adapter masks them like the secrets of the run",
)
async def test_what_a_server_has_for_itself_is_masked(tmp_path: Path) -> None:
    told = PrintJson(agent_message("item_0", "swordfish-99, herring-1234, verbose-mode"))
    binary = write_agent(tmp_path, [ReadPrompt(), told], version="0.163.0")
    servers = (
        a_server(name="one", env={"API_TOKEN": "swordfish-99", "MODE": "verbose-mode"}),
        a_server(name="two", env={"API_TOKEN": "herring-1234"}),
    )
    config = CodexConfig(binary=binary)
    (talk := tmp_path / "conversation").mkdir()
    turn = HarnessTurn(environment=environment(servers=servers), directory=talk, cwd="/", prompt="Go.", env={})
    async with CodexHarness(config).open(turn) as run:
        texts = [event.text async for event in run.events if event.text]
        await run.wait_completed()
    assert texts == ["***, ***, verbose-mode"]


@pytest.mark.rule("U9", "U10")
async def test_a_turn_has_its_own_home_its_variables_and_its_options(place: Place) -> None:
    space = environment(env={"A": "space", "B": "space"}, permissions="full")
    env = {"B": "turn", "CODEX_HOME": "/nowhere", "CODEX_SQLITE_HOME": "/nowhere"}
    facts = await place.turn(environment=space, env=env, model="local/some/model")
    home = str(place.directory / "codex")
    assert [facts.env[name] for name in ("A", "B", "CODEX_HOME", "CODEX_SQLITE_HOME")] == ["space", "turn", home, home]
    assert facts.prompt == "Do it."
    assert "danger-full-access" in facts.argv
    assert facts.argv[facts.argv.index("--model") + 1] == "some/model"
    assert place.settings["model_provider"] == "local"
    assert list(place.own.iterdir()) == []


@pytest.mark.rule("U5")
async def test_without_a_model_it_is_what_the_user_has_chosen(place: Place) -> None:
    assert "--model" not in (await place.turn()).argv
    (place.own / "config.toml").write_text('model = "own"\nmodel_provider = "local"\n')
    assert "own" in (await place.turn()).argv
    assert place.settings["model_provider"] == "local"
    assert "workspace-write" in (await place.turn()).argv


@pytest.mark.rule("U5")
@pytest.mark.parametrize("model", ["", "name", "/name", "provider/"])
async def test_what_is_no_model_of_a_provider_is_refused(place: Place, model: str) -> None:
    with pytest.raises(TurnError) as refused:
        await place.turn(model=model)
    assert refused.value.error.code == "model_not_supported"


@pytest.mark.rule("U8")
async def test_a_session_goes_on_where_it_is_kept(place: Place) -> None:
    with pytest.raises(TurnError) as refused:
        await place.turn(session=SESSION)
    assert refused.value.error.code == "harness_session_not_found"
    place.begun()
    assert (await place.turn(session=SESSION)).argv[-3:] == ["resume", SESSION, "-"]


@pytest.mark.rule("U9")
@pytest.mark.parametrize(
    ("release", "what"),
    [
        ("0.66.0", "skills"),
        ("0.140.0", "description"),
        ("0.116.0", "hooks"),
        ("0.116.0", "servers"),
        ("0.98.0", "image"),
    ],
)
async def test_what_a_release_cannot_do_is_refused_before_its_start(tmp_path: Path, release: str, what: str) -> None:
    place = Place(tmp_path, release)
    (tmp_path / "image").write_bytes(b"GIF89a")
    turns: dict[str, dict[str, Any]] = {
        "skills": {"environment": environment(skills=(a_skill(tmp_path),))},
        "description": {"environment": environment(skills=(a_long_skill(tmp_path),))},
        "hooks": {"environment": environment(hooks=(a_hook(),))},
        "servers": {"environment": environment(servers=(a_server(),))},
        "image": {"attachments": (str(tmp_path / "image"),)},
    }
    with pytest.raises(TurnError, match=f"or newer of the Codex CLI is required, but {release} is installed"):
        await place.turn(**turns[what])
    assert [path.name for path in place.directory.iterdir()] == ["codex.lock"]


@pytest.mark.rule("U9")
async def test_old_releases_go_on_with_what_they_began_with_alone(tmp_path: Path) -> None:
    place = Place(tmp_path, "0.125.0")
    await place.turn(environment=environment(instructions="One."))
    place.begun()
    await place.turn(environment=environment(instructions="One.", env={"A": "1"}), session=SESSION)
    with pytest.raises(TurnError, match=r"release 0\.147\.0 or newer"):
        await place.turn(environment=environment(instructions="Two."), session=SESSION)
    await Place(tmp_path, "0.147.0").turn(environment=environment(instructions="Two."), session=SESSION)


@pytest.mark.rule("U9")
async def test_a_login_is_a_link_to_the_users_own(place: Place) -> None:
    (place.own / "auth.json").write_text("{}")
    await place.turn()
    assert (place.directory / "codex" / "auth.json").readlink() == place.own / "auth.json"
    await place.turn(env={"CODEX_API_KEY": "key"})
    assert not (place.directory / "codex" / "auth.json").exists()


@pytest.mark.rule("U5", "U16")
async def test_its_models_are_those_that_it_lists_with_the_users_own_first(tmp_path: Path) -> None:
    harness = CodexHarness(lists(tmp_path, "0.163.0"))
    assert await harness.models() == ("openai/default", "openai/second")
    asked = (tmp_path / "log").read_text()
    (tmp_path / "own" / "config.toml").write_text('model = "second"\nmodel_provider = "local"\n')
    assert await harness.models() == ("local/second", "local/default")
    assert (tmp_path / "log").read_text() == asked
    (tmp_path / "own" / "config.toml").write_text("broken")
    assert await harness.models() is None


@pytest.mark.rule("U5")
async def test_another_binary_in_its_place_is_asked_anew(tmp_path: Path) -> None:
    harness = CodexHarness(lists(tmp_path, "0.163.0"))
    assert await harness.models() == ("openai/default", "openai/second")
    lists(tmp_path, "0.163.0", {"models": [{"slug": "newer"}]})
    assert await harness.models() == ("openai/newer",)


@pytest.mark.rule("U5")
@pytest.mark.parametrize(
    ("release", "models", "expected"),
    [
        ("0.116.0", MODELS, ()),
        ("0.163.0", {"models": 1}, ()),
        ("0.163.0", {"models": []}, ()),
        ("0.0.0", {"models": []}, ()),
        ("0.0.0", "no models", None),
        ("0.43.0", MODELS, None),
        ("nonsense", "no models", None),
    ],
)
async def test_a_cli_that_lists_no_models(tmp_path: Path, release: str, models: object, expected: Any) -> None:
    assert await CodexHarness(lists(tmp_path, release, models)).models() == expected


@pytest.mark.rule("U5")
async def test_without_a_cli_there_are_no_models_and_no_turns(place: Place) -> None:
    harness = CodexHarness(CodexConfig(binary=str(place.root / "missing")))
    assert await harness.models() is None
    turn = HarnessTurn(environment=EMPTY, directory=place.directory, cwd="/", prompt="x", env={})
    with pytest.raises(SpawnError):
        async with harness.open(turn):
            pass


FAILING = """#!/bin/sh
test "$1" = --version && {{ echo codex-cli 0.163.0; exit; }}
echo $$ >> {log}
{how}
"""


def failing(root: Path, how: str) -> CodexConfig:
    """A CLI that works, and does this when it is asked for its models."""
    (root / "codex").write_text(FAILING.format(log=root / "log", how=how))
    (root / "codex").chmod(0o755)
    (root / "own").mkdir()
    return CodexConfig(binary=str(root / "codex"), codex_home=str(root / "own"))


@pytest.mark.rule("U5")
async def test_a_cli_that_was_killed_over_its_models_has_not_told_them_and_is_asked_again(tmp_path: Path) -> None:
    harness = CodexHarness(failing(tmp_path, "kill -9 $$"))
    await harness.check()
    assert await harness.models() is None
    lists(tmp_path, "0.163.0")
    assert await harness.models() == ("openai/default", "openai/second")


@pytest.mark.rule("U5")
async def test_a_cli_that_knows_of_no_list_works_with_what_its_user_has_chosen(tmp_path: Path) -> None:
    harness = CodexHarness(failing(tmp_path, "exit 2"))
    await harness.check()
    assert await harness.models() == ()
    (tmp_path / "own" / "config.toml").write_text('model = "own"\n')
    assert await harness.models() == ("openai/own",)


@pytest.mark.rule("U5")
async def test_those_who_wait_for_a_list_that_fails_do_not_ask_one_after_the_other(tmp_path: Path) -> None:
    harness = CodexHarness(failing(tmp_path, "read line < fifo; kill -9 $$"))
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "codex").write_text((tmp_path / "codex").read_text().replace("fifo", str(tmp_path / "fifo")))
    told: list[Any] = []

    async def ask() -> None:
        told.append(await harness.models())

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked(0.2)
        await trio.to_thread.run_sync((tmp_path / "fifo").write_text, "go\n")
    assert told == [None] * 5
    assert len((tmp_path / "log").read_text().split()) == 1


@pytest.mark.rule("U4", "U5")
async def test_why_it_does_not_work_is_told(place: Place) -> None:
    with pytest.raises(TurnError, match="codex-adapter doctor"):
        await CodexHarness(CodexConfig(binary=str(place.root / "missing"))).check()
    config = lists(place.root, "0.163.0")
    await CodexHarness(config).check()
    (place.root / "own" / "config.toml").write_text("broken")
    with pytest.raises(TurnError, match=r"config\.toml"):
        await CodexHarness(config).check()
    with pytest.raises(TurnError, match="is not a directory"):
        await CodexHarness(msgspec.structs.replace(config, codex_home=str(place.root / "missing"))).check()


@pytest.mark.rule("U5", "U9")
async def test_an_old_release_is_refused(tmp_path: Path) -> None:
    harness = CodexHarness(lists(tmp_path, "0.43.0"))
    turn = HarnessTurn(environment=EMPTY, directory=tmp_path, cwd="/", prompt="x", env={})
    with pytest.raises(TurnError, match=r"Turns need release 0\.44\.0 or newer of the Codex CLI, but 0\.43\.0 is"):
        async with harness.open(turn):
            pass
    with pytest.raises(TurnError, match=r"Turns need release 0\.44\.0 or newer"):
        await harness.check()


@pytest.mark.rule("U8")
@pytest.mark.fault(
    "turns",
    "Two turns of one session run at the same time",
    "The second turn is refused; the home of the first does not change",
)
async def test_a_second_turn_of_a_session_at_once_is_refused(place: Place) -> None:
    place.begun()
    with CodexHome(place.directory).exclusive():
        with pytest.raises(TurnError, match="Another turn of this session"):
            await place.turn(session=SESSION)
        assert not (place.directory / "codex" / "config.toml").exists()
    await place.turn(session=SESSION)


@pytest.mark.rule("Z11", "U10")
@pytest.mark.parametrize("permissions", [None, "workspace-write", "read-only", "full"])
def test_where_an_agent_may_write_is_told_where_something_confines_it(tmp_path: Path, permissions: Any) -> None:
    place = Place(tmp_path)
    (place.own / "config.toml").write_text("sandbox_workspace_write.exclude_slash_tmp = true\n")
    asked = environment(permissions=permissions, env={"TMPDIR": "/of/space"})
    found = CodexHarness(place.config).writable(asked, "/nowhere", {"TMPDIR": "/of/turn"})
    assert found == (() if permissions in ("read-only", "full") else ("/nowhere", "/of/turn"))


@pytest.mark.rule("U13", "Z11")
def test_settings_of_the_user_that_the_agent_could_change_are_refused(tmp_path: Path) -> None:
    harness = CodexHarness(Place(tmp_path).config)
    with pytest.raises(TurnError, match=r"^The agent may write to CODEX_HOME"):
        harness.writable(EMPTY, str(tmp_path), {})
    assert harness.writable(environment(permissions="read-only"), str(tmp_path), {}) == ()


@pytest.mark.rule("U9")
@pytest.mark.parametrize("name", ["$(id)", "`id`", 'a"b', "a'b", "a\nb"])
async def test_a_home_that_a_shell_would_read_otherwise_is_refused(tmp_path: Path, name: str) -> None:
    place = Place(tmp_path)
    place.directory = tmp_path / name
    place.directory.mkdir()
    with pytest.raises(TurnError, match=r"^The path of aspHome contains "):
        await place.turn()
    assert not (tmp_path / "facts").exists()


LOGS_ITS_STARTS = """#!/bin/sh
test "$1" = --version && echo asked >> {log} || echo run >> {log}
exec {agent} "$@"
"""


@pytest.mark.rule("U9", "S8", "N1")
async def test_a_second_turn_starts_nothing_but_its_agent(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = place.root / "starts"
    binary = place.root / "logging"
    binary.write_text(LOGS_ITS_STARTS.format(log=starts, agent=place.config.binary))
    binary.chmod(0o755)
    guards: list[str] = []

    async def start_without_namespaces(argv: Sequence[str], *, hold: str, **more: Any) -> Contained:
        guards.append(hold)
        if hold != "guard":
            raise LevelUnavailable
        return await start_guarded(argv, hold=hold, **more)

    monkeypatch.setattr(containment, "start_guarded", start_without_namespaces)
    harness = CodexHarness(msgspec.structs.replace(place.config, binary=str(binary)))
    place.begun()
    counts = []
    for number in range(2):
        server = a_server(env={"API_TOKEN": f"secret-of-turn-{number}"})
        turn = HarnessTurn(
            environment=environment(servers=(server,)),
            directory=place.directory,
            cwd="/",
            prompt="Go.",
            session=SESSION,
            env={},
        )
        async with harness.open(turn) as run:
            await run.events.aclose()
            await run.wait_completed()
        counts.append((starts.read_text().split(), guards.copy()))
        starts.unlink()
        guards.clear()
    (first, first_guards), (second, second_guards) = counts
    assert (first, first_guards[-1]) == (["asked", "run"], "guard")
    assert len(first_guards) > 1
    assert (second, second_guards) == (["run"], ["guard"])


@pytest.mark.rule("U9", "Q7")
async def test_a_setting_that_is_not_for_turns_is_refused_by_its_name(place: Place) -> None:
    place.config = msgspec.structs.replace(place.config, settings={"model_verbosity": "low", "web_search": "live"})
    with pytest.raises(InvalidRequestError, match=r"^config\.settings: web_search cannot be passed\. A turn accepts "):
        await place.turn()
    assert not (place.root / "facts").exists()
