"""Test the home of a conversation: each turn finds its own files and the files that the CLI keeps."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.harness.conversation_home import CodexHome
from codex_adapter.harness.conversation_home import is_session

from ....harness.environments import a_skill
from ....rows import rows

SESSION = "01234567-89ab-7def-8123-456789abcdef"
KEPT = ["sessions", "archived_sessions", "state_5.sqlite", "state_5.sqlite-wal", "logs_1.sqlite", "installation_id"]
GONE = [
    "AGENTS.md",
    "AGENTS.override.md",
    "hooks.json",
    "config.toml",
    "skills",
    "rules",
    "plugins",
    ".env",
    "auth.json",
]


def names(home: CodexHome) -> set[str]:
    """What is in it."""
    return {path.name for path in home.path.iterdir()}


def lay(place: Path, kind: str, elsewhere: Path) -> None:
    """Something of this kind there."""
    match kind:
        case "file":
            place.write_bytes(b"SQLite format 3\0")
        case "directory":
            (place / "deep").mkdir(parents=True)
            (place / "deep" / "file").write_text("old")
        case "link":
            place.symlink_to(elsewhere)
        case "dangling":
            place.symlink_to("nowhere")


@pytest.mark.rule("U9")
@given(found=st.dictionaries(st.sampled_from(GONE + KEPT), st.sampled_from(["file", "directory", "link", "dangling"])))
def test_nothing_of_earlier_turns_is_left_but_what_the_cli_keeps(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("conversation")
    source, login, elsewhere = root / "store", root / "own" / "auth.json", root / "elsewhere"
    for directory in (source / "scripts", login.parent, elsewhere):
        directory.mkdir(parents=True)
    (source / "SKILL.md").write_text("skill")
    (source / "scripts" / "run").write_text("#!/bin/sh\n")
    (source / "scripts" / "run").chmod(0o555)
    login.write_text("{}")
    (elsewhere / "precious").write_text("x")
    home = CodexHome(root)
    home.furnish({}, (), ())
    for name, kind in found.items():
        lay(home.path / name, kind, elsewhere)

    for _ in range(2):
        home.furnish({"config.toml": b"a = 1\n"}, (a_skill(source),), (login,))
        kept = {name for name, kind in found.items() if name in KEPT and kind in ("file", "directory")}
        for name, kind in found.items():
            if name.endswith(".sqlite") and kind != "file":
                kept -= {name, f"{name}-wal"}
        assert names(home) == {"config.toml", "skills", "auth.json"} | kept
        assert (home.path / "config.toml").read_bytes() == b"a = 1\n"
        assert (home.path / "auth.json").readlink() == login
        assert (home.path / "skills" / "greeting" / "SKILL.md").read_text().endswith("---\nskill")
        assert stat.S_IMODE((home.path / "skills" / "greeting" / "scripts" / "run").stat().st_mode) & 0o111
    home.furnish({}, (), ())
    assert names(home) == kept
    assert (elsewhere / "precious").exists()
    assert login.exists()
    shutil.rmtree(root)


@pytest.mark.rule("U9")
def test_it_is_for_its_owner_alone(tmp_path: Path) -> None:
    home = CodexHome(tmp_path)
    home.furnish({"config.toml": b"secret"}, (), ())
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((home.path / "config.toml").stat().st_mode) == 0o600


@pytest.mark.rule("U9")
def test_a_source_that_cannot_be_written_to_leaves_a_copy_that_can_be_removed(tmp_path: Path) -> None:
    source = tmp_path / "store"
    source.mkdir()
    (source / "SKILL.md").write_text("skill")
    source.chmod(0o555)
    home = CodexHome(tmp_path)
    home.furnish({}, (a_skill(source),), ())
    assert (home.path / "skills" / "greeting").stat().st_mode & stat.S_IWUSR


@pytest.mark.rule("U8")
@pytest.mark.parametrize("how", ["moved", "copied", "behind a link", "left alone"])
@pytest.mark.fault(
    "turns",
    "A user moves or copies a conversation",
    "The adapter deletes the CLI's databases that contain the old paths",
)
def test_the_database_is_forgotten_where_its_paths_are_no_longer_right(tmp_path: Path, how: str) -> None:
    first = tmp_path / "first"
    first.mkdir()
    CodexHome(first).furnish({}, (), ())
    for name in ("state_5.sqlite", "state_5.sqlite-wal", "logs_1.sqlite"):
        (CodexHome(first).path / name).touch()
    then = tmp_path / "then"
    match how:
        case "moved":
            first.rename(then)
        case "copied":
            shutil.copytree(first, then)
        case "behind a link":
            then.symlink_to(first)
        case _:
            then = first
    CodexHome(then).furnish({}, (), ())
    known = {"state_5.sqlite", "state_5.sqlite-wal"} if how in ("behind a link", "left alone") else set()
    assert names(CodexHome(then)) == {"logs_1.sqlite"} | known
    if how == "copied":
        assert "state_5.sqlite" in names(CodexHome(first))


@pytest.mark.rule("U8")
@pytest.mark.fault(
    "turns", "A signal kills the agent before it writes a session's first line", "The session does not exist"
)
def test_a_session_is_there_when_its_file_is(tmp_path: Path) -> None:
    home = CodexHome(tmp_path)
    assert not home.has(SESSION)
    file = home.path / "sessions" / "2026" / "01" / "02" / f"rollout-2026-01-02T03-04-05-{SESSION}.jsonl"
    file.mkdir(parents=True)
    assert not home.has(SESSION)
    file.rmdir()
    for content in (b"", b"\0" * 100 + b"\n", b'{"type":"session'):  # the agent was killed as it wrote
        file.write_bytes(content)
        assert not home.has(SESSION)
    file.write_bytes(b'{"type":"session_meta"}\n')
    assert home.has(SESSION)


@pytest.mark.rule("U8")
@rows("key", ["", "x", SESSION.upper(), f"{SESSION}\n", f"{{{SESSION}}}", SESSION.replace("-", ""), "*"])
def test_a_key_is_what_the_cli_itself_has_given(key: str) -> None:
    assert is_session(SESSION)
    assert not is_session(key)


@pytest.mark.rule("U9")
def test_what_a_conversation_began_with_is_remembered(tmp_path: Path) -> None:
    assert CodexHome(tmp_path).start_digest() is None
    CodexHome(tmp_path).record_start("digest")
    CodexHome(tmp_path).furnish({}, (), ())
    assert CodexHome(tmp_path).start_digest() == "digest"


@pytest.mark.rule("U8")
@pytest.mark.parametrize("name", ["codex.place", "codex.told", "codex/config.toml", "codex/skills", "codex/.env"])
@pytest.mark.parametrize("kind", ["fifo", "directory", "dangling"])
@pytest.mark.fault(
    "turns",
    "A FIFO, directory or dangling link has the name of a conversation's file",
    "The adapter removes it and never waits for it",
)
def test_whatever_lies_in_the_way_is_removed_and_never_waited_for(tmp_path: Path, name: str, kind: str) -> None:
    home = CodexHome(tmp_path)
    home.furnish({"config.toml": b"a = 1\n"}, (), ())
    path = tmp_path / name
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        lay(path, kind, tmp_path)
    home.start_digest()
    home.furnish({"config.toml": b"b = 1\n"}, (), ())
    home.record_start("told")
    assert (home.path / "config.toml").read_bytes() == b"b = 1\n"
    assert home.start_digest() == "told"


@pytest.mark.rule("U8")
@pytest.mark.parametrize("content", [b"garbage", b"\0" * 4096])
@pytest.mark.fault(
    "turns", "A database of the CLI is not a valid SQLite file", "The adapter deletes it and the conversation continues"
)
def test_what_is_no_database_is_forgotten(tmp_path: Path, content: bytes) -> None:
    home = CodexHome(tmp_path)
    home.furnish({}, (), ())
    for name in ("state_5.sqlite", "state_5.sqlite-wal"):
        (home.path / name).write_bytes(content)
    (home.path / "logs_2.sqlite").write_bytes(b"SQLite format 3\0...")
    (home.path / "new_1.sqlite").touch()
    home.furnish({}, (), ())
    assert names(home) == {"logs_2.sqlite", "new_1.sqlite"}
