"""Execute `codex-adapter doctor --probe`: report which promises hold with the installed program (C8)."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from codex_adapter import InvalidRequestError
from codex_adapter.cli.agent_options import program_config, the_agent
from codex_adapter.cli.doctor.findings import finding_lines, printable_findings
from codex_adapter.cli.errors import UsageError
from codex_adapter.cli.output import Output
from codex_adapter.cli.present.lines import printable
from codex_adapter.cli.present.views import is_for_a_program
from codex_adapter.cli.signals import StopSignals
from codex_adapter.findings import Finding, Verdict
from codex_adapter.own_directories import remove_tree

__all__ = ["Summary", "probe"]

_SIGNS: Final = {"holds": "ok  ", "broken": "FAIL", "not_probed": "note"}


class _FindingRecord(Finding, frozen=True, tag_field="type", tag="finding"):
    """A finding as a record."""


class Summary(msgspec.Struct, frozen=True, tag_field="type", tag="summary"):
    """The last record: `ok` if no promise is broken, and the number of promises in each state."""

    ok: bool
    release: str | None
    holds: int = 0
    broken: int = 0
    not_probed: int = 0
    seconds: float = 0.0


_Record: TypeAlias = _FindingRecord | Verdict | Summary


async def probe(options: argparse.Namespace, output: Output, stop: StopSignals) -> int:
    """Run all probes with the program that a run would execute. Return 0 if no promise is broken, else 1 (C8).

    Raise `UsageError`.
    """
    agent = the_agent(options)
    homes = [option.attribute for option in agent.options if option.place == "home"]
    for name in ("json", "orphans", *homes):
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')} and --probe exclude each other. Use one of them")
    encode = _lines if is_for_a_program(options.format, output) else _text
    states: Counter[str] = Counter()
    summary = None

    async def report(records: Sequence[Finding | Verdict]) -> None:
        findings = printable_findings([record for record in records if isinstance(record, Finding)], agent)
        verdicts = [record for record in records if isinstance(record, Verdict)]
        states.update([*(finding.state for finding in findings), *(verdict.state for verdict in verdicts)])
        await output.write(
            encode([*(_FindingRecord(*msgspec.structs.astuple(finding)) for finding in findings), *verdicts])
        )

    with stop.interrupting(), _make_directory() as root:
        began = time.monotonic()
        try:
            release = await agent.probe(program_config(options, agent), root, report)
        except InvalidRequestError as error:
            raise UsageError(str(error).rstrip(".")) from None
        counts = {state: states[state] for state in _SIGNS}
        seconds = round(time.monotonic() - began, 1) if any(counts.values()) else 0.0
        summary = Summary(ok=not states["broken"] and not states["failed"], release=release, seconds=seconds, **counts)
    if summary is None:
        return stop.exit_status or 1
    await output.write(encode([summary]))
    return 0 if summary.ok else 1


@contextmanager
def _make_directory() -> Iterator[Path]:
    try:
        root = tempfile.mkdtemp(prefix="codex-adapter-probe-")
    except OSError:
        raise UsageError("The temporary directory is not writable. Set TMPDIR to another directory") from None
    try:
        yield Path(root)
    finally:
        with suppress(OSError):
            remove_tree(root)


def _lines(records: Sequence[_Record]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def _text(records: Sequence[_Record]) -> bytes:
    return "".join(f"{line}\n" for record in records for line in _record_lines(record)).encode()


def _record_lines(record: _Record) -> list[str]:
    match record:
        case Verdict(rule=rule, promise=promise, state=state, detail=detail):
            lines = [f"{_SIGNS[state]} {rule} {promise}" + (": not probed" if state == "not_probed" else "")]
            return lines if detail is None else [*lines, f"     {printable(detail)}"]
        case Summary(ok=ok, holds=holds, broken=broken, not_probed=not_probed, seconds=seconds):
            if not holds + broken + not_probed:
                return ["Nothing was probed."]
            counts = f"{holds} hold, {broken} broken, {not_probed} not probed ({seconds:.1f} s)."
            return [counts, "The promises hold with this agent CLI." if ok else "This agent CLI breaks promises."]
    return finding_lines(record)
