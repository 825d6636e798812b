"""Test that a recording is stored once with its golden, and that equal releases refer to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.regenerate_goldens import golden

from .shelf import Expected, Shelf

pytestmark = pytest.mark.rule("R2")

ONE, OTHER = b'{"type":"turn.started"}\n', b'{"type":"turn.started"}\n{"type":"error","message":"m"}\n'


def _files(codex: Path) -> list[str]:
    return sorted(str(path.relative_to(codex)) for path in codex.rglob("*.jsonl") if path.parent != codex)


def test_a_recording_is_kept_with_its_golden_and_found_again(tmp_path: Path) -> None:
    shelf = Shelf("codex", tmp_path)
    shelf.put("0.50.0", "x", ONE, 1, None)
    shelf.save()
    again = Shelf("codex", tmp_path)
    expected = again.expected("0.50.0", "x")
    assert expected == Expected(version="0.50.0", scenario="x", returncode=1, recording="0.50.0")
    assert again.recording(expected) == ONE
    assert (tmp_path / "0.50.0" / "x.events.jsonl").read_bytes() == golden(ONE, 1)
    [row] = (tmp_path / "index.jsonl").read_text().splitlines()
    assert json.loads(row) == {"version": "0.50.0", "scenario": "x", "returncode": 1}


def test_the_same_bytes_with_the_same_status_are_kept_once(tmp_path: Path) -> None:
    shelf = Shelf("codex", tmp_path)
    shelf.put("0.50.0", "x", ONE, 0, None)
    assert shelf.put("0.60.0", "x", ONE, 0, None).recording == "0.50.0"
    assert shelf.put("0.70.0", "x", ONE, 1, None).recording == "0.70.0"
    assert _files(tmp_path) == ["0.50.0/x.events.jsonl", "0.50.0/x.jsonl", "0.70.0/x.events.jsonl", "0.70.0/x.jsonl"]


def test_a_recording_that_others_point_to_goes_to_the_newest_of_them(tmp_path: Path) -> None:
    shelf = Shelf("codex", tmp_path)
    for version in ("0.50.0", "0.60.0", "0.70.0"):
        shelf.put(version, "x", ONE, 0, None)
    shelf.put("0.50.0", "x", OTHER, 0, None)
    assert [row.recording for row in shelf.runs("0.60.0") + shelf.runs("0.70.0")] == ["0.70.0", "0.70.0"]
    assert (tmp_path / "0.50.0" / "x.jsonl").read_bytes() == OTHER
    assert (tmp_path / "0.70.0" / "x.jsonl").read_bytes() == ONE


def test_a_run_that_the_adapter_ended_has_a_reason_and_no_recording(tmp_path: Path) -> None:
    shelf = Shelf("codex", tmp_path)
    row = shelf.put("0.50.0", "x", ONE, None, "session not found")
    assert (row.returncode, row.error, row.recording, shelf.recording(row)) == (None, "session not found", None, None)
    assert _files(tmp_path) == []


def test_what_is_too_large_is_known_by_its_hash(tmp_path: Path) -> None:
    row = Shelf("codex", tmp_path).put("0.50.0", "x", ONE * 5_000, 0, None)
    assert row.recording is None
    assert row.sha256 is not None
    assert _files(tmp_path) == []


def test_what_is_forgotten_is_gone(tmp_path: Path) -> None:
    shelf = Shelf("codex", tmp_path)
    shelf.put("0.50.0", "x", ONE, 0, None)
    shelf.forget("0.50.0", ["x", "never recorded"])
    assert (shelf.runs("0.50.0"), _files(tmp_path)) == ([], [])
