"""`codex-adapter doctor --orphans`: what killed adapters have left running, listed or ended (C4, N5)."""

from __future__ import annotations

import msgspec

from codex_adapter.cli.present.lines import printable
from codex_adapter.runtime.containment.orphans import Orphan, end_orphans, orphans

__all__ = ["OrphanReport", "look_after_orphans", "orphans_text"]


class OrphanReport(msgspec.Struct, frozen=True):
    """What `--json` prints: the orphans that were found, and those of them that are left."""

    ok: bool
    found: list[Orphan]
    left: list[Orphan]


async def look_after_orphans(*, kill: bool) -> OrphanReport:
    """Find orphans and, if asked to, end them. The report is `ok` when none is left."""
    found = orphans()
    left = await end_orphans() if kill else found
    return OrphanReport(ok=not left, found=found, left=left)


def orphans_text(report: OrphanReport, *, kill: bool) -> bytes:
    """The report for a person."""
    left = {orphan.pid for orphan in report.left}
    lines = []
    for orphan in report.found:
        ended = "ended " if orphan.pid not in left else "alive "
        lines.append(f"{ended if kill else ''}{orphan.pid} {printable(orphan.name)}, {orphan.seconds:g} s old")
    if not report.found:
        lines.append("No process is left of a run whose adapter is gone.")
    elif report.left and not kill:
        lines.append("Left by adapters that were killed; end them with: codex-adapter doctor --orphans --kill")
    elif report.left:
        lines.append("Some are still alive: try again, or as the user that they belong to.")
    return "".join(f"{line}\n" for line in lines).encode()
