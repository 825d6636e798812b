"""Test schema errors: they name the key and the rule, and quote no value."""

from __future__ import annotations

import tomllib
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, Raw, UnsetType

from codex_adapter.strict_decode import FieldError, in_line, problem, read_struct, shown

from .rows import rows

SECRET = "hunter2"


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """A table in a document."""

    words: tuple[Annotated[str, Meta(min_length=2)], ...] = ()
    kind: Literal["a", "b"] = "a"


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """A document with what documents of people have."""

    name: Annotated[str, Meta(pattern=r"\A[a-z]+\Z")]
    inner: Inner = msgspec.field(default_factory=Inner)
    env: dict[Annotated[str, Meta(pattern=r"\A[A-Z]+\Z")], str] = {}


class Members(msgspec.Struct, rename="camel"):
    """Members of an object on the wire."""

    run_id: Annotated[str, Meta(description="a name")]
    how_many: Annotated[int, Meta(ge=1, description="a number from 1")] | UnsetType = UNSET


NAMES = st.sampled_from(["name", "inner", "env", "words", "kind", "other", "A", "runId", "howMany"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(SECRET), lambda it: st.lists(it) | st.dictionaries(NAMES, it)
)


@pytest.mark.rule("A1", "Z1")
@rows(
    ("document", "expected"),
    [
        ([], "it is not a table"),
        ({}, "the key 'name' is missing"),
        ({"name": SECRET}, "the key 'name' has a wrong type or value"),
        ({"name": "a", "inner": {"words": ["ab", "x"]}}, "the key 'inner.words[1]' has a wrong type or value"),
        ({"name": "a", "inner": {"kind": SECRET}}, "the key 'inner.kind' has a wrong type or value"),
        ({"name": "a", "inner": {"other": 1}}, "the key 'inner.other' is unknown; remove it"),
        ({"name": "a", "o\n": 1}, "the key 'o\N{REPLACEMENT CHARACTER}' is unknown; remove it"),
        ({"name": "a", "env": {SECRET: "x"}}, "a key in 'env' is not an allowed name"),
        ({"name": "a", "env": {"A": 1}}, "the key 'env[...]' has a wrong type or value"),
    ],
)
def test_the_key_is_named_with_its_path(document: Any, expected: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(document, Document)
    assert problem(caught.value) == expected


@pytest.mark.rule("A1", "Z1", "X3")
@given(JSON)
def test_no_value_is_quoted(document: Any) -> None:
    found = ""
    try:
        msgspec.convert(document, Document)
    except msgspec.ValidationError as error:
        found = problem(error)
    assert SECRET not in found


@pytest.mark.rule("A1", "Z1")
@given(st.text())
def test_a_name_in_a_sentence_is_printable_and_not_long(name: str) -> None:
    assert shown(name).isprintable()
    assert len(shown(name * 100)) <= 201


@pytest.mark.rule("A1", "Z1", "X3")
def test_the_line_of_broken_toml_is_given_and_nothing_of_it() -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(f"a = 1\nb = {SECRET}")
    assert in_line(caught.value) == " in line 2"
    assert in_line(RecursionError(SECRET)) == ""


@pytest.mark.rule("J5", "O3")
@rows(
    ("members", "prefix", "expected"),
    [
        ({}, "", "runId: is missing; it must be a name"),
        ({"runId": b"1"}, "", "runId: must be a name"),
        ({"runId": b'"r"', "howMany": b"0"}, "approval.", "approval.howMany: must be a number from 1"),
        ({"runId": b"[" * 100_000}, "", "runId: must be a name"),
        ({"runId": b'"\\ud800"'}, "", "runId: must be a name"),
        ({"runId": b'"\xff"'}, "", "runId: must be a name"),
    ],
)
def test_a_member_is_named_with_its_rule(members: dict[str, bytes], prefix: str, expected: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_struct(Members, {name: Raw(value) for name, value in members.items()}, prefix)
    assert str(caught.value) == expected == f"{caught.value.field}: {caught.value.rule}"
    assert caught.value.__cause__ is None


@pytest.mark.rule("J5", "O3")
@given(st.dictionaries(NAMES, JSON))
def test_members_are_what_msgspec_makes_of_the_object_or_an_error_without_a_value(members: dict[str, Any]) -> None:
    given = {name: Raw(msgspec.json.encode(value)) for name, value in members.items()}
    try:
        whole = msgspec.convert(members, Members)
    except msgspec.ValidationError:
        with pytest.raises(FieldError) as caught:
            read_struct(Members, given)
        assert SECRET not in str(caught.value)
    else:
        assert read_struct(Members, given) == whole


@pytest.mark.rule("O3")
def test_a_decoder_of_its_own_has_the_name_and_the_last_word() -> None:
    def decode(name: str, given: Raw, kind: Any) -> Any:
        raise FieldError(name, "is not to my liking")

    with pytest.raises(FieldError, match=r"^runId: is not to my liking$"):
        read_struct(Members, {"runId": Raw(b'"r"')}, decode=decode)
