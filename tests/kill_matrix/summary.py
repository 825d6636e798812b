"""Summarize the matrix as a table of clean, excused, skipped and failed runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .cells import Result

__all__ = ["summary"]

COLUMNS = ("clean", "excused", "skipped", "failed")


def summary(results: Iterable[Result]) -> str:
    """The table, the reasons of what was excused or skipped, and the failures."""
    results = list(results)
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    slowest: dict[tuple[str, str, str], float] = {}
    reasons: Counter[str] = Counter()
    for result in results:
        key = (result.cell.scenario.name, result.cell.level, result.cell.mode)
        counts.setdefault(key, Counter())[result.verdict] += 1
        slowest[key] = max(slowest.get(key, 0.0), result.seconds if result.verdict == "clean" else 0.0)
        if result.verdict in ("excused", "skipped"):
            reasons[f"{result.verdict}: {result.cell.level}: {result.reason}"] += 1
    lines = [f"{'scenario':40} {'level':14} {'mode':20}   run " + " ".join(f"{c:>7}" for c in COLUMNS) + "  gone after"]
    for key, count in counts.items():
        run = sum(count.values()) - count["skipped"]
        cells = " ".join(f"{count[column] or '-':>7}" for column in COLUMNS)
        lines.append(f"{key[0]:40} {key[1]:14} {key[2]:20} {run:>5} {cells}  {slowest[key]:.2f} s")
    total: Counter[str] = Counter(result.verdict for result in results)
    lines += ["", *(f"{count:>5} {reason}" for reason, count in sorted(reasons.items())), ""]
    lines += [f"failed: {result.reason}\n    {result.cell.command}" for result in results if result.verdict == "failed"]
    run = len(results) - total["skipped"]
    lines.append(f"{run} run: " + ", ".join(f"{total[column]} {column}" for column in COLUMNS))
    return "\n".join(lines)
