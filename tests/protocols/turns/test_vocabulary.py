"""Test that the code contains no vocabulary of the programs that order turns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import codex_adapter

WORDS = re.compile(r"\bCP_[A-Z]|cp_?context|control[- _]?plane|\brex\b|project_?dir|run[- _]?queue", re.IGNORECASE)


@pytest.mark.rule("U1")
def test_no_word_of_those_who_order_turns_is_in_the_package() -> None:
    root = Path(codex_adapter.__file__).parent
    found = {
        str(path.relative_to(root)): words
        for path in root.rglob("*")
        if path.suffix in (".py", ".toml", ".json") and (words := WORDS.findall(path.read_text(encoding="utf-8")))
    }
    assert found == {}
