"""Test that the names in pages exist: files, link targets, modules and tox environments."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Final

import pytest

from docs.generate.pages import generated_places

pytestmark = pytest.mark.rule("P12")

LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
QUOTED: Final = re.compile(r"`([\w./-]+)`")
MODULE: Final = re.compile(r"python3? -m ((?:codex_adapter|benchmarks|docs|tests)[\w.]*)")
ENVIRONMENT: Final = re.compile(r"tox -e ([\w{},-]+)")
FILES: Final = ("/", ".css", ".md", ".mjs", ".mts", ".sh", ".toml")
OF_A_READER: Final = {"count.py", "hooks/hooks.toml", "skills/NAME/SKILL.md"}
"""Files of the project that a reader has, in an example."""


@pytest.fixture(scope="module")
def pages(root: Path) -> list[Path]:
    folders = ("docs", "specs", "examples", "contrib", "clients", "benchmarks")
    return [*root.glob("*.md"), *(path for folder in folders for path in sorted((root / folder).rglob("*.md")))]


def test_links_lead_to_files(root: Path, pages: list[Path]) -> None:
    broken = [
        f"{page.relative_to(root)}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text())
        if not (page.parent / target).exists() and _on_site(page.parent / target, root) not in generated_places()
    ]
    assert not broken, "\n".join(broken)


def test_files_and_folders_that_are_named_exist(root: Path, pages: list[Path]) -> None:
    gone = [
        f"{page.relative_to(root)}: {path}"
        for page in pages
        for path in _paths(page, root)
        if not any((base / path).exists() for base in (root, root / "codex_adapter", page.parent))
    ]
    assert not gone, "\n".join(gone)


def test_modules_that_docstrings_name_exist(package: dict[str, str]) -> None:
    names = {f"{module.rpartition('.')[2]}.py" for module in package}
    gone = [
        f"{module}: {path}"
        for module, source in package.items()
        for path in QUOTED.findall(source)
        if path.endswith(".py") and path.rpartition("/")[2] not in names
    ]
    assert not gone, "\n".join(gone)


def test_modules_that_are_run_exist(root: Path, pages: list[Path]) -> None:
    texts = {path: path.read_text() for path in [*pages, root / "tox.ini"]}
    gone = [
        f"{path.relative_to(root)}: {module}"
        for path, text in texts.items()
        for module in MODULE.findall(text)
        if not any((root / f"{module.replace('.', '/')}{end}").is_file() for end in (".py", "/__main__.py"))
    ]
    assert not gone, "\n".join(gone)


def test_environments_that_are_named_exist(root: Path, pages: list[Path]) -> None:
    tox = ConfigParser()
    tox.read(root / "tox.ini")
    known = {name.removeprefix("testenv:") for name in tox.sections()} | {"py311", "py312", "py313"}
    gone = [
        f"{page.relative_to(root)}: {name}"
        for page in pages
        for names in ENVIRONMENT.findall(page.read_text())
        for name in names.split(",")
        if re.sub(r"(?<=-py)3\d+$", "{311,312,313}", name) not in known
    ]
    assert not gone, "\n".join(gone)


def test_commands_for_contributors_can_be_run(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    blocks = re.findall(r"^```sh\n(.*?)^```$", (root / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    commands = [shlex.split(command) for block in blocks for command in re.split(r"\n|&&", block) if command.strip()]
    assert commands[0] == ["python3", "-m", "venv", ".venv"]
    assert commands[1][:3] == [".venv/bin/pip", "install", "-e"]
    asked = re.findall(r"\w+", commands[1][3])
    assert set(asked) <= extras.keys()
    programs = {re.split(r"\W", need)[0] for extra in ("lint", "test") for need in extras[extra]} | {
        "pip",
        "python",
        "tox",
    }
    for program, *arguments in commands[1:]:
        if program != "python3":
            assert program.removeprefix(".venv/bin/") in programs
        assert all((root / word).exists() for word in arguments if "/" in word)


def _on_site(path: Path, root: Path) -> str:
    """Return the place on the documentation site of a path below `docs/`."""
    return os.path.relpath(path, root / "docs")


def _paths(page: Path, root: Path) -> Iterator[str]:
    """The paths of this repository that a page names: in a rule only modules, for it has a user's folders, too."""
    for path in QUOTED.findall(page.read_text()):
        ours = path.endswith(".py") or (page.parent != root / "specs" and path.endswith(FILES) and "/" in path)
        if ours and path not in OF_A_READER and not path.startswith(("/", ".")):
            yield path
