"""Test that exceptions, logs and results of the library contain no word that was planted in a run."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import trio

from codex_adapter import (
    AdapterError,
    BackendError,
    CodexConfig,
    InvalidRequestError,
    RunCancelled,
    RunRequest,
    RunTimedOut,
    SpawnError,
    UnsupportedCapabilityError,
    collect,
    open_replay,
    open_run,
)
from codex_adapter.testing import (
    CloseStdout,
    Exit,
    Hang,
    PrintBytes,
    PrintText,
    ReadPrompt,
    Step,
    WriteStderr,
    write_agent,
)

from ..rows import rows
from .leaks import Canary, leaks
from .plants import PLANTS, stdout


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and all that it refers to, what `from None` hides included."""
    if error is not None:
        yield error
        yield from chained(error.__cause__)
        yield from chained(error.__context__)
        for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
            yield from chained(inner)


def told(error: BaseException) -> bytes:
    """All that one exception says of itself."""
    parts = [str(error), repr(error), repr(error.args), repr(vars(error)), *traceback.format_exception(error)]
    return "\n".join(parts).encode("utf-8", "surrogatepass")


@pytest.mark.rule("X1")
def test_the_whole_chain_is_looked_at() -> None:
    canaries = [Canary(name) for name in ("message", "attribute", "note", "cause", "context", "group")]
    words = [canary.word for canary in canaries]
    error = BackendError("other", words[0], advice=words[1])
    error.add_note(words[2])
    error.__cause__, error.__context__ = ValueError(words[3]), ExceptionGroup("several", [KeyError(words[5])])
    error.__context__.__context__ = OSError(2, "reason", words[4])
    found = leaks(b"".join(map(told, chained(error))), canaries)
    assert found == [f"{canary.name}: plain" for canary in canaries]


class Ending(NamedTuple):
    """What the agent does after all that must not be told, what that raises, and by which limits."""

    steps: tuple[Step, ...]
    raised: type[AdapterError]
    text: str
    config: dict[str, Any] = {}
    extensions: dict[str, Any] = {}


RESUMED: Final = {"agent_api.session.resume.v1": {"selector": "id", "id": "0199a213-81c0-7800-8aa1-000000000000"}}
NO_ROLLOUT: Final = WriteStderr("Error: no rollout found for thread id\n")
TIMED_OUT: Final = "codex backend error: timeout (details redacted when unsafe)"
ENDINGS: Final = {
    "timeout": Ending((Hang(),), RunTimedOut, TIMED_OUT, {"default_timeout": 0.5}),
    "idle": Ending((Hang(),), RunTimedOut, "codex stream idle timeout: 500ms", {"idle_timeout": 0.5}),
    "closed": Ending((CloseStdout(), Hang()), BackendError, "codex stream closed unexpectedly", {"exit_grace": 0.1}),
    "another session": Ending((Hang(),), BackendError, "session not found", {}, RESUMED),
    "no session": Ending((NO_ROLLOUT, Exit(1)), BackendError, "session not found", {}, RESUMED),
}


@pytest.mark.rule("X1", "X2", "F4")
@pytest.mark.parametrize("name", ENDINGS)
async def test_a_run_that_fails_tells_nothing_of_what_it_has_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    ending, prompt, stderr = ENDINGS[name], Canary("prompt"), Canary("standard error")
    canaries = {plant: Canary(plant) for plant in PLANTS}
    bad = [canary for plant, canary in canaries.items() if PLANTS[plant][0] != "always"]
    lines = b"" if name == "no session" else stdout({plant: canary.word for plant, canary in canaries.items()})
    agent = (ReadPrompt(), WriteStderr(f"{stderr.word}\n"), PrintBytes(lines), PrintText('{"x', end=""), *ending.steps)
    config = CodexConfig(binary=write_agent(tmp_path / "bin", agent), stop_timeout=1, **ending.config)
    request = RunRequest(prompt=prompt.word, extensions=ending.extensions, working_dir=str(tmp_path))
    async with open_run(request, config=config) as run:
        events = [event async for event in run.events]
        with pytest.raises(ending.raised) as raised:
            await run.wait_completed()
    errors = list(chained(raised.value))
    written = b"".join(map(told, errors)) + repr((events, run, run.events, caplog.records, caplog.text)).encode()
    assert leaks(written, [prompt, stderr, *bad]) == []
    assert events[-1].message == str(raised.value) == ending.text


@pytest.mark.rule("X1", "K3")
async def test_a_cancelled_run_tells_nothing_of_what_it_has_read(tmp_path: Path) -> None:
    canaries = {plant: Canary(plant) for plant in PLANTS}
    printed = PrintBytes(stdout({plant: canary.word for plant, canary in canaries.items()}))
    binary = write_agent(tmp_path / "bin", [ReadPrompt(), printed, Hang()])
    async with open_run(RunRequest(prompt="x"), config=CodexConfig(binary=binary, stop_timeout=1)) as run:
        await run.events.receive_batch()
        run.cancel()
        with pytest.raises(RunCancelled) as raised:
            await run.wait_completed()
    raised.value.session_id = None  # the id with which the run can be resumed; events show it, too
    assert leaks(b"".join(map(told, chained(raised.value))), canaries.values()) == []


@pytest.mark.rule("X1", "K5")
async def test_what_the_caller_raises_in_a_run_is_told_nothing_of_it(tmp_path: Path) -> None:
    canaries = {plant: Canary(plant) for plant in PLANTS}
    printed = PrintBytes(stdout({plant: canary.word for plant, canary in canaries.items()}))
    binary = write_agent(tmp_path / "bin", [ReadPrompt(), printed, Hang()])
    with pytest.raises(ZeroDivisionError) as raised:  # noqa: PT012 - the block is what it leaves
        async with open_run(RunRequest(prompt="x"), config=CodexConfig(binary=binary, stop_timeout=1)) as run:
            await run.events.receive_batch()
            raise ZeroDivisionError
    assert leaks(b"".join(map(told, chained(raised.value))), canaries.values()) == []


Fields = dict[str, Any]
REFUSED: Final[dict[str, tuple[type[AdapterError], Callable[[str], tuple[Fields, Fields]]]]] = {
    "a prompt": (InvalidRequestError, lambda word: ({"prompt": f"{word}\ud800"}, {})),
    "a directory": (InvalidRequestError, lambda word: ({"working_dir": f"/{word}"}, {})),
    "a time": (InvalidRequestError, lambda word: ({"timeout": word}, {})),
    "a variable": (InvalidRequestError, lambda word: ({"env": {f"{word}=": "x"}}, {})),
    "a variable's value": (InvalidRequestError, lambda word: ({"env": {"A": f"{word}\0"}}, {})),
    "a variable's other value": (InvalidRequestError, lambda word: ({"env": {"A": f"{word}\ud800"}}, {})),
    "a configured variable": (InvalidRequestError, lambda word: ({}, {"env": {"A": f"{word}\0"}})),
    "a configured model": (InvalidRequestError, lambda word: ({}, {"model": f"-{word}"})),
    "a name to mask": (InvalidRequestError, lambda word: ({}, {"mask": word})),
    "a home": (BackendError, lambda word: ({}, {"codex_home": f"/{word}"})),
    "a binary": (SpawnError, lambda word: ({}, {"binary": word})),
    "extensions": (InvalidRequestError, lambda word: ({"extensions": [word]}, {})),
    "an unknown key's value": (UnsupportedCapabilityError, lambda word: ({"extensions": {"a.b": word}}, {})),
    "a larger unknown key": (UnsupportedCapabilityError, lambda word: ({"extensions": {"a.b": 1, f"b.{word}": 1}}, {})),
}
KEYS: Final[dict[str, Callable[[str], Any]]] = {
    "agent_api.exec.non_interactive": str,
    "backend.codex.exec.approval_policy": str,
    "backend.codex.exec.sandbox_mode": str,
    "backend.codex.exec.trust_project": str,
    "agent_api.config.model.v1": lambda word: [word],
    "agent_api.exec.add_dirs.v1": lambda word: {"dirs": [word]},
    "agent_api.session.resume.v1": lambda word: {"selector": "id", "id": f"-{word}"},
    "agent_api.session.fork.v1": lambda word: {"selector": word, word: word},
    "backend.codex.tool_payloads": str,
    "backend.codex.output_schema": lambda word: {word: f"{word}\ud800"},
    "backend.codex.images": lambda word: [word],
    "backend.codex.tools": lambda word: word,
}


async def _raised_by(request: Fields, config: Fields) -> AdapterError:
    with pytest.raises(AdapterError) as raised:
        await collect(RunRequest(**{"prompt": "x", **request}), config=CodexConfig(**{"binary": "/bin/true", **config}))
    return raised.value


@pytest.mark.rule("Q2", "Q3", "Q5", "X1", "X2")
@rows("name", REFUSED)
async def test_a_request_that_is_refused_is_not_repeated_down_the_chain(name: str) -> None:
    kind, make = REFUSED[name]
    canary = Canary(name)
    error = await _raised_by(*make(canary.word))
    assert type(error) is kind
    assert leaks(b"".join(map(told, chained(error))), [canary]) == []


@pytest.mark.rule("Q3")
@rows("key", KEYS)
async def test_the_value_of_a_key_is_not_repeated_down_the_chain(key: str) -> None:
    canary = Canary(key)
    error = await _raised_by({"extensions": {key: KEYS[key](canary.word)}}, {})
    assert key in str(error)
    assert leaks(b"".join(map(told, chained(error))), [canary]) == []


@pytest.mark.rule("X2", "S6", "Y1")
async def test_a_path_that_cannot_be_used_is_not_told(tmp_path: Path) -> None:
    """What `from None` hides may say it, to a debugger."""
    canary = Canary("path")
    alien = tmp_path / canary.word
    alien.write_bytes(b"\x7fELF")
    alien.chmod(0o755)
    errors = [await _raised_by({}, {"binary": str(path)}) for path in (alien, alien.with_suffix(".gone"))]
    with pytest.raises(InvalidRequestError) as raised:
        async with open_replay(str(alien.with_suffix(".gone"))):
            await trio.lowlevel.checkpoint()
    assert leaks(b"".join(map(told, [*errors, raised.value])), [canary]) == []
