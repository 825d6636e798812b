"""Test the selection of versions against the definition of ranges and an npm-compatible library."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantic_version import NpmSpec, Version

from codex_adapter.spaces import SpaceError
from codex_adapter.spaces.versions import choose_version, is_version

pytestmark = pytest.mark.rule("Z3")

Triple = tuple[int, int, int]
TRIPLES = st.tuples(*[st.integers(0, 3)] * 3)
PRE = st.sampled_from(["", "", "", "-a", "-a.1", "-2", "-rc.1"])
VERSIONS = st.frozensets(st.builds("{0[0]}.{0[1]}.{0[2]}{1}".format, TRIPLES, PRE), max_size=12)


def nothing() -> Mapping[str, str]:
    raise AssertionError("no tag was asked for")


def test_without_a_selector_it_is_the_highest_release_and_dev_where_there_is_none() -> None:
    assert choose_version(None, {"1.9.0", "1.10.0", "2.0.0-rc.1"}, nothing) == "1.10.0"
    assert choose_version(None, {"2.0.0-rc.1"}, nothing) == "dev"
    assert choose_version(None, (), nothing) == "dev"
    assert choose_version("dev", {"1.0.0"}, nothing) == "dev"


def test_what_could_be_two_kinds_of_selector_is_the_first_of_them() -> None:
    tags = {"v1": "0.1.0", "x": "0.1.0", "dev": "0.1.0", "stable": "0.1.0"}.copy
    available = {"0.1.0", "1.0.0", "1.2.0"}
    assert choose_version("v1", available, tags) == "1.2.0"
    assert choose_version("x", available, tags) == "1.2.0"
    assert choose_version("1.0.0", available, tags) == "1.0.0"
    assert choose_version("dev", available, tags) == "dev"
    assert choose_version("stable", available, tags) == "0.1.0"


@pytest.mark.parametrize(
    ("selector", "says"),
    [("1.0.1", "this version"), ("^3", "this range"), ("other", "does not have this tag"), ("gone", "tag 'gone'")],
)
def test_what_nothing_answers_to_is_refused(selector: str, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        choose_version(selector, {"1.0.0"}, lambda: {"gone": "9.9.9"})


@given(st.text(max_size=12) | st.from_regex(r"[0-9.a-z+-]{1,12}"))
def test_a_version_is_one_for_the_library_too_and_is_written_in_one_way(text: str) -> None:
    if is_version(text):
        assert str(Version(text)) == text
        assert not Version(text).build


@given(VERSIONS, TRIPLES, TRIPLES, st.integers(0, 9))
def test_a_range_takes_the_highest_release_that_its_definition_admits(
    available: frozenset[str], low: Triple, high: Triple, form: int
) -> None:
    selector, admits = _range(form, low, high)
    releases = [tuple(map(int, version.split("."))) for version in available if "-" not in version]
    right = max((release for release in releases if admits(release)), default=None)
    released = {version for version in available if "-" not in version}
    assert _chosen(selector, released) == (None if right is None else ".".join(map(str, right)))


@given(VERSIONS, st.builds("{}{}{}".format, st.sampled_from(["^", "~", ">=", "<", ">", "<="]),
                           st.builds("{0[0]}.{0[1]}.{0[2]}".format, TRIPLES), PRE))  # fmt: skip
def test_pre_releases_are_in_a_range_as_npm_has_it(available: frozenset[str], selector: str) -> None:
    right = max((Version(version) for version in available if NpmSpec(selector).match(Version(version))), default=None)
    assert _chosen(selector, available) == (None if right is None else str(right))


def _chosen(selector: str, available: frozenset[str] | set[str]) -> str | None:
    try:
        return choose_version(selector, available, nothing)
    except SpaceError:
        return None


def _range(form: int, low: Triple, high: Triple) -> tuple[str, Callable[[tuple[int, ...]], bool]]:
    a, b, c = low
    exact, other = f"{a}.{b}.{c}", ".".join(map(str, high))
    caret = (a + 1, 0, 0) if a else (0, b + 1, 0) if b else (0, 0, c + 1)
    forms: list[tuple[str, Callable[[tuple[int, ...]], bool]]] = [
        (f"^{exact}", lambda it: low <= it < caret),
        (f"~{exact}", lambda it: low <= it < (a, b + 1, 0)),
        (f"^{a}", lambda it: it[0] == a),
        (f"{a}.{b}", lambda it: it[:2] == (a, b)),
        (f"{a}.x", lambda it: it[0] == a),
        (f">={exact} <{other}", lambda it: low <= it < high),
        (f">{exact} <={other}", lambda it: low < it <= high),
        (f"{exact} - {other}", lambda it: low <= it <= high),
        (f"{a}.{b}.x || {other}", lambda it: it[:2] == (a, b) or it == high),
        ("*", lambda _: True),
    ]
    return forms[form]
