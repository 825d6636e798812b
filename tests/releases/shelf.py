"""Store the recordings in the repository, and find the recording for each run of a release.

A run with the same bytes and the same status as that of another release has no recording of its own and refers to the
other one. `index.jsonl` lists the recordings, and `runs.jsonl` lists every run of every release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.regenerate_goldens import FIXTURES, golden

from .subject import version_of

__all__ = ["Expected", "Shelf", "digest"]

LARGEST = 100_000
"""Bytes of a recording beyond which only its hash is kept."""


class Expected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run of a release ended when it was recorded.

    `returncode` is None where the adapter refused or ended the run, and `error` says why. `recording` is the release
    whose recording this is; where there is none, `sha256` is that of the stable form, if it was too large to keep.
    """

    version: str
    scenario: str
    returncode: int | None = None
    error: str | None = None
    recording: str | None = None
    sha256: str | None = None


class Shelf:
    """All recordings of the agent `kind`, below one directory; `save` writes the changes."""

    def __init__(self, kind: str, directory: Path | None = None) -> None:
        self._kind = kind
        self._directory = directory or FIXTURES / kind
        file = self._directory / "runs.jsonl"
        rows = file.read_bytes().splitlines() if file.exists() else []
        self._runs = {(row.version, row.scenario): row for row in (msgspec.json.decode(r, type=Expected) for r in rows)}

    def expected(self, version: str, scenario: str) -> Expected | None:
        """How this run ended before; None when it was never recorded."""
        return self._runs.get((version, scenario))

    def runs(self, version: str) -> list[Expected]:
        """All runs of a release."""
        return [row for row in self._runs.values() if row.version == version]

    def recording(self, expected: Expected) -> bytes | None:
        """What the run printed, in its stable form; None when it is not kept."""
        if expected.recording is None:
            return None
        return self._path(expected.recording, expected.scenario).read_bytes()

    def put(self, version: str, scenario: str, stdout: bytes, returncode: int | None, error: str | None) -> Expected:
        """Keep a run in place of the one before; its stdout in the stable form."""
        self._withdraw(version, scenario)
        kept: dict[str, str | None] = {}
        if returncode is not None and stdout:
            if len(stdout) > LARGEST:
                kept["sha256"] = digest(stdout)
            else:
                kept["recording"] = self._same(scenario, stdout, returncode) or version
        row = Expected(version=version, scenario=scenario, returncode=returncode, error=error, **kept)
        self._runs[version, scenario] = row
        if row.recording == version:
            self._write(version, scenario, stdout, returncode or 0)
        return row

    def forget(self, version: str, scenarios: Iterable[str]) -> None:
        """Remove runs that are no more, their recordings with them."""
        for scenario in scenarios:
            self._withdraw(version, scenario)
            self._runs.pop((version, scenario), None)

    def save(self) -> None:
        """Write both lists."""
        rows = sorted(self._runs.values(), key=lambda row: (version_of(row.version), row.scenario))
        (self._directory / "runs.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        index = [
            {"version": row.version, "scenario": row.scenario, "returncode": row.returncode}
            for row in rows
            if row.recording == row.version
        ]
        (self._directory / "index.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in index))

    def _same(self, scenario: str, stdout: bytes, returncode: int) -> str | None:
        for row in self._runs.values():
            alike = row.scenario == scenario and row.recording == row.version and row.returncode == returncode
            if alike and self._path(row.version, scenario).read_bytes() == stdout:
                return row.version
        return None

    def _withdraw(self, version: str, scenario: str) -> None:
        """Take a recording away; the newest other release that points to it gets it."""
        row = self._runs.get((version, scenario))
        if row is None or row.recording != version:
            return
        heirs = [r for r in self._runs.values() if r.recording == version and r.scenario == scenario and r != row]
        if heirs:
            heir = max(heirs, key=lambda r: version_of(r.version))
            self._write(heir.version, scenario, self._path(version, scenario).read_bytes(), heir.returncode or 0)
            for one in heirs:
                moved = msgspec.structs.replace(one, recording=heir.version)
                self._runs[one.version, scenario] = moved
        self._path(version, scenario).unlink()
        self._golden(version, scenario).unlink()
        self._runs[version, scenario] = msgspec.structs.replace(row, recording=None)

    def _write(self, version: str, scenario: str, stdout: bytes, returncode: int) -> None:
        self._path(version, scenario).parent.mkdir(parents=True, exist_ok=True)
        self._path(version, scenario).write_bytes(stdout)
        self._golden(version, scenario).write_bytes(golden(stdout, returncode, self._kind))

    def _path(self, version: str, scenario: str) -> Path:
        return self._directory / version / f"{scenario}.jsonl"

    def _golden(self, version: str, scenario: str) -> Path:
        return self._directory / version / f"{scenario}.events.jsonl"


def digest(stdout: bytes) -> str:
    """The hash that is kept of what is too large."""
    return hashlib.sha256(stdout).hexdigest()
