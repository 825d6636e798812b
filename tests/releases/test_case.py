"""Test that the cases of the agents are plain data."""

from __future__ import annotations

import msgspec
import pytest

from ..rows import rows
from .case import Case
from .claude.catalogue import CATALOGUE as CLAUDE_CASES
from .pi.catalogue import CATALOGUE as PI_CASES

CASES = [*CLAUDE_CASES.values(), *PI_CASES.values()]


@pytest.mark.rule("TK4")
@rows("case", CASES, ids=lambda case: case.name)
def test_a_case_is_plain_data_with_a_sentence(case: Case) -> None:
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case) == case
    assert case.about.endswith(".")
    assert case.name.replace("_", "").isalnum()
