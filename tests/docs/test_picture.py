"""The picture of the demo is small and whole, and the same for the same run."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.generate.picture import COLUMNS, PICTURE, drawn, recorded

pytestmark = pytest.mark.rule("DC7")

SVG = "{http://www.w3.org/2000/svg}"


def text_of(svg: str) -> str:
    return "".join(text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")).replace("\xa0", " ")


def test_the_picture_is_of_a_completed_demo_and_loads_nothing() -> None:
    svg = PICTURE.read_text()
    assert len(svg) < 150_000
    assert re.findall(r"https?:[^\s\"]*|href|@import|url\((?!#)", svg) == ["http://www.w3.org/2000/svg"]
    assert "codex-adapter demo" in text_of(svg)
    assert "completed" in text_of(svg)


def test_what_varies_from_run_to_run_is_not_drawn() -> None:
    def output(number: int) -> str:
        session = f"0199a213-81c0-7800-8aa1-bbab2a035a5{number}"
        return f"session {session}\r\n\x1b[32mfiles\x1b[0m: /tmp/codex-adapter-demo-{number}/a ({number}.3 s)\r\n"

    assert drawn(output(1), "codex-adapter demo") == drawn(output(2), "codex-adapter demo")
    assert "files: /tmp/codex-adapter-demo/a" in text_of(drawn(output(1), "x"))


def test_a_command_sees_a_terminal(tmp_path: Path) -> None:
    program = "import os, sys; print(sys.stdout.isatty(), os.get_terminal_size().columns, os.getcwd())"
    words = recorded([sys.executable, "-c", program], str(tmp_path)).split()
    assert words == ["True", str(COLUMNS), str(tmp_path)]


def test_a_command_that_fails_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the command failed: oh"):
        recorded([sys.executable, "-c", "import sys; sys.exit('oh')"], str(tmp_path))
