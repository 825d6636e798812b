"""Play `kills_points.py`: a session dies at each of its writes and another process resumes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.rule("I12", "I13", "I14")

ROOT = Path(__file__).parents[3]


@pytest.mark.fault(
    "workspace",
    "A mailbox process dies before or after any write, rename or removal",
    "The next process produces the same results and outbox and reports the interrupted command",
)
def test_at_whichever_write_it_dies_another_one_goes_on() -> None:
    assert _deaths("--every", "24") > 7


@pytest.mark.nightly
def test_at_whichever_write_of_all_it_dies_another_one_goes_on() -> None:
    assert _deaths() > 100


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_whoever_goes_on_may_die_too(seed: int) -> None:
    assert _deaths("--again", str(seed)) > 100


def _deaths(*options: str) -> int:
    """How many there were."""
    words = [sys.executable, "-m", "tests.protocols.mailbox.kills_points", *options]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return int(json.loads(done.stdout)["deaths"])
