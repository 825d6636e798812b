"""Test that a long-lived process does not grow, with a small soak run of `benchmarks`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def soak(*words: str) -> subprocess.CompletedProcess[str]:
    """Its table and its verdict, from a process in which nothing else has been done."""
    command = [sys.executable, "-m", "benchmarks.soak", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.rule("D4", "L2")
@pytest.mark.fault("resources", "One run yields 300,000 events", "Memory, descriptors, threads and tasks do not grow")
def test_three_hundred_thousand_events_of_one_run_leave_the_process_as_it_was() -> None:
    done = soak("events", "--count", "300000")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.rule("K4", "N2")
@pytest.mark.fault(
    "resources", "Many runs follow each other, eight at a time", "No process, cgroup, descriptor or file remains"
)
@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.nightly)])
def test_many_runs_leave_the_process_as_it_was(count: int) -> None:
    done = soak("runs", "--count", str(count))
    assert done.returncode == 0, done.stdout + done.stderr
