"""Test that files with logins are read as leniently as the CLIs read them, and that none is passed over silently."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.runtime.login_files import read_json, read_secrets, strings_to_mask

from ..rows import rows

pytestmark = pytest.mark.rule("X5")

SECRET = "opaque-hunter2-token"
LENIENT = {
    "a comment": f'{{\n  // my "own" key\n  "key": "{SECRET}"\n}}',
    "a comment of lines": f'/* one\ntwo "x */ {{"key": /* : */ "{SECRET}"}} /* no end',
    "a comma at the end": f'{{"key": "{SECRET}", "list": [1, 2 , ], }}',
    "a comma before a comment": f'{{"key": "{SECRET}", // last\n}}',
    "a byte order mark": f'\ufeff{{"key": "{SECRET}"}}',
    "a lone surrogate": f'{{"key": "{SECRET}", "other": "\\ud800"}}',
    "signs of comments in a string": f'{{"key": "{SECRET}", "url": "http://x/*y*/ ,]",}}',
}


@rows("text", LENIENT.values(), ids=LENIENT.keys())
def test_a_file_is_read_as_the_clis_read_it(text: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    assert read_json(file)["key"] == SECRET
    assert read_json(file).get("url", "http://x/*y*/ ,]") == "http://x/*y*/ ,]"
    assert SECRET in strings_to_mask(read_secrets(file), "/")


@rows(
    "text",
    [f'{{"key": "{SECRET}"', f"{{key: '{SECRET}'}}", f'{{"key": "{SECRET}\n', f'"key" = "{SECRET}"', f"'{SECRET}"],
)
def test_of_a_file_that_cannot_be_read_all_quoted_strings_are_masked_with_a_warning(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    file = tmp_path / "file.json"
    file.write_text(text)
    with caplog.at_level(logging.WARNING, "codex_adapter"):
        assert SECRET in strings_to_mask(read_secrets(file), "/")
    assert [record.getMessage() for record in caplog.records] == [
        "file.json cannot be read: all its quoted strings are masked"
    ]
    assert read_json(file) is None


@rows("content", [b"", b" ", b"\xff\xfe", b"key"])
def test_a_file_without_strings_adds_nothing_and_no_warning(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file.json").write_bytes(content)
    assert strings_to_mask(read_secrets(tmp_path / "file.json"), "/") == ()
    assert strings_to_mask(read_secrets(tmp_path / "missing"), "/") == ()
    assert caplog.records == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(value=VALUES)
def test_comments_and_commas_change_no_value(value: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "commented.json"
    lines = json.dumps(value, indent=1).replace("\n", " // x, ]\n/* , } */")
    file.write_text(f"// begin\n{lines}")
    assert read_json(file) == value


@rows("unit", ['"', "/*", "//", ",", '\\"', "'", '"\\', ", \n", "[", '/* "'])
def test_a_hostile_file_is_read_in_linear_time(unit: str, tmp_path: Path) -> None:
    """What took more than linear time would not come to its end."""
    file = tmp_path / "file.json"
    file.write_text(unit * (512 * 1024 // len(unit)))
    strings_to_mask(read_secrets(file), "/")
