"""Generate the page on an agent's releases: the findings on each release, and the package's table for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from codex_adapter.runtime.programs import Version
from tests.regenerate_goldens import FIXTURES

from .report import Row
from .subject import Subject

__all__ = ["page_of", "read_rows", "render", "write"]

DOCS = Path(__file__).parents[2] / "docs"

_HEAD = """\
# Releases of {title}

`{command}` generates this page. Do not edit it.

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


def page_of(subject: Subject) -> Path:
    """Return the page on the releases of an agent."""
    return DOCS / subject.page


def render(subject: Subject, rows: Sequence[Row]) -> str:
    """Return the text of the page."""
    agent = "" if subject.kind == "codex" else f"--agent {subject.kind} "
    head = _HEAD.format(title=subject.title, command=f"tox -e releases -- {agent}--write")
    parts = [head, *_releases(rows), _ABILITIES.format(minimum=subject.table.minimum), *_features(subject)]
    if subject.table.needs:
        parts += [_NEEDS, *_needs(subject)]
    return "".join([*parts, _QUIRKS, *_quirks(subject)])


def read_rows(subject: Subject) -> list[Row]:
    """Return the rows that the laboratory recorded, one for each release."""
    file = _rows_file(subject)
    return msgspec.json.decode(file.read_bytes(), type=list[Row]) if file.exists() else []


def write(subject: Subject, row: Row) -> None:
    """Write a release's row in place of its last, and the page anew."""
    rows = [*(one for one in read_rows(subject) if one.version != row.version), row]
    rows.sort(key=lambda one: [int(part) for part in one.version.split(".")])
    _rows_file(subject).write_bytes(b"[\n" + b",\n".join(map(msgspec.json.encode, rows)) + b"\n]\n")
    page_of(subject).write_text(render(subject, rows))


def _rows_file(subject: Subject) -> Path:
    return FIXTURES / subject.kind / "releases.json"


def _releases(rows: Sequence[Row]) -> Iterator[str]:
    yield "| release | cases | runs | through the adapter | refused | parse errors | unknown | different | explained "
    yield "| own recordings | seconds |\n"
    yield f"|{'---|' * 11}\n"
    for row in reversed(rows):
        cells = [row.version, row.cases, row.runs, row.through_adapter, row.refused, row.parse_errors, row.unknown]
        yield _line(*cells, row.different, row.explained, row.recordings, f"{row.seconds:.0f}")


def _features(subject: Subject) -> Iterator[str]:
    yield "| asked for | since | until |\n|---|---|---|\n"
    for feature in subject.table.features:
        yield _line(feature.about, feature.since or f"{subject.table.minimum}", _last(feature.until))
    for about in subject.impossible:
        yield _line(about, "no release", "")


def _needs(subject: Subject) -> Iterator[str]:
    yield "| needed | since |\n|---|---|\n"
    for need in subject.table.needs:
        yield _line(need.about, need.since)


def _quirks(subject: Subject) -> Iterator[str]:
    yield "| quirk | since | until | seen in |\n|---|---|---|---|\n"
    for quirk in subject.table.quirks:
        seen = f"`{subject.evidence[quirk.name].scenario}`" if quirk.name in subject.evidence else ""
        yield _line(quirk.about, quirk.since or f"{subject.table.minimum}", _last(quirk.until), seen)


def _last(until: Version | None) -> str:
    return "" if until is None else f"before {until}"


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"
