"""Test real child processes: pipes, prompts, floods, environment and failed starts."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
import trio

from codex_adapter import BackendError, CodexConfig, Completion, RunRequest, SpawnError, collect, open_run
from codex_adapter.testing import (
    Exit,
    Fill,
    ReadPrompt,
    Repeat,
    WaitFor,
    WriteFacts,
    WriteFile,
    WriteStderr,
    read_facts,
)

from .agents import WHOLE_TURN, config


@pytest.mark.rule("S3", "S4", "S5")
async def test_the_agent_gets_prompt_directory_and_environment_as_asked(tmp_path: Path) -> None:
    prompt = "  déjà vu\n\t“quoted” \U0001f600\r\n  "
    request = RunRequest(prompt=prompt, env={"OURS": "1"})
    before = dict(os.environ)
    completion = await collect(request, config=config(tmp_path, ReadPrompt(), WriteFacts("facts.json"), *WHOLE_TURN))
    facts = read_facts(tmp_path / "facts.json")
    assert completion.final_text == "done"
    assert facts.prompt == prompt
    assert facts.cwd == str(tmp_path)
    assert facts.env["OURS"] == "1"
    assert facts.env["RUST_LOG"] == os.environ.get("RUST_LOG", "error")
    assert not any(prompt.strip() in value for value in [*facts.argv, *facts.env.values()])
    assert dict(os.environ) == before


@pytest.mark.rule("S5")
async def test_runs_at_once_do_not_see_each_others_environment(tmp_path: Path) -> None:
    async def one(name: str) -> None:
        folder = tmp_path / name
        await collect(
            RunRequest(prompt="x", env={f"ONLY_{name}": name}), config=config(folder, WriteFacts("facts.json"))
        )

    async with trio.open_nursery() as nursery:
        for name in "ABC":
            (tmp_path / name).mkdir()
            nursery.start_soon(one, name)
    for name in "ABC":
        env = read_facts(tmp_path / name / "facts.json").env
        assert [key for key in env if key.startswith("ONLY_")] == [f"ONLY_{name}"]


@pytest.mark.rule("S3", "S7")
async def test_the_agent_inherits_no_descriptor_but_its_three(tmp_path: Path) -> None:
    leak = os.open("/dev/null", os.O_RDONLY)
    try:
        os.set_inheritable(leak, True)
        await collect(RunRequest(prompt="x"), config=config(tmp_path, WriteFacts("facts.json")))
    finally:
        os.close(leak)
    facts = read_facts(tmp_path / "facts.json")
    assert facts.open_files == [0, 1, 2]
    assert facts.blocked == []
    assert facts.session == facts.pid


@pytest.mark.rule("S3")
async def test_a_child_that_prints_much_before_it_reads_much_does_not_deadlock(tmp_path: Path) -> None:
    flood = Repeat('{"type":"item.completed","item":{"id":"i","type":"reasoning","text":"' + "x" * 1000 + '"}}', 10_000)
    steps = [flood, ReadPrompt(), WriteFacts("facts.json"), *WHOLE_TURN]
    prompt = "p" * 1024 * 1024
    with trio.fail_after(60):
        completion = await collect(RunRequest(prompt=prompt), config=config(tmp_path, *steps))
    assert completion.final_text == "done"
    assert read_facts(tmp_path / "facts.json").prompt == prompt


@pytest.mark.rule("S3")
async def test_a_child_that_never_reads_its_prompt_is_no_error(tmp_path: Path) -> None:
    with trio.fail_after(60):
        completion = await collect(RunRequest(prompt="p" * 1024 * 1024), config=config(tmp_path, *WHOLE_TURN))
    assert completion.final_text == "done"
    assert completion.status.success


@pytest.mark.rule("S7")
async def test_a_flood_on_stderr_is_drained_and_shown_nowhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    steps = [WriteStderr("sekrit-on-stderr\n", 64 * 1024 * 1024), *WHOLE_TURN, Exit(3)]
    with trio.fail_after(60):
        async with open_run(RunRequest(prompt="x"), config=config(tmp_path, *steps)) as run:
            events = [event async for event in run.events]
            completion = await run.wait_completed()
    assert events[-1].message == "codex exited non-zero: exit status: 3 (stderr redacted)"
    assert "sekrit" not in repr(events) + repr(completion)
    assert capfd.readouterr() == ("", "")


@pytest.mark.rule("S3", "S7")
@pytest.mark.fault(
    "spawning", "An agent fills its stderr before it reads a long prompt", "Both streams continue without a deadlock"
)
async def test_the_prompt_and_the_errors_flow_at_the_same_time(tmp_path: Path) -> None:
    steps = [WriteStderr("error\n", 1024 * 1024), ReadPrompt(), *WHOLE_TURN]
    with trio.fail_after(60):
        completion = await collect(RunRequest(prompt="x" * 1024 * 1024), config=config(tmp_path, *steps))
    assert completion.final_text == "done"


@pytest.mark.rule("D1")
async def test_an_event_is_there_before_the_agent_goes_on(tmp_path: Path) -> None:
    steps = [*WHOLE_TURN[:2], WaitFor("go"), *WHOLE_TURN[2:]]
    async with open_run(RunRequest(prompt="x"), config=config(tmp_path, *steps)) as run:
        first = await run.events.receive()
        (tmp_path / "go").touch()
        rest = [event.kind async for event in run.events]
        await run.wait_completed()
    assert first.kind == "status"
    assert rest == ["status", "text_output", "status"]


@pytest.mark.rule("D4")
async def test_a_run_whose_consumer_sleeps_holds_its_child_and_no_other_run(tmp_path: Path) -> None:
    flood = [*WHOLE_TURN[:2], Repeat('{"type":"turn.started"}', 50_000), WriteFile("flooded", "yes"), *WHOLE_TURN[2:]]
    quick = tmp_path / "quick"
    quick.mkdir()
    async with open_run(RunRequest(prompt="x"), config=config(tmp_path, *flood)) as slow:
        await slow.events.receive()
        assert (await collect(RunRequest(prompt="x"), config=config(quick, *WHOLE_TURN))).status.success
        assert not (tmp_path / "flooded").exists()
        count = 1
        async for _ in slow.events:
            count += 1
        assert (await slow.wait_completed()).final_text == "done"
    assert count == 50_004


@pytest.mark.rule("S6", "X2")
@pytest.mark.parametrize("content", [None, b"\x7fELFnonsense", b"#!/no/such/interpreter\n"])
async def test_a_binary_that_cannot_run_is_a_spawn_error(tmp_path: Path, content: bytes | None) -> None:
    binary = tmp_path / "codex"
    if content is not None:
        binary.write_bytes(content)
        binary.chmod(0o755)
    with pytest.raises(SpawnError, match=r"\Acodex backend error: spawn \(details redacted when unsafe\)\Z"):
        await collect(RunRequest(prompt="x"), config=CodexConfig(binary=str(binary)))


@pytest.mark.rule("X2")
async def test_descriptors_running_out_is_a_spawn_error_and_leaks_none(tmp_path: Path) -> None:
    settings = config(tmp_path, *WHOLE_TURN)
    assert (await collect(RunRequest(prompt="x"), config=settings)).status.success
    before = sorted(entry.name for entry in Path("/proc/self/fd").iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(fd) for fd in before)
    for spare in range(12):
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + spare, hard))
        try:
            completion: Completion | None = await collect(RunRequest(prompt="x"), config=settings)
        except BackendError as error:
            completion = None
            assert error.failure in {"spawn", "io"}  # noqa: PT017 - some limits are high enough
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert completion is None or completion.status.success
    assert sorted(entry.name for entry in Path("/proc/self/fd").iterdir()) == before


@pytest.mark.rule("L2")
async def test_one_endless_line_is_one_error_in_bounded_memory(tmp_path: Path) -> None:
    steps = [*WHOLE_TURN[:2], Fill(64 * 1024 * 1024, "{", "}\n"), *WHOLE_TURN[2:]]
    async with open_run(RunRequest(prompt="x"), config=config(tmp_path, *steps)) as run:
        messages = [event.message async for event in run.events if event.kind == "error"]
        assert (await run.wait_completed()).final_text == "done"
    size = 64 * 1024 * 1024 + 2
    limit = 16 * 1024 * 1024
    assert messages == [f"codex stream parse error (redacted): line longer than {limit} bytes (line_bytes={size})"]


@pytest.mark.rule("K4", "N4")
async def test_a_run_inside_a_run_carries_the_marks_of_both(tmp_path: Path) -> None:
    request = RunRequest(prompt="x", env={"CODEX_ADAPTER_RUN": "outer"})
    await collect(request, config=config(tmp_path, WriteFacts("facts.json")))
    outer, inner = read_facts(tmp_path / "facts.json").env["CODEX_ADAPTER_RUN"].split(":")
    adapter, *_, random = inner.split("-")
    assert outer == "outer"
    assert int(adapter) == os.getpid()
    assert len(random) == 32
