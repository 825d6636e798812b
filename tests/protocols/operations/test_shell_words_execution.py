"""Test that the parser finds everything that dash runs and writes in generated texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from codex_adapter.protocols.operations.shell.text import Word
from codex_adapter.protocols.operations.shell.words import ShellWords, shell_words
from tests.protocols.operations.shell_stage import Stage
from tests.protocols.operations.shell_texts import damaged, texts

pytestmark = pytest.mark.rule("A3")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("stage"))


@given(text=texts)
@settings(max_examples=100)
def test_all_that_ran_and_was_written_was_found_in_the_text(stage: Stage, text: str) -> None:
    check(stage, text)


@given(text=damaged)
@settings(max_examples=60)
def test_all_that_ran_and_was_written_was_found_in_a_text_with_a_mistake(stage: Stage, text: str) -> None:
    check(stage, text)


@pytest.mark.nightly
@given(text=damaged | texts)
@settings(max_examples=20_000)
def test_all_that_ran_and_was_written_was_found_in_very_many_texts(stage: Stage, text: str) -> None:
    check(stage, text)


def check(stage: Stage, text: str) -> None:
    found = shell_words(text)
    if found.unclear:
        return
    for words in stage.executed(text):
        assert is_found(words, found), (text, words)
    for name in stage.written:
        assert any(re.fullmatch(shape(word), f"{name}\0") for word in found.writes), (text, name)


def is_found(words: list[str], found: ShellWords) -> bool:
    program, *arguments = words
    joined = "".join(f"{argument}\0" for argument in arguments)
    return any(
        command.program == program
        and re.fullmatch("".join(shape(word) for word in command.words[1:]), joined, re.DOTALL)
        for command in found.commands
    )


def shape(word: Word) -> str:
    """What a word may become: several where it splits, one or more where it is a pattern, else the one."""
    if word.splits:
        return "(?:[^\0]*\0)*"
    one = "".join("[^\0]*" if part is None else re.escape(part) for part in word.parts) + "\0"
    return f"(?:{one})+" if word.globs else one
