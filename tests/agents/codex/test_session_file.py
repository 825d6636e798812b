"""Test how the adapter reads a session's earlier usage from the CLI's session file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.agents.codex.launch import CodexLaunch
from codex_adapter.agents.codex.session_file import usage_before
from codex_adapter.core.extension_checks import SessionSelector
from codex_adapter.runtime.programs import Binary

pytestmark = pytest.mark.rule("F10")

BORN = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
SESSION = "019cabbc-c0c0-7ce3-b0c7-a173a1ba2c6a"
RESUME, FORK, LAST = {"resume": SessionSelector(SESSION)}, {"fork": SessionSelector(SESSION)}, SessionSelector()
NOISE = {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "text": '"token_count"'}}


def count(number: int, **fields: Any) -> dict[str, Any]:
    total = {"input_tokens": number, "output_tokens": number // 10}
    info = {"total_token_usage": total, "last_token_usage": {"input_tokens": 1}, "model_context_window": 9}
    payload = {"type": "token_count", "info": info, "rate_limits": None}
    return {"timestamp": "t", "type": "event_msg", "payload": {**payload, **fields}}


def told(number: int) -> dict[str, int]:
    return {"input_tokens": number, "output_tokens": number // 10}


def begun(by: str) -> dict[str, Any]:
    """The first line of a file."""
    return {"timestamp": "t", "type": "session_meta", "payload": {"id": SESSION, "cli_version": by}}


def write(
    home: Path, *lines: dict[str, Any] | bytes, session: str = SESSION, day: datetime = BORN, by: str = "0.169.0"
) -> Path:
    place = home / "sessions" / f"{day:%Y/%m/%d}"
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"rollout-{day:%Y-%m-%dT%H-%M-%S}-{session}.jsonl"
    written = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in (begun(by), *lines)]
    file.write_bytes(b"".join(line + b"\n" for line in written))
    return file


async def before(
    home: Path,
    session: Mapping[str, Any] = RESUME,
    *,
    env: Mapping[str, str] | None = None,
) -> Mapping[str, int] | None:
    launch = CodexLaunch(
        binary=Binary("/bin/codex", "configured"),
        options=ExecOptions(**session),
        env={"CODEX_HOME": str(home)} if env is None else dict(env),
        cwd=str(home),
        trust="projects={}",
        prompt=b"",
        timeout=None,
    )
    return await usage_before(launch)


def test_the_id_of_these_tests_was_born_on_the_day_of_these_tests() -> None:
    assert datetime.fromtimestamp(int(SESSION[:8] + SESSION[9:13], 16) / 1000, tz=UTC).date() == BORN.date()


async def test_of_a_new_session_nothing_is_told(tmp_path: Path) -> None:
    write(tmp_path, count(7))
    assert await before(tmp_path, {}) is None


@pytest.mark.parametrize("session", [RESUME, FORK], ids=["resume", "fork"])
async def test_the_last_total_is_what_was_used_before(tmp_path: Path, session: Mapping[str, Any]) -> None:
    write(tmp_path, NOISE, count(100), NOISE, count(1_100), NOISE, session=SESSION)
    assert await before(tmp_path, session) == told(1_100)


@pytest.mark.parametrize("days", [-1, 0, 1])
async def test_the_day_is_that_of_the_place_where_the_session_was_born(tmp_path: Path, days: int) -> None:
    write(tmp_path, count(7), day=BORN + timedelta(days=days))
    assert await before(tmp_path) == told(7)


@pytest.mark.parametrize(
    "after",
    [
        [count(0, info=None)],
        [NOISE],
        [count(9, type="agent_message")],
        [{**count(9), "type": "response_item"}],
        [b'{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_tok'],
        [b"\xff" + b'"token_count"', b""],
        [b"[" * 100_000 + b'"token_count"'],
    ],
    ids=["no info", "a text", "another event", "another line", "torn", "garbage", "deep"],
)
async def test_what_is_no_count_does_not_hide_the_count_before_it(
    tmp_path: Path, after: list[dict[str, Any] | bytes]
) -> None:
    write(tmp_path, count(7), *after)
    assert await before(tmp_path) == told(7)


@pytest.mark.parametrize("size", [100_000, 2_000_000])
async def test_a_count_is_found_behind_a_long_line(tmp_path: Path, size: int) -> None:
    write(tmp_path, count(5), count(7), {"text": "x" * size})
    assert await before(tmp_path) == told(7)


async def test_a_count_that_lies_further_back_than_is_read_is_not_known(tmp_path: Path) -> None:
    write(tmp_path, count(7), {"text": "x" * (16 * 1024 * 1024)})
    assert await before(tmp_path) is None


@pytest.mark.parametrize(
    "form", [{"info": {"total": 9}}, {"info": 9}, {"info": {"total_token_usage": {"input_tokens": "9"}}}], ids=str
)
async def test_a_count_in_another_form_is_not_replaced_by_an_older_one(tmp_path: Path, form: dict[str, Any]) -> None:
    write(tmp_path, count(7), count(9, **form))
    assert await before(tmp_path) is None


async def test_a_session_without_a_count_is_not_known(tmp_path: Path) -> None:
    write(tmp_path, NOISE)
    assert await before(tmp_path) is None


@pytest.mark.parametrize(
    ("by", "told"),
    [("0.80.0", told(7)), ("0.170.0-alpha.3", told(7)), ("0.77.0", None), ("0.0.0", None), ("", None)],
)
async def test_a_session_is_counted_whole_when_a_release_began_it_that_does_so(
    tmp_path: Path, by: str, told: Mapping[str, int] | None
) -> None:
    write(tmp_path, count(7), by=by)
    assert await before(tmp_path) == told


@pytest.mark.parametrize(
    "first", [b"", b"\xff", b"{", b"[]", b'{"type":"session_meta"}', b'{"type":"session_meta","payload":{"id":"x"}}']
)
async def test_a_file_that_begins_otherwise_tells_nothing(tmp_path: Path, first: bytes) -> None:
    file = write(tmp_path, count(7))
    file.write_bytes(first + b"\n" + file.read_bytes().partition(b"\n")[2])
    assert await before(tmp_path) is None


@pytest.mark.parametrize(
    "session",
    [
        {"resume": LAST},
        {"resume": SessionSelector("not-a-uuid")},
        {"resume": SessionSelector("../../x")},
        {"resume": SessionSelector("0b0c3e0c-7d3c-4a39-9a5c-0d1f6ee2a111")},
        {"resume": SessionSelector("ffffffff-ffff-7def-8123-456789abcdef")},
        {"resume": SessionSelector("01234567-89ab-7def-8123-456789abcdef")},
    ],
    ids=str,
)
async def test_what_cannot_be_told_is_not_known(tmp_path: Path, session: Mapping[str, Any]) -> None:
    write(tmp_path, count(7))
    assert await before(tmp_path, session) is None


async def test_two_files_of_one_session_tell_nothing(tmp_path: Path) -> None:
    write(tmp_path, count(7))
    write(tmp_path, count(8), day=BORN + timedelta(days=1))
    assert await before(tmp_path) is None


@pytest.mark.parametrize("kind", ["fifo", "directory", "unreadable"])
async def test_what_is_no_readable_file_tells_nothing(tmp_path: Path, kind: str) -> None:
    file = write(tmp_path, count(7))
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "directory":
        file.mkdir()
    else:
        file.symlink_to(file)
    assert await before(tmp_path) is None


async def test_the_home_is_that_of_the_run(tmp_path: Path) -> None:
    write(tmp_path / ".codex", count(7))
    assert await before(tmp_path, env={"CODEX_HOME": ".codex"}) == told(7)
    assert await before(tmp_path, env={"HOME": str(tmp_path)}) == told(7)
    assert await before(tmp_path, env={"HOME": str(tmp_path), "CODEX_HOME": ""}) == told(7)
    assert await before(tmp_path, env={"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path)}) is None
    assert await before(tmp_path, env={}) is None
