"""Generate docs/releases.md: the findings on each release, and the package's table for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from codex_adapter.agents.codex.releases import FEATURES, MINIMUM, NEEDS, QUIRKS
from codex_adapter.runtime.programs import Version
from tests.regenerate_goldens import CODEX

from .evidence import EVIDENCE
from .report import Row

__all__ = ["PAGE", "read_rows", "render", "write"]

PAGE = Path(__file__).parents[2] / "docs" / "releases.md"
ROWS = CODEX / "releases.json"

_HEAD = """\
# Releases of the Codex CLI

`tox -e releases -- --write` generates this page. Do not edit it.

## Tested releases

Each release played the cases of the catalogue. A case runs with the adapter if the adapter can make its request. The
other cases run with the CLI alone, and their output is replayed.

| column | meaning |
|---|---|
| refused | runs that the adapter refuses, because the release does not support the request |
| different | runs that differ from their recording |
| explained | runs that differ from their recording only in known variations |
| own recordings | recordings of this release; a run with the same bytes as a run of another release has none |
| seconds | the time of the complete test, from the call of npm to the last comparison |

"""
_ABILITIES = """
## What a run can ask for

Each release from {minimum} on is supported. A request that the installed release does not support is refused before the
run.

"""
_NEEDS = """
## What a turn can need

A turn that the installed release does not support is refused before the run.

"""
_QUIRKS = """
## Other differences

The adapter works with these differences. *Seen in* is the case that shows the difference; it is checked with each
release.

"""


def render(rows: Sequence[Row]) -> str:
    """The page."""
    abilities = _ABILITIES.format(minimum=MINIMUM)
    return "".join((_HEAD, *_releases(rows), abilities, *_features(), _NEEDS, *_needs(), _QUIRKS, *_quirks()))


def read_rows() -> list[Row]:
    """What the laboratory wrote down of each release."""
    return msgspec.json.decode(ROWS.read_bytes(), type=list[Row]) if ROWS.exists() else []


def write(row: Row) -> None:
    """Write a release's row in place of its last, and the page anew."""
    rows = [*(one for one in read_rows() if one.version != row.version), row]
    rows.sort(key=lambda one: [int(part) for part in one.version.split(".")])
    ROWS.write_bytes(b"[\n" + b",\n".join(map(msgspec.json.encode, rows)) + b"\n]\n")
    PAGE.write_text(render(rows))


def _releases(rows: Sequence[Row]) -> Iterator[str]:
    yield "| release | cases | runs | through the adapter | refused | parse errors | unknown | different | explained "
    yield "| own recordings | seconds |\n"
    yield f"|{'---|' * 11}\n"
    for row in reversed(rows):
        cells = [row.version, row.cases, row.runs, row.through_adapter, row.refused, row.parse_errors, row.unknown]
        yield _line(*cells, row.different, row.explained, row.recordings, f"{row.seconds:.0f}")


def _features() -> Iterator[str]:
    yield "| asked for | since | until |\n|---|---|---|\n"
    for feature in FEATURES:
        yield _line(feature.about, feature.since or f"{MINIMUM}", _last(feature.until))
    yield _line("forking the last session", "no release", "")


def _needs() -> Iterator[str]:
    yield "| needed | since |\n|---|---|\n"
    for need in NEEDS:
        yield _line(need.about, need.since)


def _quirks() -> Iterator[str]:
    yield "| quirk | since | until | seen in |\n|---|---|---|---|\n"
    for quirk in QUIRKS:
        seen = f"`{EVIDENCE[quirk.name].scenario}`" if quirk.name in EVIDENCE else ""
        yield _line(quirk.about, quirk.since or f"{MINIMUM}", _last(quirk.until), seen)


def _last(until: Version | None) -> str:
    return "" if until is None else f"before {until}"


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"
