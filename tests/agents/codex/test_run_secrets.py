"""Test that the login secrets of the CLI are masked, whatever its home contains."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from codex_adapter import CodexConfig, Event, RunRequest, open_run
from codex_adapter.agents.codex.dotenv import assignments
from codex_adapter.agents.codex.launch import CodexLaunch
from codex_adapter.agents.codex.run_secrets import login_secrets
from codex_adapter.testing import PrintJson, ReadPrompt, write_agent
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed

from ...counting import calls
from ...rows import rows

REFRESH = "rt-0aB1cD2eF3gH4iJ5kL6mN7oP8"
ACCESS = "opaque access token of 40 characters ...."
LOGIN = {
    "auth_mode": "chatgpt-of-somebody",
    "OPENAI_API_KEY": None,
    "tokens": {
        "refresh_token": REFRESH,
        "access_token": ACCESS,
        "account_id": "acct-12345678",
        "more": [["deep-secret"]],
    },
    "last_refresh": "2026-11-22T10:00:00.000Z",
}


def secrets_of(home: Path, **env: str) -> tuple[str, ...]:
    launch = CodexLaunch(
        binary=None,  # type: ignore[arg-type]
        options=None,  # type: ignore[arg-type]
        trust="",
        env={"CODEX_HOME": str(home), **env},
        cwd="/",
        prompt=b"",
        timeout=None,
    )
    return trio.run(login_secrets, launch)


@pytest.mark.rule("X5")
def test_each_string_of_the_login_is_a_secret_but_what_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text(json.dumps(LOGIN))
    assert secrets_of(tmp_path) == (REFRESH, ACCESS, "acct-12345678", "deep-secret")


@pytest.mark.rule("X5")
def test_the_logins_of_servers_are_secrets(tmp_path: Path) -> None:
    login = {"server_name": "some-server", "url": "https://server.example", "token_response": {"access_token": ACCESS}}
    (tmp_path / ".credentials.json").write_text(json.dumps({"some-server|1": login}))
    assert secrets_of(tmp_path) == (ACCESS,)


@pytest.mark.rule("X5")
@rows(
    "text",
    [
        f'model_providers.p.experimental_bearer_token = "{ACCESS}"',
        f'[model_providers.p]\nname = "somebody"\nhttp_headers = {{ X-Tenant = "{ACCESS}" }}',
        f'[mcp_servers.s.http_headers]\nAuthorization = "Bearer {REFRESH}"',
        f'[mcp_servers.s]\ncommand = "some-command"\nenv = {{ SOME_TOKEN = "{ACCESS}", LANGUAGE = "somebody" }}',
        f'mcp_servers.s.bearer_token = "{ACCESS}"',
        f'shell_environment_policy.set = {{ MY_PASSWORD = "{ACCESS}" }}',
    ],
)
def test_the_users_settings_have_secrets(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(f'model = "some-model"\n{text}\n')
    found = secrets_of(tmp_path)
    assert {ACCESS, REFRESH} & set(found)
    assert {"some-model", "somebody", "some-command"}.isdisjoint(found)


@pytest.mark.rule("X5")
def test_of_settings_that_cannot_be_read_all_quoted_strings_are_masked(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f'token = "{ACCESS}"\nnot toml')
    assert ACCESS in secrets_of(tmp_path)


@pytest.mark.rule("X5")
def test_the_login_is_found_by_a_link_and_in_the_home_of_the_user(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / "elsewhere").write_text(json.dumps({"OPENAI_API_KEY": REFRESH}))
    (tmp_path / ".codex" / "auth.json").symlink_to(tmp_path / "elsewhere")
    assert secrets_of(tmp_path / ".codex") == (REFRESH,)
    assert secrets_of(Path(), CODEX_HOME="", HOME=str(tmp_path)) == (REFRESH,)
    assert secrets_of(Path(), CODEX_HOME="") == ()


@pytest.mark.rule("X5")
def test_variables_that_the_cli_reads_from_its_home_are_as_those_of_the_environment(tmp_path: Path) -> None:
    lines = f"# a comment\nSOME_TOKEN={REFRESH}\nexport OTHER_KEY = '{ACCESS}'\nNAME=somebody-else\n"
    (tmp_path / ".env").write_text(lines)
    assert secrets_of(tmp_path) == (REFRESH, ACCESS)


AS_THE_CLI_READS = {
    "a comment": ("A_PASSWORD=abcDEF1234 # it's a note", "abcDEF1234"),
    "a comment before": ("# don't\nA_PASSWORD=abcDEF1234\n# it isn't", "abcDEF1234"),
    "no comment": ("A_PASSWORD=abcDEF#1234", "abcDEF#1234"),
    "escaped signs": (r'A_PASSWORD="pa\$\$w0rdXy9"', "pa$$w0rdXy9"),
    "an escaped space": (r"A_PASSWORD=abc\ DEF1234x", "abc DEF1234x"),
    "an escaped line end": (r'A_PASSWORD="line1Abc\nline2Def"', "line1Abc\nline2Def"),
    "a line end": ('A_PASSWORD="line1Abc\nline2Def" # x', "line1Abc\nline2Def"),
    "mixed quotes": ("A_PASSWORD=abc'DEF 12'\"34zz\"", "abcDEF 1234zz"),
    "strong quotes": (r"A_PASSWORD='pa\$${x}w0rdXy9'", r"pa\$${x}w0rdXy9"),
    "a quote in quotes": ("""A_PASSWORD="abc'DEF\\"1234\"""", "abc'DEF\"1234"),
    "a block": ('BASE=part1Zz9\nA_PASSWORD="${BASE}-tail88"', "part1Zz9-tail88"),
    "a name": ("BASE=part1Zz9\nA_PASSWORD=$BASE-tail88", "part1Zz9-tail88"),
    "names": ("BASE=part1Zz9\nA_PASSWORD=$BASE$BASE", "part1Zz9part1Zz9"),
    "a name that ends at a line": ("BASE=part1Zz9\nA_PASSWORD=$BASE_tail88", "part1Zz9_tail88"),
    "of the environment": ('A_PASSWORD="${FROM_OUTSIDE}-tail88"', "0utside-tail88"),
    "nothing": ("A_PASSWORD=abcDEF${NOTHING}1234", "abcDEF1234"),
    "a name with a dot": ("export my.PASSWORD = abcDEF1234 # x", "abcDEF1234"),
    "behind a mark": ("\ufeffA_PASSWORD=abcDEF1234 # x", "abcDEF1234"),
    "the first of two": ("A_PASSWORD=abcDEF1234 #\nA_PASSWORD=another-9876", "abcDEF1234"),
    "line ends of Windows": ("A_PASSWORD=abcDEF1234 #\r\nOTHER=1\r\n", "abcDEF1234"),
}


@pytest.mark.rule("X5")
@pytest.mark.parametrize(("lines", "secret"), AS_THE_CLI_READS.values(), ids=AS_THE_CLI_READS.keys())
def test_a_variable_has_the_value_that_the_cli_reads(tmp_path: Path, lines: str, secret: str) -> None:
    (tmp_path / ".env").write_text(f"{lines}\n", newline="")
    assert secret in secrets_of(tmp_path, FROM_OUTSIDE="0utside")


@pytest.mark.rule("X5")
@rows("unit", ["A_KEY=\"'\n", "A_KEY='\n", "A_KEY=$A_KEY${A_KEY}12345678\n", "\\", "' \n", " #"])
def test_reading_variables_takes_bounded_time_and_space(unit: str) -> None:
    text = "A_KEY=12345678\n" + (unit * 100_000)[:200_000]
    found: list[tuple[str, str]] = []
    assert calls(lambda: found.extend(assignments(text, {}))) < 1_000_000
    assert sum(len(value) for _, value in found) < 20_000_000


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_large_file(path: Path) -> None:
    path.write_text(json.dumps([REFRESH] * 100_000))


def not_json(path: Path) -> None:
    path.write_bytes(b'{"OPENAI_API_KEY": "\xff')


def deep_json(path: Path) -> None:
    path.write_text("[" * 100_000)


def unreadable(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.rule("X5")
@pytest.mark.fault(
    "environment", "`auth.json` is not a readable file", "The run continues as if the file did not exist"
)
@pytest.mark.parametrize(
    "make", [a_pipe, a_link_to_a_device, a_large_file, not_json, deep_json, unreadable, Path.mkdir]
)
def test_whatever_lies_there_instead_is_no_failure(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "auth.json")
    assert secrets_of(tmp_path) == ()


@pytest.mark.rule("X5")
def test_what_an_agent_shows_of_the_login_is_masked(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text(json.dumps(LOGIN))
    shown = agent_message("item_0", f"it is {REFRESH} and {ACCESS.encode().hex()}")
    agent = write_agent(
        tmp_path / "agent", (ReadPrompt(), PrintJson(thread_started()), PrintJson(shown), PrintJson(turn_completed()))
    )

    async def texts() -> list[str]:
        events: list[Event] = []
        async with open_run(
            RunRequest(prompt="x"), config=CodexConfig(binary=str(agent), codex_home=str(tmp_path))
        ) as run:
            async for event in run.events:
                events.append(event)
            await run.wait_completed()
        return [event.text for event in events if event.text]

    assert trio.run(texts) == ["it is *** and ***"]
