"""Test that the leak scanner finds every planted leak and reports no other."""

from __future__ import annotations

import base64
import json
import secrets
import urllib.parse

import pytest

from codex_adapter.events import Event
from codex_adapter.records import encode_events

from ..core.secret_forms import FORMS
from ..rows import rows
from .leaks import Canary, leaks
from .plants import PLANTS, stdout

pytestmark = pytest.mark.rule("X1", "X5")


@pytest.mark.parametrize("around", [b"", b"a", b"ab", b"abc", b"\xff\n"])
def test_a_word_is_found_in_every_form(around: bytes) -> None:
    canary, other = Canary("here"), Canary("elsewhere")
    text = around + canary.word.encode() + around
    forms = {
        "plain": {text, text.upper()},
        "base64": {base64.b64encode(text), base64.urlsafe_b64encode(text)},
        "hexadecimal": {text.hex().encode(), text.hex().upper().encode()},
        "hexadecimal, apart": {text.hex(" ").encode()},
        "UTF-16": {canary.word.encode("utf-16")},
        "escaped for JSON": {"".join(f"\\u{ord(char):04X}" for char in canary.word).encode()},
        "escaped for Python": {"".join(f"\\x{ord(char):02x}" for char in canary.word).encode()},
        "escaped for a URL": {"".join(f"%{ord(char):02X}" for char in canary.word).encode()},
        "backwards": {text[::-1]},
    }
    for form, texts in forms.items():
        for data in texts:
            assert leaks(b"before " + data + b" after", [other, canary]) == [f"here: {form}"]


@rows("form", FORMS)
def test_a_leak_that_is_planted_in_a_record_is_found_whichever_form_it_has(form: str) -> None:
    canary, other = Canary("here"), Canary("elsewhere")
    event = Event(0, "codex", "text_output", "assistant", f"a <{FORMS[form](canary.word)}> b")
    planted = leaks(encode_events([event, event]), [other, canary])
    assert len(planted) == 1
    assert planted[0].startswith("here: ")


@rows("place", PLANTS)
def test_a_leak_is_found_wherever_it_is_planted(place: str) -> None:
    """The scanner looks at what the agent prints as it is: every plant can be seen there."""
    canary = Canary(place)
    assert leaks(stdout({place: canary.word}), [canary]) == [f"{place}: plain"]
    assert leaks(stdout({place: canary.word[:12]}), [canary]) == [f"{place}: plain"]


@pytest.mark.parametrize("form", ["hex", "base64 at 1, 0 after", "URL, everything escaped", "JSON, everything escaped"])
def test_a_piece_of_an_encoded_word_is_a_leak_of_it(form: str) -> None:
    canary = Canary("here")
    text = FORMS[form](canary.word).encode()
    for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
        assert len(leaks(b"(" + piece + b")", [canary])) == 1


def test_a_piece_of_a_word_is_a_leak_of_it() -> None:
    canary = Canary("here")
    for start in range(len(canary.word) - 8):
        assert leaks(f"x{canary.word[start : start + 8]}x".encode(), [canary]) == ["here: plain"]


def test_text_in_which_nothing_was_put_has_no_leak() -> None:
    canaries = [Canary(str(number)) for number in range(50)]
    text = secrets.token_hex(20_000) + json.dumps({"text": "Ünïcode \u2028"}) + urllib.parse.quote("a b/c")
    assert leaks(text.encode(), canaries) == []
