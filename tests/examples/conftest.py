"""Run the examples as users do, with the installed `codex-adapter`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ..cli.command import Cli
from ..needs import missing
from ..runtime.survivors import Survivors
from .example import Example, Examples

HERE: Final = Path(__file__).parents[2] / "examples"
LANGUAGES: Final = {"node": ("node",), "bash": ("bash", "jq"), "go": ("go",)}
"""The languages of the examples, and the programs without which they cannot be tried."""


@pytest.fixture(scope="session")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example in Go, compiled without asking any network."""
    program = tmp_path_factory.mktemp("go") / "supervisor"
    env = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off", "GO111MODULE": "off"}
    env.setdefault("GOCACHE", str(program.parent / "cache"))
    subprocess.run(["go", "build", "-o", str(program), str(HERE / "supervisor.go")], env=env, check=True, timeout=300)
    return str(program)


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """Each language whose programs are here."""
    chosen = str(request.param)
    for program in LANGUAGES[chosen]:
        if shutil.which(program) is None:
            missing(program)
    return chosen


@pytest.fixture
def example(language: str, examples: Examples, request: pytest.FixtureRequest) -> Example:
    """The example in each language, with a directory to work in; after the test nothing may be left of it."""
    if language == "go":
        return Example(examples, (request.getfixturevalue("go_program"),))
    words = {"node": ("node", str(HERE / "supervisor.mjs")), "bash": ("bash", str(HERE / "supervisor.sh"))}
    return Example(examples, words[language])


@pytest.fixture
def examples(tmp_path: Path) -> Iterator[Examples]:
    """A directory in which an example works."""
    survivors = Survivors(tmp_path)
    cli = Cli(tmp_path)
    cli.env["PATH"] = f"{sysconfig.get_path('scripts')}:{cli.env['PATH']}"
    cli.env |= survivors.env
    try:
        yield Examples(cli, survivors)
        assert survivors.soon() == []
    finally:
        survivors.kill()
