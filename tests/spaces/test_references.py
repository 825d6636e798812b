"""Test the meaning of references, and the refusal of all other texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.spaces import SpaceError
from codex_adapter.spaces.references import (
    PathReference,
    ProjectReference,
    Reference,
    RegistryReference,
    parse_reference,
)

from ..rows import rows

pytestmark = pytest.mark.rule("Z3")


@rows(
    ("text", "meant"),
    [
        ("space:a", RegistryReference("a", None)),
        ("space:git-flow@dev", RegistryReference("git-flow", "dev")),
        ("space:a@1.2.3", RegistryReference("a", "1.2.3")),
        ("space:a@1.2.3-rc.1", RegistryReference("a", "1.2.3-rc.1")),
        ("space:a@^1.2", RegistryReference("a", "^1.2")),
        ("space:a@>=1.0.0 <2.0.0", RegistryReference("a", ">=1.0.0 <2.0.0")),
        ("space:a@1.x || 3.x", RegistryReference("a", "1.x || 3.x")),
        ("space:a@stable", RegistryReference("a", "stable")),
        ("space:path", RegistryReference("path", None)),
        ("space:project", RegistryReference("project", None)),
        ("space:path:/x/y z@1", PathReference("/x/y z@1")),
        ("space:path:../ü", PathReference("../ü")),
        ("space:project:a", ProjectReference("a")),
        ("space:" + "a" * 64, RegistryReference("a" * 64, None)),
    ],
)
def test_a_reference_means_a_space_of_the_registry_a_path_or_the_project(text: str, meant: Reference) -> None:
    assert parse_reference(text) == meant


@rows(
    "text",
    [
        *("", "a", "space", "space:", "Space:a", " space:a", "space:a ", "space:A", "space:1", "space:a/b"),
        *("space:../a", "space:a@.", "space:a@a b", "space:" + "a" * 65),
        *("space:a@", "space:a@ ", "space:a@ ^1", "space:a@^1 ", "space:a@1.2.3+b", "space:a@../x"),
        *("space:a@1.2.3\n", "space:a@١.٢.٣", "space:path:", "space:path:a\0b", "space:path:\udcff", "space:path:a\nb"),
        *("space:project:", "space:project:a@1.2.3", "space:project:../a", "space:path:" + "a" * 5000),
        *("space:a@" + "1" * 5000, "space:a@>=   - v>=", "space:a@" + "9" * 60 + ".x.x.x", "space:a@" + "t" * 65),
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(SpaceError):
        parse_reference(text)


@given(st.text(max_size=30) | st.text(st.sampled_from("1.2x*^~<>=| -@av\n"), max_size=12).map("space:a@".__add__))
def test_whatever_is_given_it_is_a_reference_or_refused(text: str) -> None:
    try:
        parse_reference(text)
    except SpaceError:
        return
