"""Test the installed distribution: licence, author and type marker."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

import codex_adapter

pytestmark = pytest.mark.rule("P11")

AGAIN = "the installation is older than pyproject.toml: install the package again"


@pytest.fixture(scope="module")
def installed() -> metadata.Distribution:
    return metadata.distribution("codex-adapter")


def test_the_licence_is_installed(installed: metadata.Distribution, root: Path) -> None:
    licences = [path for path in installed.files or [] if path.match("*.dist-info/licenses/LICENSE")]
    assert [Path(str(path.locate())).read_text() for path in licences] == [(root / "LICENSE").read_text()], AGAIN
    assert installed.metadata["License-Expression"] == "MIT"
    assert "Copyright (c) 2026 The codex-adapter authors" in (root / "LICENSE").read_text()


def test_the_metadata_name_the_authors_and_public_addresses(installed: metadata.Distribution) -> None:
    assert installed.metadata["Author"] == "The codex-adapter authors", AGAIN
    addresses = [entry.partition(", ")[2] for entry in installed.metadata.get_all("Project-URL", [])]
    assert addresses
    assert all(address.startswith("https://") for address in addresses)


def test_the_package_is_typed() -> None:
    assert (Path(codex_adapter.__file__).parent / "py.typed").is_file()
