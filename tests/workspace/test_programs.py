"""Test child programs with pipes: contained like commands, and ended with the block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from codex_adapter.runtime.containment.containment import Containment, Level
from codex_adapter.workspace import WorkspaceError, open_program

from ..faults.leftovers import descriptors
from ..runtime.survivors import Survivors

SECRET = "sk-not-to-be-seen-anywhere"


@pytest.fixture
def env(survivors: Survivors) -> Iterator[dict[str, str]]:
    """Variables by which what is left is found: nothing, and no open descriptor."""
    before = descriptors().keys()
    yield survivors.env
    assert survivors.now() == []
    assert descriptors().keys() == before


async def _rest(stream: trio.abc.ReceiveStream) -> bytes:
    return b"".join([bytes(data) async for data in stream])


@pytest.mark.rule("H8")
async def test_a_program_is_talked_to_by_its_pipes(env: dict[str, str], level: Level) -> None:
    containment = Containment(allowed=(level,))
    async with open_program(["cat"], env=env, containment=containment) as program:
        for said in (b"a\n", b"\0\xff"):
            await program.stdin.send_all(said)
            assert await program.stdout.receive_some(100) == said
        await program.stdin.aclose()
        assert await program.stdout.receive_some(100) == b""
    assert containment.level == level


@pytest.mark.rule("H8")
async def test_a_program_has_three_descriptors_and_its_complaints_go_nowhere(env: dict[str, str]) -> None:
    script = "seq 100000 >&2; ls /proc/$$/fd; readlink /proc/$$/fd/2"
    async with open_program(["sh", "-c", script], env=env) as program:
        assert (await _rest(program.stdout)).decode().split() == ["0", "1", "2", "/dev/null"]


@pytest.mark.rule("H8")
async def test_arguments_arrive_as_they_are(env: dict[str, str]) -> None:
    odd = ["a b", "", "$HOME `id` 'x'", "\N{SNOWMAN}\n", "-n", "*"]
    async with open_program(["printf", r"%s\0", *odd], env=env) as program:
        assert (await _rest(program.stdout)).decode().split("\0")[:-1] == odd


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    "script",
    [
        "exec sleep 61",
        "trap '' TERM INT HUP PIPE; while :; do sleep 61; done",
        "yes",
        "exec >&- <&-; sleep 61",
        "(setsid sh -c 'sleep 61 & exec sleep 62' &); exec sleep 63",
        "(cd /; exec env -i sleep 61) & exit",
        "(while :; do sleep 61 & sleep 0.01; done) & sleep 61",
        "kill -STOP $$",
    ],
)
@pytest.mark.fault(
    "workspace",
    "A child program of the adapter leaves processes, ignores signals or never reads",
    "No process survives the end of the block",
)
async def test_nothing_outlives_the_body(
    env: dict[str, str], survivors: Survivors, root: Path, level: Level, script: str
) -> None:
    containment = Containment(allowed=(level,))
    argv = ["sh", "-c", f"echo up; {script}"]
    with trio.move_on_after(60) as scope:
        async with open_program(argv, env=env, cwd=str(root), containment=containment) as program:
            assert await program.stdout.receive_some(3) == b"up\n"
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert survivors.now() == []


@pytest.mark.rule("H8")
async def test_an_error_in_the_body_comes_out_as_it_is(env: dict[str, str]) -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_program(["cat"], env=env):
            raise ZeroDivisionError


@pytest.mark.rule("H12")
async def test_a_program_has_its_variables_and_nothing_of_the_adapters(
    env: dict[str, str], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    script = "import json, os, sys; print(json.dumps([os.getcwd(), dict(os.environ)]))"
    own = {"A": "", "LD_PRELOAD": "/none.so", "LANG": "x"}
    async with open_program(["python3", "-I", "-c", script], env=env | own, cwd=str(root)) as program:
        directory, found = json.loads(await _rest(program.stdout))
    assert directory == str(root)
    assert (env | own).items() <= found.items()
    assert SECRET not in found.values()


@pytest.mark.rule("H8")
async def test_a_program_that_is_not_there_ends_at_once(env: dict[str, str]) -> None:
    async with open_program(["no-such-program-at-all"], env=env) as program:
        assert await _rest(program.stdout) == b""


@pytest.mark.rule("H6", "H8", "H12")
@pytest.mark.parametrize(
    ("argv", "cwd", "more", "code"),
    [
        (["true"], "/no/such/directory", {}, "io"),
        (["true"], "/etc/passwd", {}, "io"),
        (["true"], "\0", {}, "bad_name"),
        (["true"], "\ud800", {}, "bad_name"),
        (["a\0"], None, {}, "bad_name"),
        (["true", "x" * 140_000], None, {}, "too_large"),
        (["true"], None, {"A-B": SECRET}, "bad_name"),
        (["true"], None, {"A": f"{SECRET}\0"}, "bad_name"),
        (["true"], None, {f"A{number}": "x" * 130_000 for number in range(60)}, "io"),
    ],
)
async def test_what_cannot_be_started_is_told(
    env: dict[str, str], argv: list[str], cwd: str | None, more: dict[str, str], code: str
) -> None:
    with pytest.raises(WorkspaceError) as caught:
        async with open_program(argv, env=env | more, cwd=cwd):
            pass
    assert caught.value.code == code
    assert SECRET not in str(caught.value)


@pytest.mark.rule("H8")
async def test_a_level_that_is_not_to_be_had_is_told(env: dict[str, str]) -> None:
    with pytest.raises(WorkspaceError) as caught:
        async with open_program(["true"], env=env, containment=Containment(allowed=())):
            pass
    assert caught.value.code == "io"
