"""Test that the files of options are written where the user said, and that no link leads them to another place."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.output_file import OutputFile
from codex_adapter.testing import WaitFor, WriteFile

from ..needs import missing
from ..rows import rows
from ..waiting import until
from .command import Cli
from .test_answer import GOOD

pytestmark = pytest.mark.rule("C25")

WAITING = (*GOOD[:-1], WriteFile("started"), WaitFor("go"), GOOD[-1])


@pytest.fixture
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of the user with a file that nothing may change."""
    target = tmp_path_factory.mktemp("home")
    (target / "bashrc").write_text("precious")
    return target


@pytest.mark.fault(
    "consumer",
    "The file of `--last-message` is a link in the repository",
    "The command refuses the link by its name before the run",
)
@rows("place", ["answer.txt", "out/answer.txt", "deep/out/answer.txt"])
def test_a_link_of_the_repository_is_refused_before_the_run(cli: Cli, target: Path, place: str) -> None:
    link = cli.directory / (place if "/" not in place else place.removesuffix("/answer.txt"))
    link.unlink(missing_ok=True)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target / "bashrc" if "/" not in place else target)
    done = cli.run("run", "--codex", cli.agent(WriteFile("started")), "--last-message", place, "x")
    assert (done.status, done.stdout) == (2, b"")
    part = f"the directory '{link.name}'" if "/" in place else "the last part"
    assert done.complaint.startswith(f"--last-message: {part} of the path is a link")
    assert not (cli.directory / "started").exists()
    assert [(path.name, path.read_text()) for path in target.iterdir()] == [("bashrc", "precious")]


def the_file_by_a_link(out: Path, target: Path) -> Path:
    (out / "answer.txt").symlink_to(target / "bashrc")
    return out


def the_file_by_a_directory(out: Path, _target: Path) -> Path:
    (out / "answer.txt").mkdir()
    return out


def the_directory_by_a_link(out: Path, target: Path) -> Path:
    out.rename(out.with_name("moved"))
    out.symlink_to(target)
    return out.with_name("moved")


@pytest.mark.fault(
    "consumer",
    "The agent replaces the file of `--last-message`, or its directory, by a link",
    "The command writes to the directory that it found before the run, and replaces the link",
)
@pytest.mark.parametrize("replace", [the_file_by_a_link, the_file_by_a_directory, the_directory_by_a_link])
def test_what_the_agent_puts_in_the_way_leads_nowhere(
    cli: Cli, target: Path, replace: Callable[[Path, Path], Path]
) -> None:
    out = cli.directory / "out"
    out.mkdir()
    with cli.start("run", "--codex", cli.agent(*WAITING), "--last-message", "out/answer.txt", "x") as process:
        until((cli.directory / "started").exists)
        found = replace(out, target)
        (cli.directory / "go").touch()
        done = cli.finish(process)
    if replace is the_file_by_a_directory:
        assert done.status == 125
        assert done.complaint.startswith("--last-message: the file cannot be written (Is a directory)")
    else:
        assert done.status == 0
        assert not (found / "answer.txt").is_symlink()
        assert (found / "answer.txt").read_text() == "The answer,\nü."
    assert [(path.name, path.read_text()) for path in target.iterdir()] == [("bashrc", "precious")]
    assert [path.name for path in found.iterdir()] == ["answer.txt"]


@pytest.mark.rule("C10")
def test_a_page_goes_through_no_link(cli: Cli, target: Path) -> None:
    (cli.directory / "run.jsonl").write_bytes(cli.run("run", "--codex", cli.agent(*GOOD), "x").stdout)
    (cli.directory / "page.html").symlink_to(target / "bashrc")
    done = cli.run("view", "--html", "page.html", "run.jsonl")
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith("--html: OUT: the last part of the path is a link")
    assert (target / "bashrc").read_text() == "precious"


@pytest.mark.rule("J12")
def test_a_journal_begins_in_no_link(cli: Cli, target: Path) -> None:
    (cli.directory / "runs").symlink_to(target)
    (cli.directory / "deep").symlink_to(target.parent)
    for place in ("runs", "runs/", "deep/runs"):
        done = cli.run("serve", "--journal", place)
        assert (done.status, done.stdout) == (2, b"")
        assert re.match(r"--journal: the (last part|directory 'deep') of the path is a link", done.complaint)
    assert [path.name for path in target.iterdir()] == ["bashrc"]


def written(path: Path | str, *agent_writes: Path) -> str:
    file = OutputFile(str(path), "--out")
    try:
        file.prepare(map(str, agent_writes))
        return file.write(b"new")
    finally:
        file.close()


def test_a_link_of_the_user_outside_of_what_the_agent_writes_is_followed(tmp_path: Path, target: Path) -> None:
    (tmp_path / "by").mkdir()
    (tmp_path / "absolute").symlink_to(target)
    (tmp_path / "by" / "relative").symlink_to("../absolute/.")
    assert written(tmp_path / "by" / "relative" / "new", tmp_path / "other") == str(target / "new")
    assert (target / "new").read_text() == "new"
    with pytest.raises(UsageError, match="--out: the directory 'relative' of the path is a link"):
        written(tmp_path / "by" / "relative" / "new", tmp_path)


def test_a_link_where_other_users_may_write_is_refused(tmp_path: Path, target: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "link").symlink_to(target)
    for mode in (0o1777, 0o757):
        shared.chmod(mode)
        with pytest.raises(UsageError, match="the directory 'link' of the path is a link"):
            written(shared / "link" / "new")
    shared.chmod(0o755)
    assert written(shared / "link" / "new") == str(target / "new")


def test_links_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a/a")
    with pytest.raises(UsageError, match="in an existing directory"):
        written(tmp_path / "a" / "new")


@rows("name", ["", ".", "..", "missing/new", "file/new"])
def test_what_names_no_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="must be a regular file in an existing directory"):
        written(f"{tmp_path}/{name}")


@pytest.mark.parametrize("mode", [0o640, 0o4755, 0o200])
def test_an_existing_file_keeps_its_permission_bits_and_others_of_its_names_their_content(
    tmp_path: Path, mode: int
) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(mode)
    (tmp_path / "name").hardlink_to(tmp_path / "file")
    written(tmp_path / "name")
    assert stat.S_IMODE((tmp_path / "name").stat().st_mode) == mode & 0o777
    (tmp_path / "file").chmod(0o600)
    assert (tmp_path / "file").read_text() == "old"


def test_a_device_is_written_to_and_a_link_of_the_repository_to_one_is_refused(tmp_path: Path) -> None:
    assert written(Path("/dev/null")) == "/dev/null"
    (tmp_path / "link").symlink_to("/dev/null")
    assert written(tmp_path / "link", tmp_path / "other") == str(tmp_path / "link")
    with pytest.raises(UsageError, match="is a link"):
        written(tmp_path / "link", tmp_path)


def test_a_link_in_the_place_of_a_device_is_not_written_through(tmp_path: Path, target: Path) -> None:
    file = OutputFile(str(tmp_path / "null"), "--out")
    try:
        os.mknod(tmp_path / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        missing("root")
    file.prepare([str(tmp_path)])
    (tmp_path / "null").unlink()
    (tmp_path / "null").symlink_to(target / "bashrc")
    with pytest.raises(OSError, match="symbolic links"):
        file.write(b"new")
    file.close()
    assert (target / "bashrc").read_text() == "precious"
