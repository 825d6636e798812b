"""Measure the import of the package, in relation to the import of its dependencies."""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from typing import Final

from benchmarks.results import Ratio

__all__ = ["import_ratio"]

_TIMED: Final = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
_OURS: Final = "from codex_adapter import CodexConfig, RunRequest, open_run"
_THEIRS: Final = "import trio, msgspec"


def import_ratio(rounds: int) -> Ratio:
    """CPU time of importing what a run needs over that of `import trio, msgspec`, each in a new process, in turns.

    The start of the interpreter does not count.
    """
    _seconds(_OURS)
    ratios = [_seconds(_OURS) / _seconds(_THEIRS) for _ in range(rounds)]
    return Ratio(median(ratios), min(ratios), max(ratios))


def _seconds(statement: str) -> float:
    words = [sys.executable, "-c", _TIMED.format(statement)]
    return float(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
