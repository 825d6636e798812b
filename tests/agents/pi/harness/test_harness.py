"""Test how the harness starts pi for a turn, and which models it lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codex_adapter import Completion, ExitStatus, SpawnError, UnknownBackendError
from codex_adapter.agents import agent_of_harness
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.harness import PiHarness
from codex_adapter.harness import Harness, HarnessTurn
from codex_adapter.turn_errors import TurnError

from ....harness.environments import EMPTY, a_hook, a_server, a_skill, environment

SESSION = "01234567-89ab-4def-8123-456789abcdef"
CLI = """#!/bin/sh
case " $* " in
*" --version "*) echo "{release}" ;;
*" --mode rpc "*) echo list >> {root}/log; {state} ;;
*" --list-models "*) {listing} ;;
*)
cat > {root}/prompt
printf '%s\\n' "$@" > {root}/argv
env > {root}/env
session=$(printf '%s\\n' "$@" | sed -n '/^--session$/{{n;p;}}')
cat <<END
{{"type":"session","version":3,"id":"$session"}}
{lines}
END
esac
"""
LINES = (
    {"type": "agent_start"},
    {
        "type": "message_end",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stopReason": "stop"},
    },
    {"type": "agent_end", "messages": [], "willRetry": False},
    {"type": "agent_settled"},
)
TABLE = ("provider  model      context", "a         one        128K", "b         two/three  1M")
STATE = {"type": "response", "command": "get_state", "data": {"model": {"id": "two/three", "provider": "b"}}}


def prints(*lines: str) -> str:
    """The shell command of a CLI that prints lines."""
    return "; ".join(f"echo '{line}'" for line in lines)


class Place:
    """A CLI that only records how it was started, its user's directory, and a conversation."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = root / "own"
        self.directory = root / "conversation"
        self.home = self.directory / "pi"
        for directory in (self.own, self.directory):
            directory.mkdir()
        self.config = PiConfig(binary=str(root / "pi"), agent_dir=str(self.own))
        self.write()

    def write(
        self, *, release: str = "0.87.1", listing: str = prints(*TABLE), state: str = prints(json.dumps(STATE))
    ) -> None:
        lines = "\n".join(map(json.dumps, LINES))
        text = CLI.format(release=release, root=self.root, listing=listing, state=state, lines=lines)
        (self.root / "pi").write_text(text)
        (self.root / "pi").chmod(0o755)

    async def turn(self, **fields: Any) -> list[str]:
        """Run a turn with these fields, and return the argv of its CLI."""
        values = {"environment": EMPTY, "prompt": "Do it.", "env": {}, "cwd": str(self.root), **fields}
        async with PiHarness(self.config).open(HarnessTurn(**values, directory=self.directory)) as run:
            await run.events.aclose()
            await run.wait_completed()
        return (self.root / "argv").read_text().splitlines()

    @property
    def env(self) -> dict[str, str]:
        """The environment of the last turn."""
        lines = (self.root / "env").read_text().splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    def header(self) -> dict[str, Any]:
        """The first line of the only session."""
        [file] = (self.home / "sessions").iterdir()
        found: dict[str, Any] = json.loads(file.read_text().splitlines()[0])
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def option(argv: list[str], name: str) -> str:
    return argv[argv.index(name) + 1]


@pytest.mark.rule("U1", "U5")
def test_turns_select_it_by_the_name_of_the_protocol() -> None:
    harness: Harness = agent_of_harness("pi-sdk").harness()
    assert harness.id == "pi-sdk"


@pytest.mark.rule("U1")
@pytest.mark.parametrize("name", ["pi", "claude-code"])
def test_names_of_interactive_programs_are_refused(name: str) -> None:
    with pytest.raises(UnknownBackendError, match="Existing harnesses: agent-sdk, codex, pi-sdk"):
        agent_of_harness(name)


@pytest.mark.rule("U17", "U18")
async def test_a_turn_has_its_own_directory_its_variables_and_its_options(place: Place) -> None:
    (place.own / "auth.json").write_text("{}")
    (place.own / "models.json").write_text("{}")
    (place.own / "settings.json").write_text('{"retry": {"maxRetries": 1}, "packages": ["npm:x"]}')
    space = environment(env={"A": "space", "B": "space"}, permissions="full", instructions="\nBe brief.\n\n")
    env = {"B": "turn", "PI_CODING_AGENT_DIR": "/nowhere", "PI_CODING_AGENT_SESSION_DIR": "/nowhere"}
    argv = await place.turn(environment=space, env=env, model="b/two/three")
    names = ("A", "B", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR")
    assert [place.env[name] for name in names] == ["space", "turn", str(place.home), str(place.home / "sessions")]
    assert (place.root / "prompt").read_text() == "Do it."
    assert (option(argv, "--provider"), option(argv, "--model")) == ("b", "two/three")
    assert not {"--tools", "--skill", "--approve"} & set(argv)
    assert {"--no-skills", "--no-extensions", "--no-context-files", "--no-approve"} < set(argv)
    assert json.loads((place.home / "settings.json").read_text()) == {"retry": {"maxRetries": 1}}
    assert (place.home / "APPEND_SYSTEM.md").read_text() == "Be brief.\n"
    assert [(place.home / name).readlink() for name in ("auth.json", "models.json")] == [
        place.own / "auth.json",
        place.own / "models.json",
    ]


@pytest.mark.rule("U17")
async def test_the_next_turn_has_only_the_sessions_of_the_last(place: Place) -> None:
    (place.root / "skill").mkdir()
    (place.root / "skill" / "SKILL.md").write_text("---\ndescription: x\nallowed-tools: bash\n---\nSay ahoy.\n")
    argv = await place.turn(environment=environment(skills=(a_skill(place.root / "skill"),), instructions="Be brief."))
    assert option(argv, "--skill") == str(place.home / "skills")
    assert "allowed-tools" not in (place.home / "skills" / "greeting" / "SKILL.md").read_text()
    (place.home / "models-store.json").touch()
    await place.turn(session=option(argv, "--session"))
    assert {path.name for path in place.home.iterdir()} == {"settings.json", "sessions"}


@pytest.mark.rule("U5")
async def test_without_a_model_the_users_settings_or_the_cli_select_it(place: Place) -> None:
    assert not {"--provider", "--model"} & set(await place.turn())
    (place.own / "settings.json").write_text('{"defaultProvider": "a", "defaultModel": "one"}')
    argv = await place.turn()
    assert (option(argv, "--provider"), option(argv, "--model")) == ("a", "one")
    place.config = PiConfig(binary=place.config.binary, agent_dir=place.config.agent_dir, model="own")
    argv = await place.turn()
    assert (option(argv, "--model"), "--provider" in argv) == ("own", False)


@pytest.mark.rule("U5")
@pytest.mark.parametrize("model", ["", "name", "/name", "a/"])
async def test_a_model_without_a_provider_is_refused(place: Place, model: str) -> None:
    with pytest.raises(TurnError) as refused:
        await place.turn(model=model)
    assert refused.value.error.code == "model_not_supported"


@pytest.mark.rule("U8")
async def test_a_session_exists_before_its_first_answer_and_follows_the_directory(place: Place) -> None:
    session = option(await place.turn(), "--session")
    header = place.header()
    assert (header["type"], header["id"], header["cwd"]) == ("session", session, str(place.root))
    [file] = (place.home / "sessions").iterdir()
    with file.open("a") as appended:
        appended.write('{"type":"message"}\n')
    argv = await place.turn(session=session, cwd=str(place.own))
    assert option(argv, "--session") == session
    assert place.header() == {**header, "cwd": str(place.own)}
    assert file.read_text().endswith('}\n{"type":"message"}\n')


@pytest.mark.rule("U8")
async def test_a_session_that_does_not_exist_or_is_damaged_is_refused(place: Place) -> None:
    sessions = place.home / "sessions"
    for key in (SESSION, "../..", SESSION.upper()):
        with pytest.raises(TurnError) as refused:
            await place.turn(session=key)
        assert refused.value.error.code == "harness_session_not_found"
    assert [path.name for path in place.directory.iterdir()] == ["pi.lock"]
    sessions.mkdir(parents=True)
    for content in ("", '{"type":"session"'):
        (sessions / f"x_{SESSION}.jsonl").write_text(content)
        with pytest.raises(TurnError, match="The session does not exist"):
            await place.turn(session=SESSION)
    (sessions / f"x_{SESSION}.jsonl").write_text("{hunter2}\n")
    with pytest.raises(TurnError, match="The first line of the session's file is damaged") as refused:
        await place.turn(session=SESSION)
    assert "hunter2" not in str(refused.value)


@pytest.mark.rule("U8")
async def test_a_second_turn_of_a_session_at_once_is_refused(place: Place) -> None:
    turn = HarnessTurn(environment=EMPTY, directory=place.directory, cwd=str(place.root), prompt="x", env={})
    async with PiHarness(place.config).open(turn) as run:
        with pytest.raises(TurnError, match="Another turn of this session is running"):
            await place.turn()
        await run.events.aclose()
        await run.wait_completed()


@pytest.mark.rule("U18")
async def test_images_are_arguments_and_files_are_named(place: Place) -> None:
    for name, content in {"a b.bin": b"\x89PNG\r\n\x1a\n....", "a\tb": b"GIF89a", "notes.txt": b"hello"}.items():
        (place.root / name).write_bytes(content)
    attachments = tuple(str(place.root / name) for name in ("a b.bin", "a\tb", "notes.txt"))
    argv = await place.turn(attachments=attachments)
    link = place.directory / "images" / "1.gif"
    assert argv[-2:] == [f"@{place.root}/a b.bin", f"@{link}"]
    assert link.readlink() == place.root / "a\tb"
    assert (place.root / "prompt").read_text() == f"Do it.\n\nAttached files:\n- {place.root}/notes.txt\n"


@pytest.mark.rule("U18")
@pytest.mark.parametrize(
    ("given", "error"),
    [
        (environment(hooks=(a_hook(),)), r"pi has no hooks\. .*: note\."),
        (environment(servers=(a_server(),)), r"pi has no MCP servers\. .*: one\."),
        (environment(permissions="workspace-write"), "pi has no sandbox"),
    ],
)
async def test_what_the_cli_does_not_have_is_refused(place: Place, given: Any, error: str) -> None:
    with pytest.raises(TurnError, match=error):
        await place.turn(environment=given)
    assert not (place.root / "argv").exists()


@pytest.mark.rule("Z11", "U18")
def test_no_directory_confines_its_agent(place: Place) -> None:
    harness = PiHarness(place.config)
    for permissions in (None, "read-only", "full"):
        assert harness.writable(environment(permissions=permissions), "/work", {}) == ()
    with pytest.raises(TurnError, match="pi has no sandbox"):
        harness.writable(environment(permissions="workspace-write"), "/work", {})


@pytest.mark.rule("U18")
@pytest.mark.parametrize("permissions", [None, "read-only"])
async def test_an_agent_without_permissions_gets_tools_that_read(place: Place, permissions: Any) -> None:
    argv = await place.turn(environment=environment(permissions=permissions))
    assert option(argv, "--tools") == "read,grep,find,ls"


@pytest.mark.rule("U17")
async def test_an_old_release_is_refused(place: Place) -> None:
    place.write(release="0.74.2")
    with pytest.raises(TurnError, match=r"Turns need release 0\.80\.10 or newer"):
        await place.turn()
    with pytest.raises(TurnError, match=r"Turns need release 0\.80\.10 or newer"):
        await PiHarness(place.config).check()
    assert await PiHarness(place.config).models() is None


@pytest.mark.rule("U5", "U16")
async def test_its_models_are_those_of_the_users_logins(place: Place) -> None:
    harness = PiHarness(place.config)
    await harness.check()
    assert await harness.models() == await harness.models() == ("b/two/three", "a/one")
    assert (place.root / "log").read_text() == "list\n"
    (place.own / "settings.json").write_text('{"defaultProvider": "a", "defaultModel": "one"}')
    assert await harness.models() == ("a/one", "b/two/three")
    assert (place.root / "log").read_text() == "list\n"
    (place.own / "auth.json").write_text('{"a": {}}')
    assert await harness.models() == ("a/one", "b/two/three")
    assert (place.root / "log").read_text() == "list\nlist\n"
    (place.own / "settings.json").write_text("broken")
    assert await harness.models() is None
    with pytest.raises(TurnError, match=r"settings\.json"):
        await harness.check()


@pytest.mark.rule("U5", "U16")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"state": "exit 1"}, ("a/one", "b/two/three")),
        ({"state": prints("null", "{", '{"type": "response", "data": null}')}, ("a/one", "b/two/three")),
        ({"listing": prints("No models available. Use /login.")}, ()),
        ({"listing": prints("Something else")}, None),
        ({"listing": "exit 2"}, None),
        ({"listing": "kill -9 $$"}, None),
        ({"release": "nonsense", "listing": "exit 2"}, None),
        ({"release": "nonsense"}, ("b/two/three", "a/one")),
    ],
)
async def test_the_list_of_models_as_the_cli_prints_it(place: Place, written: dict[str, str], expected: Any) -> None:
    place.write(**written)
    assert await PiHarness(place.config).models() == expected


@pytest.mark.rule("U5")
async def test_a_program_without_a_release_must_list_models(place: Place) -> None:
    place.write(release="nonsense", listing="exit 2")
    with pytest.raises(TurnError, match="Pi is not installed"):
        await PiHarness(place.config).check()


@pytest.mark.rule("U5")
async def test_without_a_cli_there_are_no_models_and_no_turns(place: Place) -> None:
    (place.root / "pi").unlink()
    harness = PiHarness(place.config)
    assert await harness.models() is None
    with pytest.raises(TurnError, match="Pi is not installed"):
        await harness.check()
    with pytest.raises(SpawnError):
        await place.turn()


@pytest.mark.rule("U6")
def test_a_failure_names_the_agent() -> None:
    found = PiHarness().failure(Completion(status=ExitStatus(signal="SIGKILL"), turn="cut_off"))
    assert found is not None
    assert found.message == "Pi exited during its turn."
