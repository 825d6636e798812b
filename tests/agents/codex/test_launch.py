"""Test the way from a request to a launch with real files and real processes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tomllib
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from codex_adapter.agents.codex.binary import PROGRAM
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.launch import CodexLaunch, prepare_launch
from codex_adapter.core.extension_checks import SessionSelector
from codex_adapter.errors import BackendError, InvalidRequestError, SpawnError, UnsupportedCapabilityError
from codex_adapter.request import RunRequest
from codex_adapter.runtime.containment.marks import new_mark
from codex_adapter.runtime.private_file import private_file
from codex_adapter.runtime.programs import Versions

from ...needs import without

FORK = {"agent_api.session.fork.v1": {"selector": "id", "id": "0199"}}
REFUSED = "codex backend error: invalid_request (details redacted when unsafe)"
PATH = "/usr/bin:/bin"
TRUST = "backend.codex.exec.trust_project"


class Cli:
    """A stand-in for the CLI that says its release and notes each call."""

    def __init__(self, directory: Path, release: str) -> None:
        self.calls = directory / "calls"
        self.path = directory / "codex"
        self.path.write_text(f'#!/bin/sh\necho "$@" >> {self.calls}\necho codex-cli {release}\n')
        self.path.chmod(0o755)

    @property
    def asked(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The release 0.169.0."""
    return Cli(tmp_path, "0.169.0")


async def prepared(cli: Cli, config: dict[str, Any] | None = None, **fields: Any) -> CodexLaunch:
    request = RunRequest(**{"prompt": "hi", **fields})
    return await prepare_launch(request, CodexConfig(binary=str(cli.path), **(config or {})), environ={"PATH": PATH})


@pytest.mark.rule("S1", "S3", "S4", "S5", "K1")
async def test_a_launch_has_all_that_a_spawn_needs(cli: Cli, tmp_path: Path) -> None:
    launch = await prepared(cli, {"model": "m"}, prompt=" é\n", working_dir=str(tmp_path), timeout=5, env={"A": "1"})
    assert launch.argv() == [
        *(str(cli.path), "--ask-for-approval", "never", "exec", "--config", launch.trust, "--color", "never"),
        *("--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "--model", "m"),
        *("--config", 'shell_environment_policy.exclude=["GIT_DIR"]', "--config", "features.shell_snapshot=false", "-"),
    ]
    assert launch.prompt == " é\n".encode()
    assert launch.cwd == str(tmp_path)
    assert launch.env == {"PATH": PATH, "RUST_LOG": "error", "A": "1", "GIT_DIR": "/dev/null"}
    assert launch.timeout == 5


def projects(launch: CodexLaunch) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(launch.argv()[launch.argv().index("--config") + 1])["projects"]
    return found


@pytest.mark.rule("S11")
@pytest.mark.parametrize(("extensions", "level"), [({}, "untrusted"), ({TRUST: True}, "trusted")])
async def test_the_trust_of_the_directory_and_of_all_above_it_is_settled_where_links_lead(
    cli: Cli, tmp_path: Path, extensions: dict[str, Any], level: str
) -> None:
    inside = tmp_path / 'a "b".c' / "d"
    inside.mkdir(parents=True)
    (tmp_path / "link").symlink_to(inside)
    launch = await prepared(cli, working_dir=str(tmp_path / "link"), extensions=extensions)
    real = inside.resolve()
    assert projects(launch) == {str(path): {"trust_level": level} for path in (real, *real.parents)}


@pytest.mark.rule("S11")
async def test_the_root_directory_is_one_project(cli: Cli) -> None:
    assert projects(await prepared(cli, working_dir="/")) == {"/": {"trust_level": "untrusted"}}


@pytest.mark.rule("S11", "Q5")
async def test_a_directory_too_deep_to_settle_its_trust_is_refused(cli: Cli, tmp_path: Path) -> None:
    deep = tmp_path / "/".join(["x"] * 700)
    deep.mkdir(parents=True)
    with pytest.raises(InvalidRequestError, match=r"^working_dir has too many parent directories\. "):
        await prepared(cli, working_dir=str(deep))


@pytest.mark.rule("S11")
@pytest.mark.parametrize(
    ("config", "env", "setting"),
    [
        ("", {}, 'exclude=["GIT_DIR"]'),
        ('shell_environment_policy.exclude = ["A_*", "B"]', {}, 'exclude=["A_*","B","GIT_DIR"]'),
        ('shell_environment_policy."\\u0065xclude" = ["A_*"]', {}, 'exclude=["A_*","GIT_DIR"]'),
        ("exclude = [", {}, 'exclude=["GIT_DIR"]'),
        ("shell_environment_policy.exclude = 1", {}, 'exclude=["GIT_DIR"]'),
        ('shell_environment_policy.exclude = ["A_*"]', {"GIT_DIR": "/of/the user"}, 'set.GIT_DIR="/of/the user"'),
    ],
)
async def test_git_of_the_cli_finds_no_repository_and_git_of_its_commands_does(
    cli: Cli, tmp_path: Path, config: str, env: dict[str, str], setting: str
) -> None:
    (tmp_path / "config.toml").write_text(config)
    launch = await prepared(cli, {"codex_home": str(tmp_path)}, env=env)
    assert launch.env["GIT_DIR"] == os.devnull
    more = [] if setting.startswith("set.") else ["--config", "features.shell_snapshot=false"]
    last = ["--config", f"shell_environment_policy.{setting}", *more, "-"]
    assert launch.argv()[-len(last) :] == last


@pytest.mark.rule("S11")
@pytest.mark.parametrize(
    ("place", "package", "off"),
    [
        ("@openai/codex", '{"name": "@openai/codex", "version": "0.157.0"}', True),
        ("@openai/codex", '{"name": "@openai/codex", "version": "0.158.0-linux-x64"}', False),
        ("@openai/codex-linux-x64", '{"name": "@openai/codex", "version": "0.169.0-linux-x64"}', False),
        ("app", '{"name": "app", "version": "1.0.0"}', True),
        ("@openai/codex", '{"name": "@openai/codex"}', True),
        ("@openai/codex", "[0.169.0]", True),
        ("@openai/codex", "\udcff", True),
    ],
)
async def test_a_snapshot_of_the_shell_is_off_but_for_packages_that_make_it_well(
    tmp_path: Path, place: str, package: str, off: bool
) -> None:
    directory = tmp_path / "node_modules" / place
    directory.mkdir(parents=True)
    (directory / "package.json").write_bytes(os.fsencode(package))
    launch = await prepared(Cli(directory, "0.169.0"))
    assert ("features.shell_snapshot=false" in launch.argv()) == off


@pytest.mark.rule("S11")
@pytest.mark.parametrize(("release", "off"), [("0.157.1", True), ("0.163.0", False), ("nonsense", True)])
async def test_the_release_of_a_wheel_is_in_the_name_beside_it(tmp_path: Path, release: str, off: bool) -> None:
    (tmp_path / "codex_cli_bin").mkdir()
    (tmp_path / f"openai_codex_cli_bin-{release}.dist-info").mkdir()
    launch = await prepared(Cli(tmp_path / "codex_cli_bin", "0.169.0"))
    assert ("features.shell_snapshot=false" in launch.argv()) == off


@pytest.mark.rule("S11")
async def test_git_of_a_project_that_is_trusted_is_left_as_it_is(cli: Cli) -> None:
    launch = await prepared(cli, extensions={TRUST: True})
    assert "GIT_DIR" not in launch.env
    assert "shell_environment_policy" not in " ".join(launch.argv())


@pytest.mark.rule("S3")
async def test_the_prompt_stands_neither_in_argv_nor_in_the_environment(cli: Cli) -> None:
    launch = await prepared(cli, prompt="hunter2")
    assert "hunter2" not in str(launch.argv()) + str(launch.env)


@pytest.mark.rule("S5")
async def test_the_parent_is_the_process_itself_and_stays_as_it_is(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_PARENT", "1")
    monkeypatch.delenv("RUST_LOG", raising=False)
    before = dict(os.environ)
    launch = await prepare_launch(RunRequest(prompt="hi", env={"A": "1"}), CodexConfig(binary=str(cli.path)))
    assert launch.env == {**before, "RUST_LOG": "error", "A": "1", "GIT_DIR": "/dev/null"}
    assert dict(os.environ) == before


@pytest.mark.rule("S4")
async def test_a_relative_working_directory_and_home_count_from_the_process(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    assert (await prepared(cli)).cwd == str(tmp_path)
    launch = await prepared(cli, {"codex_home": "home"}, working_dir="project")
    assert launch.cwd == str(tmp_path / "project")
    assert launch.env["CODEX_HOME"] == str(tmp_path / "home")


@pytest.mark.rule("X2")
@pytest.mark.fault(
    "environment",
    "CODEX_HOME does not exist",
    "The adapter raises BackendError `io` with advice before it starts a process",
)
async def test_a_home_that_is_not_there_is_refused_before_the_run(cli: Cli, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"\Acodex backend error: io ") as caught:
        await prepared(cli, {"codex_home": str(tmp_path / "missing")})
    assert caught.value.failure == "io"
    assert "CODEX_HOME" in str(caught.value.advice)


@pytest.mark.rule("S5", "X2")
@pytest.mark.parametrize("name", ["$(id)", "`id`", 'a"b', "a'b", "a\nb"])
@pytest.mark.fault(
    "environment",
    "The path of CODEX_HOME contains a character that shells interpret",
    "The adapter raises BackendError `io` with advice and starts no process",
)
async def test_a_home_that_a_shell_would_read_otherwise_is_refused(cli: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(BackendError, match=r"\Acodex backend error: io ") as caught:
        await prepared(cli, {"codex_home": str(tmp_path / name)})
    assert str(caught.value.advice).startswith("The path of CODEX_HOME contains $, `, a quote or a newline. ")


@pytest.mark.rule("S4", "X2")
@pytest.mark.fault(
    "environment",
    "The working directory of a process that uses the library is deleted",
    "The adapter raises BackendError `io` with advice; an explicit absolute directory works",
)
async def test_a_process_whose_own_directory_is_gone_needs_an_absolute_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(BackendError, match="codex backend error: io ") as caught:
        await prepared(cli)
    assert caught.value.failure == "io"
    assert caught.value.advice is not None
    assert (await prepared(cli, working_dir=str(tmp_path))).cwd == str(tmp_path)


@pytest.mark.rule("Q1", "Q2", "Q5", "S6")
async def test_a_request_is_checked_before_the_binary_is_looked_for() -> None:
    nowhere = CodexConfig(binary="/nowhere/codex")
    with pytest.raises(InvalidRequestError, match=r"^prompt must be"):
        await prepare_launch(RunRequest(prompt=""), nowhere)
    with pytest.raises(UnsupportedCapabilityError):
        await prepare_launch(RunRequest(prompt="hi", extensions={"x": 1}), nowhere)
    with pytest.raises(InvalidRequestError, match=r"^working_dir must be"):
        await prepare_launch(RunRequest(prompt="hi", working_dir="/nowhere"), nowhere)
    with pytest.raises(SpawnError) as caught:
        await prepare_launch(RunRequest(prompt="hi"), nowhere)
    assert caught.value.not_found


@pytest.mark.rule("S6")
async def test_the_binary_is_looked_up_in_the_environment_of_the_run(cli: Cli) -> None:
    request = RunRequest(prompt="hi", env={"CODEX_BINARY": str(cli.path)})
    assert (await prepare_launch(request, CodexConfig(), environ={"PATH": PATH})).binary.path == str(cli.path)


@pytest.mark.rule("S8")
async def test_a_run_that_every_release_can_do_asks_for_none(cli: Cli) -> None:
    await prepared(cli, extensions={"agent_api.session.resume.v1": {"selector": "id", "id": "0199"}})
    assert cli.asked == 0


@pytest.mark.rule("S8")
async def test_the_release_is_asked_for_once(cli: Cli) -> None:
    launches = [await prepared(cli, extensions=FORK) for _ in range(3)]
    assert [launch.options.fork for launch in launches] == [SessionSelector("0199")] * 3
    assert cli.calls.read_text() == "--version\n"


@pytest.mark.rule("S8")
async def test_a_memory_of_releases_can_be_shared(cli: Cli) -> None:
    versions = Versions(PROGRAM)
    for _ in range(2):
        config = CodexConfig(binary=str(cli.path))
        await prepare_launch(
            RunRequest(prompt="hi", extensions=FORK), config, environ={"PATH": PATH}, versions=versions
        )
    assert cli.asked == 1


@pytest.mark.rule("S8", "X2")
@pytest.mark.parametrize(
    ("release", "extensions", "advice"),
    [
        ("0.140.0", FORK, "forking a session: release 0.155.0 or newer is required, but 0.140.0 is installed."),
        ("0.43.0", FORK, "release 0.43.0 is older than 0.44.0, the first supported release."),
        (
            "0.169.0",
            {"agent_api.exec.non_interactive": False, "backend.codex.exec.approval_policy": "untrusted"},
            "approval policy 'untrusted': removed in release 0.149.0, but 0.169.0 is installed.",
        ),
        (
            "0.169.0",
            {"agent_api.session.fork.v1": {"selector": "last"}},
            "no release can fork the last session; pass the id of the session.",
        ),
    ],
)
async def test_what_the_installed_release_cannot_do_is_refused(
    tmp_path: Path, release: str, extensions: dict[str, Any], advice: str
) -> None:
    with pytest.raises(BackendError) as caught:
        await prepared(Cli(tmp_path, release), extensions=extensions)
    assert (caught.value.failure, str(caught.value), caught.value.advice) == ("invalid_request", REFUSED, advice)


@pytest.mark.rule("S8")
async def test_a_binary_that_does_not_say_its_release_is_let_through(tmp_path: Path) -> None:
    launch = await prepared(Cli(tmp_path, "of my own"), extensions=FORK)
    assert launch.argv()[-3:] == ["fork", "0199", "-"]


SESSION = {"selector": "id", "id": "01234567-89ab-7def-8123-456789abcdef"}
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "interactive": {"agent_api.exec.non_interactive": False},
    "on-request": {"agent_api.exec.non_interactive": False, "backend.codex.exec.approval_policy": "on-request"},
    "trusted": {TRUST: True},
    "read-only": {"backend.codex.exec.sandbox_mode": "read-only"},
    "no tools": {"backend.codex.tools": "none"},
    "full access": {"backend.codex.exec.sandbox_mode": "danger-full-access"},
    "everything": {
        "agent_api.config.model.v1": "mock-model",
        "agent_api.exec.add_dirs.v1": {"dirs": [".", "/"]},
        "backend.codex.output_schema": {"type": "object"},
        "backend.codex.images": ["image.png", "image.png"],
    },
}


@pytest.mark.real
@pytest.mark.rule("S1")
@without("codex", importlib.util.find_spec("codex_cli_bin") is None)
@pytest.mark.parametrize("session", ["none", "agent_api.session.resume.v1", "agent_api.session.fork.v1", "last"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_the_real_cli_takes_the_arguments(tmp_path: Path, shape: str, session: str) -> None:
    (tmp_path / "image.png").touch()
    extensions = dict(SHAPES[shape])
    if session == "last":
        extensions["agent_api.session.resume.v1"] = {"selector": "last"}
    elif session != "none":
        extensions[session] = SESSION
    home = tmp_path / "home"
    home.mkdir()
    request = RunRequest(prompt="hi", working_dir=str(tmp_path), extensions=extensions)
    launch = await prepare_launch(request, CodexConfig(codex_home=str(home)), environ={"PATH": PATH})
    shutil.rmtree(home)  # the CLI writes to it even when it only prints its release
    async with AsyncExitStack() as files:
        schema = None
        if launch.options.output_schema is not None:
            schema = await files.enter_async_context(private_file(new_mark(), "schema.json", b"{}"))
        # 2 is a usage error; with them in order it goes on to miss its home, which is 1
        done = await trio.run_process(
            launch.argv(schema),
            stdin=launch.prompt,
            env=launch.env,
            cwd=launch.cwd,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
    assert done.returncode == 1
    assert b"CODEX_HOME" in done.stderr
