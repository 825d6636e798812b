"""Test that no spelling that the standard policy allows runs a command that it holds back, in any shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.judging import Allowed, judge
from codex_adapter.protocols.operations.operations import ShellOperation
from codex_adapter.protocols.operations.policy import load_policy

from ..needs import missing
from .policy_spellings import spellings
from .policy_stage import SHELLS, CanaryStage, available

pytestmark = pytest.mark.rule("A3", "A4", "A10", "A11")

LONGEST = 4096
POLICIES = [load_policy(name, agents=known_places()) for name in ("standard", "restrictive")]


def is_allowed(text: str) -> bool:
    return any(judge(policy, ShellOperation(command=text)) == Allowed() for policy in POLICIES)


def requires(shell: str) -> None:
    if not available(shell):
        missing("shells")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_few_spellings_are_held_back_or_run_nothing(shell: str, tmp_path: Path) -> None:
    requires(shell)
    stage = CanaryStage(tmp_path)
    assert stage.ran(shell, "sudo id")
    assert stage.ran(shell, "/bin/rm --r d")
    assert not stage.ran(shell, "echo sudo; rm d")
    texts = list(spellings(seed=1, count=100))
    assert [text for text in texts if is_allowed(text) and stage.ran(shell, text)] == []


@pytest.mark.attack
@pytest.mark.parametrize("shell", SHELLS)
def test_ten_thousand_spellings_are_held_back_or_run_nothing(shell: str, tmp_path: Path) -> None:
    requires(shell)
    stage = CanaryStage(tmp_path)
    texts = [text for text in spellings(seed=2, count=10_000) if len(text) <= LONGEST]
    sample = texts[:100]
    ran = sum(stage.ran(shell, text) for text in sample)
    allowed = [text for text in texts if is_allowed(text)]
    print(f"{shell}: {len(texts)} spellings, {ran} of {len(sample)} run when executed, {len(allowed)} allowed")
    assert ran > len(sample) // 3
    assert [text for text in allowed if stage.ran(shell, text)] == []
