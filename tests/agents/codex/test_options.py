"""Test that the table of Codex options is complete and defines how each value is read and merged."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter import CodexConfig
from codex_adapter.agents.codex.extensions import CAPABILITIES, ExecOptions
from codex_adapter.agents.codex.options import OPTIONS
from codex_adapter.options import Option, concatenate, override

from ...rows import rows

pytestmark = pytest.mark.rule("C6")

NAMED = {option.name: option for option in OPTIONS if option.names}


@pytest.mark.rule("Q3", "C5")
def test_each_extension_key_is_in_the_table_once() -> None:
    keys = [option.key for option in OPTIONS if option.key is not None]
    extensions = [
        key
        for key in CAPABILITIES
        if key.startswith(("agent_api.exec", "agent_api.config", "agent_api.session.resume"))
    ]
    assert sorted(keys) == sorted(set(keys))
    assert set(extensions) < set(keys) < CAPABILITIES
    assert len(keys) == len(ExecOptions.__struct_fields__) + 1  # the policy is two keys


def test_each_field_is_one_of_the_configuration() -> None:
    fields = {option.field for option in OPTIONS if option.field is not None}
    assert fields == {"model", "settings", "binary", "codex_home", "tool_payloads"}
    assert fields <= set(CodexConfig.__struct_fields__)


def test_each_name_is_an_option_of_one_form() -> None:
    names = [name for option in OPTIONS for name in option.names]
    assert len(names) == len(set(names))
    for option in NAMED.values():
        assert option.name.startswith("--")
        assert option.help
        assert (option.metavar is None) == (option.flag is not None)


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [
        ("--sandbox", "read-only", "read-only"),
        ("--resume", "last", {"selector": "last"}),
        ("--resume", "abc", {"selector": "id", "id": "abc"}),
        ("--add-dir", ["a", "b"], {"dirs": ["a", "b"]}),
        ("--config", ["a=1", "b=x"], {"a": 1, "b": "x"}),
    ],
)
def test_words_become_the_value_of_the_key(name: str, words: Any, value: Any) -> None:
    assert NAMED[name].convert(words) == value


@rows(
    ("name", "requested", "chosen", "merged"),
    [
        ("--sandbox", "read-only", "workspace-write", "workspace-write"),
        ("--image", ["a"], ["b"], ["a", "b"]),
        ("--image", "a", ["b"], "a"),
        ("--image", ["a"], "b", "b"),
        ("--config", {"a": 1, "b": 2}, {"a": 3}, {"b": 2, "a": 3}),
        ("--add-dir", {"dirs": ["a"]}, {"dirs": ["b"]}, {"dirs": ["a", "b"]}),
        ("--add-dir", {"dirs": ["a"], "odd": 1}, {"dirs": ["b"]}, {"dirs": ["a", "b"], "odd": 1}),
        ("--add-dir", 7, {"dirs": ["b"]}, 7),
        ("--add-dir", {"dirs": ["a"]}, 7, 7),
    ],
)
def test_an_option_adds_to_a_request_or_replaces_it_and_hides_no_wrong_shape(
    name: str, requested: Any, chosen: Any, merged: Any
) -> None:
    assert NAMED[name].merge(requested, chosen) == merged
    assert NAMED[name].adds == (name != "--sandbox")


def test_members_are_those_of_the_schema_at_any_depth() -> None:
    assert NAMED["--resume"].members == {"selector", "id"}
    assert NAMED["--add-dir"].members == {"dirs"}
    assert NAMED["--sandbox"].members == frozenset()


def test_what_is_not_an_object_or_a_list_is_left_for_the_check() -> None:
    assert override(None, {"a": 1}) is None
    assert concatenate(None, [1]) is None
    assert Option(names=("-c", "--add-dir")).attribute == "add_dir"
