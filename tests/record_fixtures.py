"""Records what a Codex CLI prints in every case of the catalogue: `python -m tests.record_fixtures BINARY...`.

Each binary is asked for its version; its recordings replace those in `fixtures/codex/VERSION/`. Paths, ports and times
are made the same for every machine, and the goldens are written anew. Read what has changed before it is committed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from codex_adapter.testing.catalogue import CATALOGUE
from codex_adapter.testing.recorder import Recording, record
from tests import regenerate_goldens
from tests.regenerate_goldens import CODEX

_INDEX = CODEX / "index.jsonl"
_PORT = re.compile(rb"127\.0\.0\.1:\d+")


def main() -> None:
    """Record with each binary that is named, then write the goldens."""
    parser = argparse.ArgumentParser(prog="python -m tests.record_fixtures", description=__doc__)
    parser.add_argument("binaries", nargs="+", metavar="BINARY", help="a Codex CLI, native rather than a launcher")
    parser.add_argument("--case", action="append", choices=sorted(CATALOGUE), help="only this case; repeatable")
    options = parser.parse_args()
    for binary in options.binaries:
        _record_release(str(Path(binary).absolute()), options.case or sorted(CATALOGUE))
    regenerate_goldens.main()


def _record_release(binary: str, cases: list[str]) -> None:
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    version = said.split()[-1]
    folder = CODEX / version
    folder.mkdir(exist_ok=True)
    statuses = {}
    for name in cases:
        with tempfile.TemporaryDirectory() as scratch:
            for recording in record(CATALOGUE[name], binary, scratch):
                scenario = name if recording.run in ("", name) else f"{name}.{recording.run}"
                if recording.stdout:  # what fails before its first line gives nothing to replay
                    (folder / f"{scenario}.jsonl").write_bytes(_stable(recording, scratch))
                    statuses[scenario] = recording.returncode
        sys.stdout.write(f"{version} {name}\n")
    _write_index(version, statuses)


def _stable(recording: Recording, scratch: str) -> bytes:
    """Without what is different on every machine; ids of threads stay, since nothing else has their form."""
    inside = str(Path(scratch).resolve())
    stdout = recording.stdout.replace(inside.encode(), b"/scratch").replace(scratch.encode(), b"/scratch")
    return _PORT.sub(b"127.0.0.1:8080", stdout)


def _write_index(version: str, statuses: dict[str, int]) -> None:
    rows = [json.loads(row) for row in _INDEX.read_text().splitlines()]
    kept = [row for row in rows if row["version"] != version or row["scenario"] not in statuses]
    new = [{"version": version, "scenario": name, "returncode": code} for name, code in statuses.items()]
    rows = sorted((*kept, *new), key=lambda row: ([int(part) for part in row["version"].split(".")], row["scenario"]))
    _INDEX.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


if __name__ == "__main__":
    main()
