"""Test that nothing survives a killed adapter in any surrounding whose level promises this."""

from __future__ import annotations

import pytest

from .levels import AT_ONCE, SURROUNDINGS, measure

pytestmark = [pytest.mark.attack, pytest.mark.rule("N1", "N2", "J11")]


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_the_table_says_is_held_is_held(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    held = measure(name, 2 * AT_ONCE, seed=1)
    assert held, capsys.readouterr().out
