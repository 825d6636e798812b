"""Execute `codex-adapter doctor --orphans`: list or end the processes that killed adapters left (C4, N5)."""

from __future__ import annotations

import msgspec

from codex_adapter.cli.present.lines import printable
from codex_adapter.runtime.containment.orphans import Orphan, end_orphans, orphans

__all__ = ["OrphanReport", "orphans_text", "report_orphans"]


class OrphanReport(msgspec.Struct, frozen=True):
    """The output of `--json`: the orphans that were found, and the ones that are left."""

    ok: bool
    found: list[Orphan]
    left: list[Orphan]


async def report_orphans(*, kill: bool) -> OrphanReport:
    """Find orphans, and end them with `kill`. The report is `ok` if none is left."""
    found = orphans()
    left = await end_orphans() if kill else found
    return OrphanReport(ok=not left, found=found, left=left)


def orphans_text(report: OrphanReport, *, kill: bool) -> bytes:
    """Return the report as text for a person."""
    left = {orphan.pid for orphan in report.left}
    lines = []
    for orphan in report.found:
        ended = "ended " if orphan.pid not in left else "alive "
        lines.append(f"{ended if kill else ''}{orphan.pid} {printable(orphan.name)}, {orphan.seconds:g} s old")
    if not report.found:
        lines.append("No killed adapter left a process.")
    elif report.left and not kill:
        lines.append("Killed adapters left these processes. To end them, run: codex-adapter doctor --orphans --kill")
    elif report.left:
        lines.append("Some processes are still alive. Try again, or run the command as their user.")
    return "".join(f"{line}\n" for line in lines).encode()
