"""Test the messages for packages that are not installed."""

from __future__ import annotations

import shlex
from importlib import metadata

import pytest

from codex_adapter.extras import how_to_install

pytestmark = pytest.mark.rule("P9")


def test_the_packages_of_an_extra_are_named_those_of_its_own_extras_too() -> None:
    words = shlex.split(how_to_install("mailbox").removeprefix("Install them: "))
    assert words[:2] == ["pip", "install"]
    assert [word.partition(">")[0] for word in words[2:]] == [
        *("inotify-simple", "markdown-it-py", "pyperclip", "rich")
    ]


def test_without_metadata_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert how_to_install("turns") == "Install the extra `turns`"
