"""Every code block of a page is run, parsed, or compared with what a command really prints."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import tomllib
from configparser import ConfigParser
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, get_args

import jsonschema
import pytest
import yaml

from codex_adapter.agents.codex.binary import find_binary
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.errors import SpawnError
from codex_adapter.hints import Hint
from tests.real.releases import sandbox_works

from ..needs import missing
from .output import differences
from .pages import ROOT, Block, all_pages, read_blocks
from .running import PROGRAMS, run_page
from .stubs import STUBS

PAGES: Final = all_pages()
RUN: Final = {"sh", "dockerfile", *PROGRAMS}
DATA: Final = {"json", "toml", "yaml", "ini"}
RUNNING: Final = [page for page in PAGES if any(block.language in RUN | {"yaml"} for block in read_blocks(page))]
NEEDED: Final = ("jq", "node", "go")
"""Programs of other projects that pages call."""
SLOW: Final = frozenset({"docs/how-to/upgrade.md", "examples/README.md"})
"""Pages that take long: the nightly tests run them. The examples have tests of their own in the gate."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def parameter(page: Path) -> Any:
    return pytest.param(page, id=name(page), marks=[pytest.mark.nightly] if name(page) in SLOW else [])


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema of every record and message."""
    done = subprocess.run(["codex-adapter", "schema"], capture_output=True, text=True, check=True, timeout=60)
    decoded: dict[str, Any] = json.loads(done.stdout)
    return decoded


@pytest.mark.rule("DC7")
def test_no_block_is_without_a_check() -> None:
    unchecked = []
    for page in PAGES:
        for block in read_blocks(page):
            if block.mark == "figure":
                continue
            if block.mark == "checked by":
                test = ROOT / block.value
                if not (test.is_file() and page.name in test.read_text()):
                    unchecked.append(f"{block.where}: {block.value} does not read this page")
            elif block.language not in RUN | DATA and not block.output and block.file is None:
                unchecked.append(f"{block.where}: `{block.language}` is neither run, nor parsed, nor an output")
    assert not unchecked, "\n".join(unchecked)


@pytest.mark.rule("DC8", "DC10", "DC11")
@pytest.mark.parametrize("page", [parameter(page) for page in RUNNING])
def test_blocks_run_and_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    blocks = read_blocks(page)
    for program in NEEDED:
        commands = (f"{PROGRAMS.get(block.language, '')} {block.text}" for block in blocks)
        if shutil.which(program) is None and any(re.search(rf"\b{program} ", command) for command in commands):
            missing(program)
    try:
        binary = find_binary(CodexConfig(), os.environ).path
    except SpawnError:
        missing("codex")
    if not sandbox_works(Path(binary)):
        missing("bubblewrap")
    ran = run_page(blocks, tmp_path)
    assert ran.status == 0, ran.stderr
    wrong = [
        f"{block.where}\n{difference}"
        for before, block in pairwise(blocks)
        if block.output and (difference := differences(block.text, ran.printed.get(before.line, "")))
    ]
    assert not wrong, "\n".join([*wrong, "Run `python -m tests.docs` to write what the commands print."])


@pytest.mark.rule("DC9")
@pytest.mark.parametrize("page", [parameter(page) for page in PAGES])
def test_data_is_valid(page: Path, schema: dict[str, Any]) -> None:
    for block in read_blocks(page):
        if block.language in DATA and not block.output and block.mark == "":
            check_data(block, schema)


@pytest.mark.rule("DC8")
def test_programs_are_python() -> None:
    for page in PAGES:
        for block in read_blocks(page):
            if block.language == "python":
                ast.parse(block.text, filename=block.where)


@pytest.mark.rule("DC10", "F9")
def test_the_page_of_failed_runs_has_each_hint() -> None:
    text = (ROOT / "docs" / "how-to" / "failed-run.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(get_args(Hint))


@pytest.mark.rule("DC11")
def test_each_stub_is_needed_and_has_a_reason() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    assert [stub for stub, (_, why) in STUBS.items() if stub not in text or not why] == []


def check_data(block: Block, schema: dict[str, Any]) -> None:
    """Parse a block; a record or a message must fit its schema."""
    match block.language:
        case "toml":
            tomllib.loads(block.text)
        case "yaml":
            yaml.safe_load(block.text)
        case "ini":
            ConfigParser(strict=False, interpolation=None, delimiters="=").read_string(block.text)
        case _:
            try:
                values = [json.loads(block.text)]
            except ValueError:
                values = [json.loads(line) for line in block.text.splitlines()]
            for value in values:
                names = next((names for key, names in SCHEMAS.items() if value.get(key) is not None), None)
                if names is not None:
                    fitting = [{"$ref": f"#/$defs/{name}"} for name in names]
                    jsonschema.validate(value, {"$defs": schema["$defs"], "anyOf": fitting})


SCHEMAS: Final = {
    "jsonrpc": ("FromSupervisor", "ToSupervisor"),
    "seq": ("EventRecord", "CompletedRecord", "FailedRecord"),
    "prompt": ("RunRequest",),
}
"""The definitions that a JSON object has to fit, by one of its members."""
