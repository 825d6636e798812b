"""Test the names in a path before any lookup, and the texts for system errors."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.workspace import WorkspaceError, split_path

from ..rows import rows


@pytest.mark.rule("H2")
@rows(
    ("path", "names"),
    [
        ("a", ("a",)),
        ("a/b", ("a", "b")),
        ("./a//./b/", ("a", "b")),
        ("", ()),
        (".", ()),
        ("...", ("...",)),
        ("a..b", ("a..b",)),
    ],
)
def test_a_path_is_the_names_between_its_slashes(path: str, names: tuple[str, ...]) -> None:
    assert split_path(path) == names


@pytest.mark.rule("H2")
@given(st.text(st.sampled_from(["a", "b", ".", "/", "\0", "\udc80", "é", "\n"]), max_size=12))
def test_names_are_plain_and_stay_the_same_when_joined_again(path: str) -> None:
    try:
        names = split_path(path)
    except WorkspaceError as error:
        refused = error
    else:
        assert all(name and name not in (".", "..") and not set("/\0\udc80") & set(name) for name in names)
        assert split_path("/".join(names)) == names
        return
    assert refused.code == "bad_name"
    assert path.startswith("/") or ".." in path.split("/") or {"\0", "\udc80"} & set(path)


@pytest.mark.rule("H6")
@rows(
    ("number", "code"),
    [
        pytest.param(errno.ENOSPC, "no_space"),
        pytest.param(errno.EDQUOT, "no_space"),
        pytest.param(errno.EROFS, "read_only"),
        pytest.param(errno.EMFILE, "exhausted"),
        pytest.param(errno.ENFILE, "exhausted"),
        pytest.param(errno.ENOMEM, "exhausted"),
        pytest.param(errno.ESTALE, "gone"),
        pytest.param(errno.EIO, "io"),
        pytest.param(errno.ENOTCONN, "io"),
    ],
)
def test_failures_of_the_machine_are_the_systems(number: int, code: str) -> None:
    error = WorkspaceError.of(OSError(number, os.strerror(number), "/a/path/outside"))
    assert (error.code, error.system) == (code, True)
    assert "outside" not in str(error)


@pytest.mark.rule("H6")
@rows(
    ("number", "code"),
    [
        (errno.ENOENT, "not_found"),
        (errno.EACCES, "denied"),
        (errno.EPERM, "denied"),
        (errno.EBUSY, "denied"),
        (errno.EFBIG, "too_large"),
        (errno.EISDIR, "is_directory"),
    ],
)
def test_what_lies_in_the_way_is_no_failure_of_the_machine(number: int, code: str) -> None:
    error = WorkspaceError.of(OSError(number, os.strerror(number), "/a/path/outside"))
    assert (error.code, error.system) == (code, False)
    assert "outside" not in error.text
