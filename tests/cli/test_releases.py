"""Test what `doctor` reports about the installed release: its options and its quirks."""

from __future__ import annotations

import pytest

from codex_adapter.agents.codex.releases import RELEASES
from codex_adapter.cli.doctor.findings import release_lines
from codex_adapter.runtime.programs import Version

pytestmark = pytest.mark.rule("C4", "R1")


def test_what_a_run_can_ask_for_is_told_of_each_feature() -> None:
    assert RELEASES.features_of(Version(0, 44, 0))["forking a session"] is False
    assert RELEASES.features_of(Version(0, 169, 0))["forking a session"] is True
    assert RELEASES.features_of(Version(0, 169, 0))["approval policy 'untrusted'"] is False
    assert RELEASES.features_of(Version(0, 116, 0))["hooks"] is False
    assert RELEASES.features_of(Version(0, 125, 0))["hooks"] is True


def test_only_what_not_every_release_does_is_a_difference() -> None:
    old, new = RELEASES.differences_of(Version(0, 44, 0)), RELEASES.differences_of(Version(0, 169, 0))
    assert "sigint_is_success" in old
    assert "reconnects_for_ever" in new
    assert not {"reprints_after_reconnect", "approval_before_exec"} & (old.keys() | new.keys())


def test_both_are_told_in_lines() -> None:
    version = Version(0, 155, 0)
    lines = release_lines(RELEASES.features_of(version), RELEASES.differences_of(version))
    assert lines[0].startswith("supports: additional directories, ")
    assert lines[1] == "does not support: approval policy 'on-failure', approval policy 'untrusted'"
    assert "quirk: without a network, reconnect notices never end" in lines
    assert release_lines({"images": True}, {}) == ["supports: images"]
