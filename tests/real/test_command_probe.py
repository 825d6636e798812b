"""Test `doctor --probe` with every release: each promise holds, or is a known exception."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .releases import Release

pytestmark = [pytest.mark.real, pytest.mark.rule("C8", "R1")]

AT_MOST = 30.0


def test_no_known_release_breaks_a_promise(release: Release, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "codex_adapter", "doctor", "--probe", "--codex", str(release.binary)]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, check=False, timeout=2 * AT_MOST, env=env)
    *records, summary = [json.loads(line) for line in done.stdout.splitlines()]
    broken = {record["promise"]: record["detail"] for record in records if record.get("state") == "broken"}
    assert broken == {}
    assert (done.returncode, summary["ok"], summary["release"]) == (0, True, str(release))
    assert summary["holds"] > 25
    assert summary["seconds"] < AT_MOST
    assert list(tmp_path.iterdir()) == []
