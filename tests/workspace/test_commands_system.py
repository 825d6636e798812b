"""Test the directory and variables of a command, and the errors if it cannot start."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents import known_places
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.workspace import Workspace, WorkspaceError
from codex_adapter.workspace import shell as shell_module
from codex_adapter.workspace.commands import run_command
from codex_adapter.workspace.sandbox import Sandbox
from codex_adapter.workspace.shell import build_shell_call

from ..faults.leftovers import descriptors
from ..needs import without
from ..rows import rows
from .shells import Shell

SECRET = "sk-not-to-be-seen-anywhere"


@pytest.mark.rule("H10")
async def test_a_command_starts_in_its_directory(shell: Shell, root: Path) -> None:
    (root / "a" / "b c").mkdir(parents=True)
    (root / "link").symlink_to("a/b c")
    for cwd, directory in {"": root, ".": root, "a/b c": root / "a" / "b c", "link": root / "a" / "b c"}.items():
        assert await shell.output('pwd; echo "$PWD"', cwd=cwd) == f"{directory}\n{directory}\n"


@pytest.mark.rule("H8", "A10")
async def test_a_command_is_executed_by_dash_where_it_is_installed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dash = tmp_path / "dash"
    dash.write_text('#!/bin/sh\necho by dash\nexec /bin/sh "$@"\n')
    dash.chmod(0o700)
    monkeypatch.setattr(shell_module, "_DASH", (str(tmp_path / "missing"), str(dash)))
    with Workspace(root, agents=known_places()) as workspace:
        for env, by_dash in (({}, 1), ({"A": "1"}, 2)):
            result = await run_command(workspace, "echo $A", env=env, timeout=60, sandbox=None)
            assert result.stdout.text().splitlines() == ["by dash"] * by_dash + ["".join(env.values())]
        dash.chmod(0o600)
        assert (await run_command(workspace, "echo sh", timeout=60, sandbox=None)).stdout.text() == "sh\n"


@pytest.mark.rule("H10")
async def test_a_name_may_be_of_any_bytes(shell: Shell, root: Path) -> None:
    odd = os.fsdecode(b"\xff")
    (root / odd).mkdir()
    (root / "\N{SNOWMAN}").mkdir()
    (root / "odd").symlink_to(odd)
    for cwd in ("\N{SNOWMAN}", "odd"):
        assert await shell.output("touch here; ls", cwd=cwd) == "here\n"


@pytest.mark.rule("H10")
@pytest.mark.parametrize(
    ("cwd", "code"),
    [
        ("missing", "not_found"),
        ("file", "not_a_directory"),
        ("file/below", "not_a_directory"),
        ("..", "bad_name"),
        ("/", "bad_name"),
        ("out", "outside"),
        ("up", "outside"),
        ("a\0", "bad_name"),
        ("loop", "too_many_links"),
    ],
)
@pytest.mark.fault(
    "workspace",
    "The working directory is missing, outside the workspace, or not a directory",
    "The command does not start, and the error names the reason",
)
async def test_a_directory_that_is_none_of_the_workspace_is_refused(
    shell: Shell, root: Path, cwd: str, code: str
) -> None:
    (root / "file").touch()
    (root / "out").symlink_to("/etc")
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    with pytest.raises(WorkspaceError) as caught:
        await shell("touch started", cwd=cwd)
    assert (caught.value.code, caught.value.system) == (code, False)
    assert caught.value.text.startswith("Working directory: ")
    assert str(root.parent) not in caught.value.text
    assert not (root / "started").exists()


@pytest.mark.rule("H10")
@pytest.mark.fault(
    "workspace",
    "A link to outside replaces a directory while a command starts in it",
    "The command runs in neither directory",
)
async def test_a_directory_that_is_swapped_for_a_link_meanwhile_is_not_followed(bare: Shell, root: Path) -> None:
    (root / "here").mkdir()
    (root / "link").symlink_to("/etc")
    swaps = "while :; do mv -T here aside; mv -T link here; mv -T here link; mv -T aside here; done"
    places = set()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bare, swaps)
        for _ in range(40):
            try:
                places.add(await bare.output("pwd -P", cwd="here"))
            except WorkspaceError as error:
                places.add(error.code)
        nursery.cancel_scope.cancel()
    assert places <= {f"{root}/here\n", f"{root}/aside\n", "outside", "not_found"}


@pytest.mark.rule("H10")
async def test_a_workspace_that_was_moved_is_still_the_same(shell: Shell, root: Path) -> None:
    moved = root.rename(root.with_name("moved"))
    root.mkdir()
    assert await shell.output("touch here; pwd -P") == f"{moved}\n"
    assert [path.name for path in moved.iterdir()] == ["here"]
    moved.rename(root)


@pytest.mark.rule("H10", "H6")
async def test_a_workspace_that_is_gone_is_a_system_error(sandboxed: Shell, root: Path) -> None:
    root.rmdir()
    with pytest.raises(WorkspaceError) as caught:
        await sandboxed("true")
    assert (caught.value.code, caught.value.system) == ("gone", True)
    root.mkdir()


@pytest.mark.rule("H12")
@pytest.mark.fault("workspace", "The adapter's environment contains keys", "No command can read them")
async def test_a_command_has_nothing_of_the_adapters_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    printed = await shell.output("env; cat /proc/self/environ | tr '\\0' '\\n'", env={"ASKED": "for it"})
    variables = dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)
    probe = next(name for name in variables if name.startswith("PROBE_"))
    assert SECRET not in printed
    assert variables["ASKED"] == "for it"
    assert variables.keys() - {probe, "ASKED", "_"} == {
        *("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "PWD", "CODEX_ADAPTER_RUN")
    }
    environments = "cat /proc/*/environ"
    if shell.sandbox is not None:
        assert SECRET not in (await shell(environments)).stdout.text()


@pytest.mark.rule("H12")
async def test_variables_come_as_they_were_asked_for(shell: Shell) -> None:
    odd = {
        "A": "",
        "B": " a  b\n'\"$(id)`id`\\",
        "_c9": "\N{SNOWMAN}",
        "PATH": "/usr/bin:/bin",
        "HOME": "/",
        "LANG": "x",
    }
    script = 'printf "%s|" "$A" "$B" "$_c9" "$PATH" "$HOME" "$LANG"; env | grep -c CODEX_ADAPTER_ENV'
    result = await shell(script, env=odd)
    assert result.stdout.text() == "".join(f"{value}|" for value in odd.values()) + "0\n"


@pytest.mark.rule("H12")
@pytest.mark.fault(
    "workspace",
    "An environment variable makes the dynamic linker load a library",
    "The command has it; no process of the adapter does",
)
async def test_a_variable_reaches_no_process_but_the_command(held: Shell, root: Path) -> None:
    await held("true")
    before = held.containment._ways[:]
    result = await held('echo "$LD_PRELOAD"', env={"LD_PRELOAD": str(root / "none.so"), "LD_LIBRARY_PATH": str(root)})
    # The linker complains on behalf of the shell alone, once.
    assert result.stdout.text() == f"{root}/none.so\n"
    assert result.stderr.text().count("none.so") == 1
    assert held.containment._ways == before


@pytest.mark.rule("H12")
@rows(
    ("name", "value", "code"),
    [
        ("", "x", "bad_name"),
        ("1A", "x", "bad_name"),
        ("A B", "x", "bad_name"),
        ("A=B", "x", "bad_name"),
        ("A\n", "x", "bad_name"),
        ("\N{LATIN CAPITAL LETTER A WITH DIAERESIS}", "x", "bad_name"),
        ("A", f"{SECRET}\0", "bad_name"),
        ("A", f"{SECRET}\ud800", "bad_name"),
        ("A", SECRET * 10_000, "too_large"),
        ("CODEX_ADAPTER_RUN", SECRET, "bad_name"),
        ("CODEX_ADAPTER_ENV_0", SECRET, "bad_name"),
    ],
)
def test_a_variable_that_cannot_be_set_is_refused_and_its_value_not_told(name: str, value: str, code: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        build_shell_call("true", {"FINE": "x", name: value}, environ={}, directory="/")
    assert (caught.value.code, caught.value.system) == (code, False)
    assert SECRET not in str(caught.value)


@pytest.mark.rule("H12")
@pytest.mark.parametrize(
    ("command", "code"), [("a\0", "bad_name"), ("\udfff", "bad_name"), ("x" * 140_000, "too_large")]
)
async def test_a_command_that_cannot_be_passed_on_is_refused(shell: Shell, command: str, code: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        await shell(command)
    assert (caught.value.code, caught.value.system) == (code, False)


@pytest.mark.rule("H12")
async def test_the_longest_command_and_the_longest_variable_are_passed_on(shell: Shell) -> None:
    command = ": " + "x" * (131_071 - 2)
    assert await shell.output(command) == ""
    assert await shell.output("echo ${#A}", env={"A": "x" * (131_071 - 64)}) == f"{131_071 - 64}\n"


@pytest.mark.rule("H12", "N1")
@pytest.mark.fault(
    "workspace",
    "The variables together exceed the limit of the system",
    "The call raises a clear error; the next command is contained as before",
)
async def test_variables_that_are_too_long_in_all_are_refused(shell: Shell) -> None:
    await shell("true")
    level = shell.containment.level
    with pytest.raises(WorkspaceError) as caught:
        await shell("true", env={f"A{number}": "x" * 130_000 for number in range(60)})
    assert (caught.value.code, caught.value.system) == ("too_large", False)
    await shell("true")
    assert shell.containment.level == level


@pytest.mark.rule("H12")
@given(name=st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True), value=st.text(max_size=50))
def test_no_value_stands_among_the_arguments(name: str, value: str) -> None:
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        return
    call = build_shell_call("true", {name: SECRET + value}, environ={}, directory="/")
    assert all(SECRET not in argument for argument in call.argv)


@pytest.mark.rule("H12")
def test_without_a_path_there_is_a_sensible_one() -> None:
    assert "/usr/bin" in build_shell_call("true", {}, environ={}, directory="/").env["PATH"].split(":")


@pytest.mark.rule("N4", "H12")
def test_a_command_of_a_run_keeps_the_mark_of_that_run() -> None:
    call = build_shell_call("true", {}, environ={"CODEX_ADAPTER_RUN": "outer"}, directory="/")
    assert call.env["CODEX_ADAPTER_RUN"] == "outer"


@pytest.mark.rule("H6", "H8")
@pytest.mark.fault(
    "workspace", "No descriptors are left", "The call raises a system error and leaves no open file or process"
)
async def test_a_shortage_of_descriptors_is_a_system_error(shell: Shell) -> None:
    await shell("true")
    level = shell.containment.level
    before = descriptors()
    codes = []
    for spare in range(25):
        with _descriptors(spare):
            try:
                codes.append(str((await shell("true")).exit_code))
            except WorkspaceError as error:
                assert error.system  # noqa: PT017
                codes.append(error.code)
        assert descriptors() == before
    assert set(codes) == {"exhausted", "0"}
    assert codes == sorted(codes, reverse=True)
    assert (await shell("true")).exit_code == 0
    assert shell.containment.level == level


@contextmanager
def _descriptors(spare: int) -> Iterator[None]:
    """This process can open so many more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(spare):
            os.close(taken.pop())
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.rule("H6", "H13")
@pytest.mark.parametrize("program", ["/no/such/program", "/bin/false", "/bin/true"])
@pytest.mark.fault(
    "workspace", "The sandbox setup fails", "The call raises a system error instead of returning a command result"
)
async def test_a_sandbox_that_fails_is_a_system_error(workspace: Workspace, program: str) -> None:
    with pytest.raises(WorkspaceError) as caught:
        await run_command(
            workspace,
            "true",
            timeout=60,
            sandbox=Sandbox(program, frozenset()),
            containment=Containment(allowed=("process_group",)),
        )
    assert (caught.value.code, caught.value.system) == ("io", True)


@pytest.mark.rule("H6", "H10")
@without("user", os.geteuid() == 0)
async def test_a_directory_that_must_not_be_entered_is_denied(shell: Shell, root: Path) -> None:
    (root / "closed").mkdir(0o000)
    with pytest.raises(WorkspaceError) as caught:
        await shell("true", cwd="closed")
    assert caught.value.code == "denied"
