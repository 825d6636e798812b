"""`codex-adapter doctor --probe`: which promises of the adapter hold with this very binary, told one by one (C8)."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import trio

from codex_adapter import CodexConfig
from codex_adapter.agents.codex.command import merge_environment
from codex_adapter.agents.codex.probes import PROBES, Evidence, Verdict, judge, judge_all, perform
from codex_adapter.cli.doctor.installed import Finding, Installed, examine_binary, finding_lines
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.narration import printable
from codex_adapter.cli.present.views import is_for_a_program
from codex_adapter.cli.signals import StopSignals

__all__ = ["Summary", "probe"]

_AT_ONCE: Final = 4
_RUN_SECONDS: Final = 10.0
_SECONDS: Final = 25.0
"""For all probes together; to end those that are under way takes some seconds more."""
_SIGNS: Final = {"holds": "ok  ", "broken": "FAIL", "not_probed": "note"}
_ALONE: Final = ("json", "orphans", "codex_home")


class _Found(Finding, frozen=True, tag_field="type", tag="finding"):
    """A finding as a record."""


class Summary(msgspec.Struct, frozen=True, tag_field="type", tag="summary"):
    """The last record: `ok` when no promise is broken; counts of promises by how it stands with them."""

    ok: bool
    release: str | None
    holds: int = 0
    broken: int = 0
    not_probed: int = 0
    seconds: float = 0.0


_Record: TypeAlias = _Found | Verdict | Summary
_Tell: TypeAlias = Callable[[Sequence[_Record]], Awaitable[object]]


async def probe(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    """Put the CLI that a run would execute through all probes; 0 when no promise is broken, else 1 (C8).

    Raises `UsageError`.
    """
    for name in _ALONE:
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')}: does not go with --probe")
    encode = _lines if is_for_a_program(options.format, output) else _text
    summary = None
    with stop.interrupting():
        config = CodexConfig(binary=options.codex)
        installed = await examine_binary(config, merge_environment(os.environ, config, {}))
        await output.write(encode([_Found(*msgspec.structs.astuple(finding)) for finding in installed.findings]))
        if any(finding.state == "failed" for finding in installed.findings):
            summary = _summary(installed, ok=False)
        else:
            summary = await _probed(installed, lambda records: output.write(encode(records)))
    if summary is None:
        return stop.exit_status or 1
    await output.write(encode([summary]))
    return 0 if summary.ok else 1


async def _probed(installed: Installed, tell: _Tell) -> Summary:
    """Perform the probes, and tell their verdicts in the order of the table, each as soon as it is its turn."""
    began = time.monotonic()
    counts: Counter[str] = Counter()
    with _place() as root:
        work = _Work(installed, root)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work.perform_all)
            for one in PROBES:
                await work.done[one.name].wait()
                verdicts = list(judge(one, work.evidence.get(one.name), installed.release))
                counts.update(verdict.state for verdict in verdicts)
                await tell(verdicts)
    verdicts = list(judge_all(list(work.evidence.values())))
    counts.update(verdict.state for verdict in verdicts)
    await tell(verdicts)
    return _summary(installed, ok=not counts["broken"], **counts, seconds=round(time.monotonic() - began, 1))


def _summary(installed: Installed, *, ok: bool, **counts: float) -> Summary:
    release = None if installed.release is None else str(installed.release)
    return msgspec.convert({"type": "summary", "ok": ok, "release": release, **counts}, Summary)


class _Work:
    """The probes under way, a few at once; `done` tells of each that its evidence is there, or never will be."""

    def __init__(self, installed: Installed, root: Path) -> None:
        self.evidence: dict[str, Evidence] = {}
        self.done = {one.name: trio.Event() for one in PROBES}
        self._pending = iter(enumerate(PROBES))
        self._installed = installed
        self._root = root

    async def perform_all(self) -> None:
        with trio.move_on_after(_SECONDS):
            async with trio.open_nursery() as nursery:
                for _ in range(_AT_ONCE):
                    nursery.start_soon(self._perform_pending)
        for event in self.done.values():
            event.set()

    async def _perform_pending(self) -> None:
        binary = self._installed.binary
        for number, one in self._pending:
            self.evidence[one.name] = await perform(
                one,
                self._root / str(number),
                binary=binary.path if binary is not None else None,
                release=self._installed.release,
                seconds=_RUN_SECONDS,
            )
            self.done[one.name].set()


@contextmanager
def _place() -> Iterator[Path]:
    try:
        root = tempfile.mkdtemp(prefix="codex-adapter-probe-")
    except OSError:
        raise UsageError("the temporary directory cannot be written to; name another one in TMPDIR") from None
    try:
        yield Path(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _lines(records: Sequence[_Record]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def _text(records: Sequence[_Record]) -> bytes:
    lines = [line for record in records for line in _told(record)]
    return "".join(f"{line}\n" for line in lines).encode()


def _told(record: _Record) -> list[str]:
    match record:
        case Verdict(rule=rule, promise=promise, state=state, detail=detail):
            lines = [f"{_SIGNS[state]} {rule} {promise}" + (": not probed" if state == "not_probed" else "")]
            return lines if detail is None else [*lines, f"     {printable(detail)}"]
        case Summary(ok=ok, holds=holds, broken=broken, not_probed=not_probed, seconds=seconds):
            if not holds + broken + not_probed:
                return ["Nothing was probed."]
            counts = f"{holds} hold, {broken} broken, {not_probed} not probed ({seconds:.1f} s)."
            return [counts, "The promises hold with this CLI." if ok else "This CLI breaks promises of the adapter."]
    return finding_lines(record)
