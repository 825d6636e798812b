"""Run pytest, then what failed once more, alone: `python -m tests.gate ARGUMENTS`, those of pytest.

A case that passes alone fails nothing, but is named in the last lines: `flaky: NAME`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

__all__ = ["failures_of", "main"]

MOST_FLAKY = 20
"""With more failures than these, something is broken, and nothing runs again."""


def failures_of(arguments: Sequence[str], cache: str) -> tuple[int, list[str]]:
    """Run pytest, which notes failures in the directory `cache`; return its status and the names of failed cases."""
    command = [sys.executable, "-P", "-m", "pytest", "-o", f"cache_dir={cache}", *arguments]
    status = subprocess.run(command, check=False).returncode
    noted = Path(cache, "v/cache/lastfailed")
    return status, list(json.loads(noted.read_text())) if noted.exists() else []


def main(arguments: Sequence[str]) -> int:
    """Return the status of pytest, or 0 if each case that failed passes alone."""
    with tempfile.TemporaryDirectory() as cache:
        status, failed = failures_of(arguments, cache)
        if status != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed) <= MOST_FLAKY:
            return status
        print(f"\nOnce more, alone: {len(failed)}", flush=True)
        status, still = failures_of([*arguments, "-n0", "--no-cov", "--last-failed"], cache)
    for name in failed:
        print(f"{'failed' if name in still else 'flaky'}: {name}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
