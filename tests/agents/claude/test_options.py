"""Test the extension keys of Claude Code, their checks, and the command-line options that set them."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter import InvalidRequestError, UnsupportedCapabilityError
from codex_adapter.agents.claude import extension_keys as keys
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import CAPABILITIES, RunOptions, read_extensions
from codex_adapter.agents.claude.options import OPTIONS

from ...rows import rows

NAMED = {option.name: option for option in OPTIONS if option.names}


class Files:
    """A file system with every directory."""

    cwd = "/work"

    def is_dir(self, path: str) -> bool:
        return True

    def is_file(self, path: str) -> bool:
        return "missing" not in path


def read(extensions: Any) -> RunOptions:
    return read_extensions(extensions, Files())


@pytest.mark.rule("Q3", "C5", "C6")
def test_each_extension_key_is_in_the_table_once() -> None:
    found = [option.key for option in OPTIONS if option.key is not None]
    assert sorted(found) == sorted(CAPABILITIES - keys.WITHOUT_KEY)
    assert {option.field for option in OPTIONS if option.field} == {"model", "binary", "config_dir", "tool_payloads"}
    assert {option.field for option in OPTIONS if option.field} <= set(ClaudeConfig.__struct_fields__)


@pytest.mark.rule("C6")
@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("--max-turns", "3", 3),
        ("--max-budget-usd", "0.5", 0.5),
        ("--resume", "last", {"selector": "last"}),
        ("--fork", "x", {"selector": "id", "id": "x"}),
        ("--add-dir", ["a"], {"dirs": ["a"]}),
    ],
)
def test_a_word_becomes_the_value_of_the_key(name: str, word: Any, value: Any) -> None:
    assert NAMED[name].convert(word) == value


@pytest.mark.rule("C6", "E5")
@pytest.mark.parametrize("name", ["--max-turns", "--max-budget-usd"])
def test_a_word_that_is_not_a_number_is_not_repeated(name: str) -> None:
    with pytest.raises(ValueError, match="must be a") as caught:
        NAMED[name].convert("hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.rule("Q3")
@rows(
    ("key", "value", "field", "result"),
    [
        (keys.MAX_TURNS, 3, "max_turns", 3),
        (keys.MAX_BUDGET, 2, "max_budget", 2.0),
        (keys.PARTIAL_MESSAGES, True, "partial_messages", True),
        (keys.SANDBOX_MODE, "read-only", "sandbox_mode", "read-only"),
        (keys.ADD_DIRS, {"dirs": ["more"]}, "add_dirs", ("/work/more",)),
        (keys.OUTPUT_SCHEMA, {"type": "object"}, "output_schema", {"type": "object"}),
        (keys.IMAGES, ["a.png", "/b.JPEG"], "images", ("/work/a.png", "/b.JPEG")),
    ],
)
def test_a_value_becomes_a_field(key: str, value: Any, field: str, result: Any) -> None:
    assert getattr(read({key: value}), field) == result


@pytest.mark.rule("Q2", "Q3", "Q4")
@rows(
    ("key", "value"),
    [
        *((keys.MAX_TURNS, value) for value in (0, -1, True, 1.5, "3", None, 10**9)),
        *((keys.MAX_BUDGET, value) for value in (0, -1, True, "3", float("nan"), float("inf"))),
        (keys.NON_INTERACTIVE, False),
        (keys.SANDBOX_MODE, "none"),
        (keys.TOOLS, "some"),
        (keys.OUTPUT_SCHEMA, []),
        *((keys.IMAGES, value) for value in ("a.png", [7], ["missing.png"], ["a\0.png"], ['a".png'], ["a.txt"])),
    ],
)
def test_any_other_value_is_refused_by_the_name_of_its_key(key: str, value: Any) -> None:
    with pytest.raises(InvalidRequestError, match=key):
        read({key: value})


@pytest.mark.rule("Q2", "Q4")
def test_unknown_keys_and_contradictions_are_refused() -> None:
    with pytest.raises(UnsupportedCapabilityError, match=r"backend\.codex\.tools"):
        read({"backend.codex.tools": "none"})
    last = {"selector": "last"}
    with pytest.raises(InvalidRequestError, match="contradict"):
        read({keys.RESUME: last, keys.FORK: last})
    assert read({keys.NON_INTERACTIVE: True}) == RunOptions()
