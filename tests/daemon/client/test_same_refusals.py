"""Test that a refusal has the same type, text and attributes in this process and in a daemon."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest
import trio
from typing_extensions import override

from codex_adapter import (
    AdapterError,
    BackendError,
    CodexConfig,
    InvalidRequestError,
    RunRequest,
    SpawnError,
    UnsupportedCapabilityError,
)
from codex_adapter.daemon.client import open_daemon
from codex_adapter.runtime.backend import Backend
from codex_adapter.testing import write_agent
from tests.widths import thinned

from ...contract.test_secret_exceptions import chained, told
from ...waiting import SOON
from .transports import Daemon, InProcess, Seen, see

MODEL: Final = "agent_api.config.model.v1"
DIRS: Final = "agent_api.exec.add_dirs.v1"
SCHEMA: Final = "backend.codex.output_schema"
IMAGES: Final = "backend.codex.images"
POLICY: Final = "backend.codex.exec.approval_policy"
FORK: Final = "agent_api.session.fork.v1"
RESUME: Final = "agent_api.session.resume.v1"
LAST: Final = {"selector": "last"}


class Policy(enum.StrEnum):
    NEVER = "never"


class OddMapping(Mapping[str, str]):
    """A mapping that is no dict."""

    @override
    def __getitem__(self, key: str) -> str:
        return {"A": "b"}[key]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(["A"])

    @override
    def __len__(self) -> int:
        return 1


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["itself"] = value
    return value


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"items": value}
    return value


def extension(key: str, value: Any) -> dict[str, Any]:
    return {"extensions": {key: value}}


WRONG: Final[dict[str, dict[str, Any]]] = {
    "blank prompt": {"prompt": " \n"},
    "prompt of bytes": {"prompt": b"x"},
    "no prompt": {"prompt": None},
    "prompt with a surrogate": {"prompt": "\udcff"},
    "number as prompt": {"prompt": 5},
    "unknown key": {"extensions": {"z": 1, "a\nb": cyclic()}},
    "unknown key and a wrong value": {"extensions": {MODEL: 1, "a.b": 1}},
    "key with a surrogate": extension("\ud800", 1),
    "keys that are no strings": {"extensions": {1: 2}},
    "no extensions": {"extensions": None},
    "extensions as pairs": {"extensions": [(MODEL, "x")]},
    "model of bytes": extension(MODEL, b"gpt"),
    "model as a flag": extension(MODEL, "--yolo"),
    "number as boolean": extension("agent_api.exec.non_interactive", 1),
    "two wrong values": {"extensions": {SCHEMA: 1, DIRS: {"dirs": ["/nowhere/at/all"]}}},
    "set of directories": extension(DIRS, {"dirs": {"/tmp"}}),
    "wrong value that is not JSON": extension(DIRS, {"dirs": [object()]}),
    "NaN in a schema": extension(SCHEMA, {"minimum": float("nan")}),
    "bytes in a schema": extension(SCHEMA, {"x": b"y"}),
    "surrogate in a schema": extension(SCHEMA, {"x": "\ud800"}),
    "numbers as keys of a schema": extension(SCHEMA, {1: 2}),
    "cyclic schema": extension(SCHEMA, cyclic()),
    "schema that nests too deep": extension(SCHEMA, nested(100_000)),
    "missing image": extension(IMAGES, ["/nowhere/at/all"]),
    "contradiction": extension(POLICY, "untrusted"),
    "resume and fork": {"extensions": {RESUME: LAST, FORK: LAST}},
    "variable with an equals sign": {"env": {"A=": "x"}},
    "variable of bytes": {"env": {"A": b"x"}},
    "variable with a surrogate": {"env": {"A": "\udcff"}},
    "variable with NUL": {"env": {"A": "\0"}},
    "number as a variable's name": {"env": {1: "x"}},
    "no environment": {"env": None},
    "missing directory": {"working_dir": "/nowhere/at/all"},
    "directory as a path": {"working_dir": Path("/tmp")},
    "directory with a surrogate": {"working_dir": "/tmp/\udcff"},
    "directory before time": {"working_dir": "/nowhere/at/all", "timeout": -1},
    "negative timeout": {"timeout": -1},
    "NaN as timeout": {"timeout": float("nan")},
    "infinite timeout": {"timeout": float("inf")},
    "decimal timeout": {"timeout": Decimal(5)},
    "timeout that no float holds": {"timeout": 10**400},
    "timeout that is no number": {"timeout": "5"},
    "boolean as timeout": {"timeout": True},
    "environment before a timeout that JSON cannot say": {"timeout": float("inf"), "env": {"": "x"}},
}
RIGHT: Final[dict[str, dict[str, Any]]] = {
    "tuple of directories": extension(DIRS, {"dirs": ("/tmp",)}),
    "enumeration": extension(POLICY, Policy.NEVER),
    "mappings that are no dict": {"env": OddMapping(), "extensions": MappingProxyType({MODEL: "gpt-5"})},
    "timeout of whole seconds": {"timeout": 10**12},
    "schema that nests": extension(SCHEMA, nested(100)),
}


async def outcomes(backend: Backend, requests: dict[str, dict[str, Any]]) -> dict[str, Seen]:
    return {name: await see(backend, RunRequest(**{"prompt": "x", **fields})) for name, fields in requests.items()}


async def both(config: CodexConfig, requests: dict[str, dict[str, Any]]) -> tuple[dict[str, Seen], dict[str, Seen]]:
    async with InProcess(config) as backend:
        expected = await outcomes(backend, requests)
    async with Daemon(config) as backend:
        return expected, await outcomes(backend, requests)


@pytest.mark.rule("J15", "Q1", "Q2", "Q3", "Q4", "Q5")
async def test_a_wrong_request_is_refused_alike(tmp_path: Path) -> None:
    expected, seen = await both(CodexConfig(binary=write_agent(tmp_path, ())), WRONG)
    assert [name for name, one in expected.items() if not one.refused] == []
    assert {one.outcome["type"] for one in expected.values()} == {InvalidRequestError, UnsupportedCapabilityError}
    assert expected["unknown key"].outcome["capability"] == "a?b"
    assert seen == expected


@pytest.mark.rule("J15", "Q3")
async def test_what_is_odd_but_right_is_run_alike(tmp_path: Path) -> None:
    expected, seen = await both(CodexConfig(binary=write_agent(tmp_path, ())), RIGHT)
    assert [name for name, one in expected.items() if one.refused] == []
    assert seen == expected


@pytest.mark.rule("J15", "S6", "S8", "N3")
@pytest.mark.parametrize("name", thinned(["missing", "not executable", "no program", "too old", "no home"], 2))
async def test_an_agent_that_cannot_be_started_is_refused_alike(tmp_path: Path, name: str) -> None:
    binary, fields = tmp_path / "codex", extension(FORK, LAST)
    config = CodexConfig(binary=str(binary))
    if name == "not executable":
        binary.write_text("")
    elif name == "no program":
        binary.write_text("#!/nowhere/at/all\n")
        binary.chmod(0o755)
        fields = {}
    elif name == "too old":
        write_agent(tmp_path, (), version="0.140.0")
    elif name == "no home":
        write_agent(tmp_path, ())
        config = CodexConfig(binary=str(binary), codex_home=str(tmp_path / "home"))
    expected, seen = await both(config, {name: fields})
    outcome = expected[name].outcome
    assert expected[name].refused
    assert outcome["advice"]
    assert issubclass(outcome["type"], BackendError)
    assert (outcome["type"] is SpawnError) == (name in {"missing", "not executable", "no program"})
    assert seen == expected


@pytest.mark.rule("J15", "J1")
async def test_a_request_longer_than_a_message_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    async with Daemon(CodexConfig(binary=write_agent(tmp_path, ()))) as backend:
        seen = await see(backend, RunRequest(prompt="x" * 17 * 1024 * 1024))
        assert seen.outcome["type"] is InvalidRequestError
        assert (await see(backend, RunRequest(prompt="x" * 15 * 1024 * 1024))).outcome.status.success


@pytest.mark.rule("J15", "J7")
async def test_a_schema_of_any_depth_is_run_or_refused_but_not_waited_for(tmp_path: Path) -> None:
    seen = {}
    async with Daemon(CodexConfig(binary=write_agent(tmp_path, ()))) as backend:
        for depth in range(50, 1_100, 50):
            seen[depth] = await see(backend, RunRequest(prompt="x", **extension(SCHEMA, nested(depth))))
    refused = [one.outcome["type"] for one in seen.values() if one.refused]
    assert refused == [InvalidRequestError] * len(refused)
    assert not seen[500].refused


@pytest.mark.rule("J15", "Q5")
async def test_a_request_can_be_checked_without_a_run_as_far_as_json_goes(tmp_path: Path) -> None:
    async with Daemon(CodexConfig(binary=write_agent(tmp_path, ()))) as backend:
        await backend.check(RunRequest(prompt="x"))
        with pytest.raises(InvalidRequestError, match="timeout must be a finite number"):
            await backend.check(RunRequest(prompt="x", timeout=float("nan")))


@pytest.mark.rule("J15", "J8")
async def test_a_daemon_that_has_no_place_says_so(tmp_path: Path) -> None:
    binary = write_agent(tmp_path, ())
    with trio.fail_after(SOON):
        async with open_daemon("--codex", binary, "--max-runs", "1", "--no-queue") as backend:
            async with backend.open_run(RunRequest(prompt="x")) as run:
                with pytest.raises(BackendError) as raised:
                    await backend.open_run(RunRequest(prompt="x")).__aenter__()
                assert raised.value.failure == "other"
                assert raised.value.advice is not None
                assert "--no-queue" in raised.value.advice
                await run.events.aclose()
                assert (await run.wait_completed()).status.success


SECRET: Final = "swordfish-7f3a9b1c"


@pytest.mark.rule("J15", "X1", "X3")
async def test_no_error_shows_the_environment_of_the_request(tmp_path: Path) -> None:
    async with Daemon(CodexConfig(binary=write_agent(tmp_path, ()))) as backend:
        for fields in WRONG.values():
            env = fields.get("env", {})
            request = {"prompt": "x", **fields, "env": {"SECRET": SECRET, **env} if isinstance(env, dict) else env}
            with pytest.raises(AdapterError) as raised:
                await backend.open_run(RunRequest(**request)).__aenter__()
            assert SECRET.encode() not in b"".join(map(told, chained(raised.value)))
