"""Test that a real shell reads a directory of any name from a shell line."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_adapter.spaces.shell_lines import insert_directory

pytestmark = pytest.mark.rule("Z2")

NASTY = st.text(st.sampled_from("ab /'\"\\$`*?~#;&|()<>{}!\t\nü"), min_size=1, max_size=12).map("/{}z".format)
LINES = [
    ("${SPACE}", "{}"),
    ("${SPACE}/x", "{}/x"),
    ("'${SPACE}/x'", "{}/x"),
    ('"${SPACE}/x"', "{}/x"),
    ("\"it's \"${SPACE}' \"x'", "it's {} \"x"),
    ('"\\"${SPACE}\\""', '"{}"'),
    ("\\'${SPACE}\\'", "'{}'"),
    ("$(printf %s ${SPACE})x", None),
    ('"$(printf %s "${SPACE}/x" \'(\')"', "{}/x("),
    ("'\\'${SPACE}", "\\{}"),
    ('"`printf %s ${SPACE}`"', "{}"),
    ("\"`printf %s '${SPACE}/x'`\"", "{}/x"),
    ('"\\`${SPACE}\\`"', "`{}`"),
    ('"`echo`${SPACE}"', "{}"),
    ("${HOME:+${SPACE}}", "{}"),
    ("${HOME:+'${SPACE}'}", "{}"),
    ('"${HOME:+${SPACE}}"', "{}"),
    ('"${HOME:+it\'s }${SPACE}"', "it's {}"),
    ('"$( (printf %s "${SPACE}") )"', "{}"),
    ("a#${SPACE}", "a#{}"),
    ("'#'${SPACE}", "#{}"),
    ("plain", "plain"),
    ('"${OTHER-y}"', "y"),
]


@settings(max_examples=30)
@given(NASTY)
def test_the_directory_is_part_of_one_word_wherever_it_stands(directory: str) -> None:
    right = [(line, word) for line, word in LINES if word is not None]
    script = "printf '%s\\0' " + " ".join(insert_directory(line, directory) for line, _ in right)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True, timeout=60)
    assert done.stderr == b""
    assert done.stdout.decode().split("\0")[:-1] == [word.replace("{}", directory) for _, word in right]


@settings(max_examples=10)
@given(NASTY)
def test_a_comment_ends_with_the_line_whatever_the_directory_is(directory: str) -> None:
    line = insert_directory("printf %s ${SPACE} #' ${SPACE}", directory)
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True, timeout=60)
    assert (done.stdout.decode(), done.stderr) == (directory, b"")


@given(st.text(st.sampled_from("a'\"\\$(){}`# "), max_size=10))
def test_a_line_without_a_directory_stays_as_it_is(line: str) -> None:
    assert insert_directory(line, "/d") == line
