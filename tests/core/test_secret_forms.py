"""Test that a secret is masked completely in every form in which programs write it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from codex_adapter.agents.codex.pipeline import codex_pipeline
from codex_adapter.core.masking.masker import Masker
from codex_adapter.core.masking.secret_forms import SecretForms, Work
from codex_adapter.events import ExitStatus
from codex_adapter.records import encode_completion, encode_events

from ..rows import rows
from .secret_forms import FORMS, IN_LINES

SECRETS = {
    "a token": "Zk3vQ9pL7xWc2RtY8mNb",
    "a token with signs": "Zk3v_Q9pL-7xWc-2RtY8mNb",
    "a password": "hunter2hunter2",
    "a short password": "Tr0ub4d&",
    "signs": 'p@ss/w"rd\\<&>+=~?!',
    "signs alone": "!@#$%^&*()_+",
    "words": "correct horse battery staple",
    "not ASCII": "gr\u00fc\u00dfe\U0001f511\u65e5\u672c\u8a9e",
    "with a line end": "one line\nand 2nd\tline",
    "like an escape": "a%41b\\u0042c%2Fd",
    "long": "0123456789abcdef" * 40,
}
PLANTED = [
    SECRETS["a token"],
    SECRETS["a token with signs"],
    SECRETS["a short password"],
    SECRETS["signs"],
    SECRETS["not ASCII"],
]


@pytest.mark.rule("X5", "X8")
@rows("form", FORMS)
@rows("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_masked_in_each_form_and_what_stands_around_it_stays(secret: str, form: str) -> None:
    masker = Masker([secret])
    text = FORMS[form](secret)
    assert masker.mask(text) == "***"
    assert masker.mask(f"see <{text}>, \u20ac and so on") == "see <***>, \u20ac and so on"
    assert masker.mask(f"\u00e9({text})({text})") == "\u00e9(***)(***)"


@pytest.mark.rule("X5", "X8")
@rows("form", IN_LINES)
@rows("within", [str, lambda text: json.dumps({"out": text})], ids=["text", "JSON"])
@rows("secret", SECRETS.values(), ids=SECRETS.keys())
def test_nothing_of_a_secret_is_left_in_lines_of_base64_or_of_a_dump(
    secret: str, within: Callable[[str], str], form: str
) -> None:
    text = IN_LINES[form](secret)
    masked = Masker([secret]).mask(within(f"$ show it\n{text}\n$ true\n"))
    assert "$ show it" in masked
    assert "***" in masked
    assert "$ true" in masked
    # Of the first and the last line something else may be left.
    for line in text.splitlines()[1:-1]:
        assert line.strip() not in masked
    for start in range(len(secret) - 5):
        piece = secret[start : start + 6]
        assert piece not in masked
        assert piece.encode().hex(" ") not in masked
        assert piece.encode().hex() not in masked


@pytest.mark.rule("X8")
@rows("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_masked_where_forms_are_mixed(secret: str) -> None:
    half = len(secret) // 2
    for first in ("plain", "JSON, everything escaped", "JSON"):
        for second in ("plain", "JSON, everything escaped, upper case", "bytes of Python"):
            mixed = FORMS[first](secret[:half]) + FORMS[second](secret[half:])
            # An escape that is a part of the secret must be written in one way.
            if "\\" not in secret or first == second or ("\\u" not in secret and "plain" not in (first, second)):
                assert Masker([secret]).mask(f"<{mixed}>") == "<***>"


@pytest.mark.rule("X8")
@rows("secret", ["'quoted, and more'", '"quoted, and more"', "\\and so on\\", "'\"'\"'\"a\"'\"'"])
@rows("form", ["plain", "JSON", "JSON in ASCII", "HTML", "URL"])
def test_quotes_and_backslashes_at_the_edges_of_a_secret_are_masked_with_it(secret: str, form: str) -> None:
    """One of little else is known as it is, and as others write it."""
    assert Masker([secret]).mask(f"<{FORMS[form](secret)}> (a)") == "<***> (a)"


@pytest.mark.rule("X8")
def test_of_a_word_of_base64_or_hex_nothing_is_left() -> None:
    """Its other characters tell of the secret's first and last."""
    masker = Masker(["hunter2hunter2"])
    assert masker.mask("Basic " + FORMS["base64 at 2, 1 after"]("somebody:hunter2hunter2")) == "Basic ***"
    assert masker.mask("=" + "ab" * 50 + FORMS["hex"]("hunter2hunter2") + "cd" * 50 + "&") == "=***&"


def found_slowly(secrets: list[str], text: str) -> bool:
    """Whether the thorough search finds anything, all of the text in one piece and without the cheap look."""
    exact, in_words = SecretForms(secrets).spans(text.encode(), Work(10**12))
    return bool(exact or in_words)


PIECES = st.one_of(
    st.builds(lambda form, secret: FORMS[form](secret), st.sampled_from(sorted(FORMS)), st.sampled_from(PLANTED)),
    st.builds(lambda form, secret: IN_LINES[form](secret), st.sampled_from(sorted(IN_LINES)), st.sampled_from(PLANTED)),
    st.sampled_from(["\\", "%25", "%", "&amp;", "'", '"', " ", "\n", "\\n", "u00", "x4", "=", "+", "/", "word "]),
    st.text(alphabet="abc019%\\u'\"&;#x+/= \n\u00e9", max_size=12),
)


@pytest.mark.rule("X5", "X8")
@settings(max_examples=400)
@given(st.lists(PIECES, max_size=6), st.data())
def test_the_cheap_look_never_says_no_where_the_thorough_one_finds_something(
    pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces)
    if text:  # a form that is damaged, or cut in two, too
        start = data.draw(st.integers(0, len(text) - 1))
        text = text[:start] + text[start + data.draw(st.integers(0, 2)) :]
    masker = Masker(PLANTED)
    if found_slowly(PLANTED, text):
        assert masker.may_touch([text])
        assert masker.mask(text) != text
    elif masker.mask(text) != text:
        assert masker.may_touch([text])


@pytest.mark.rule("X8")
@given(
    st.sampled_from(sorted(FORMS)),
    st.text(min_size=8, max_size=40),
    st.text(alphabet='ab1%\\u/"+ =\u00e9-', max_size=30),
    st.text(alphabet='ab1%\\u/"+ =\u00e9-', max_size=30),
)
def test_any_secret_is_masked_in_any_form_and_place(form: str, secret: str, before: str, after: str) -> None:
    assume(secret == secret.strip() and "{" not in secret and secret not in before + after)
    text = FORMS[form](secret)
    masker = Masker([secret])
    assert masker.mask(f"\u20ac{text}\u20ac") == "\u20ac***\u20ac"
    # Beside others it may be a part of a longer word or escape, which is another text: it need not be all that goes.
    assert text not in masker.mask(f"{before}<{text}>{after}")


@pytest.mark.rule("X5", "X8")
@given(st.text(alphabet='hunter2%\\u006x "/+-', max_size=80))
def test_a_text_is_masked_the_same_alone_and_beside_a_secret(text: str) -> None:
    """The cheap look comes first: where it says no, the thorough one must find nothing either."""
    masker = Masker(["hunter2 hunter2", "%2unter/2", "uuuuuuuuuuuuuuuu"])
    beside = masker.mask(f"{text} \n\u20ac uuuuuuuuuuuuuuuu")
    assert beside == f"{masker.mask(text + ' ')}\n\u20ac ***"


BEFORE = (0, 65_530, 131_072 - 40, 200_000)


@pytest.mark.rule("X5", "X8")
@pytest.mark.parametrize(
    ("form", "before"),
    [
        # In the gate each form is in one of the places, and each place has a form in four.
        pytest.param(form, before, marks=() if number % len(BEFORE) == place else pytest.mark.nightly)
        for number, form in enumerate(FORMS)
        for place, before in enumerate(BEFORE)
    ],
)
def test_a_form_is_found_in_a_long_text_wherever_it_stands(form: str, before: int) -> None:
    secret = SECRETS["signs"]
    text = ". " * (before // 2) + f"<{FORMS[form](secret)}>" + ". " * 50_000
    assert Masker([secret]).mask(text) == ". " * (before // 2) + "<***>" + ". " * 50_000


@pytest.mark.rule("X5", "X8")
def test_the_longer_of_two_secrets_is_masked_with_the_shorter_one_in_it() -> None:
    masker = Masker(["word-and-more", "p@ss/word-and-more"])
    assert masker.mask("p%40ss%2Fword-and-more, word-and-more") == "***, ***"


def item(**fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_0", **fields}}


PLACES: dict[str, Any] = {
    "a message": lambda text: item(type="agent_message", text=text),
    "a thought": lambda text: item(type="reasoning", text=text),
    "an error": lambda text: {"type": "error", "message": text},
    "a warning": lambda text: item(type="error", message=text),
    "a plan": lambda text: item(type="todo_list", items=[{"text": text}]),
    "a command": lambda text: item(type="command_execution", command=text),
    "an output": lambda text: item(type="command_execution", aggregated_output=text),
    "stdout and stderr": lambda text: item(type="command_execution", stdout=text, stderr=text),
    "a path": lambda text: item(type="file_change", changes=[{"path": text}], diff=text),
    "arguments": lambda text: item(type="mcp_tool_call", server="s", tool="t", arguments={"a": [text]}),
    "a result": lambda text: item(type="mcp_tool_call", result={"content": [{"text": text}]}),
    "an error of MCP": lambda text: item(type="mcp_tool_call", error={"message": text}),
    "JSON in a result": lambda text: item(type="mcp_tool_call", result={"text": json.dumps({"a": text})}),
    "a prompt": lambda text: item(type="collab_tool_call", prompt=text, agents_states={"a": text}),
    "a search": lambda text: item(type="web_search", query=text, action={"url": text}),
    "a tool": lambda text: item(type="mcp_tool_call", server=text, tool=text),
    "an id": lambda text: item(type="web_search", id=text, query=""),
}


def given_out(reads: list[bytes], secret: str) -> bytes:
    pipeline = codex_pipeline(secrets=(secret,), full_payloads=True)
    events = [event for read in reads for event in pipeline.receive_data(read)] + pipeline.receive_eof()
    return encode_events(events) + encode_completion(len(events), pipeline.completion(ExitStatus(code=0)))


@pytest.mark.rule("X5", "X8", "M7")
@rows("form", FORMS)
@rows("place", PLACES)
def test_each_form_is_masked_in_each_place(place: str, form: str) -> None:
    secret = SECRETS["signs"]
    text = FORMS[form](secret)
    line = json.dumps(PLACES[place](f"a ({text}) b")).encode() + b"\n"
    found = given_out([line], secret)
    assert json.dumps(text).encode()[1:-1] not in found
    assert text.encode() not in found
    assert b"(***)" in found


@pytest.mark.rule("X5", "X8", "L5")
@pytest.mark.parametrize("form", ["plain", "JSON within JSON", "URL", "hex", "base64 at 1, 1 after"])
def test_no_cut_of_the_stream_lets_a_form_through(form: str) -> None:
    secret = SECRETS["a password"]
    places = ("a message", "an output", "a result")
    stream = b"".join(json.dumps(PLACES[place](FORMS[form](secret))).encode() + b"\n" for place in places)
    whole = given_out([stream], secret)
    assert whole.count(b"***") == len(places) + 1
    for cut in range(1, len(stream)):
        assert given_out([stream[:cut], stream[cut:]], secret) == whole
    assert given_out([stream[place : place + 1] for place in range(len(stream))], secret) == whole


@pytest.mark.rule("X5", "X8", "B2", "B3", "B5", "M7")
@rows("form", ["plain", "JSON, everything escaped", "URL", "hex", "base64 at 1, 1 after"])
@rows(
    ("place", "limit"),
    [("a message", 65_536), ("an error", 4_096), ("an output", 16_384), ("a result", 16_384), ("a path", 16_384)],
)
def test_of_a_form_across_a_cut_no_part_is_left(place: str, limit: int, form: str) -> None:
    secret = SECRETS["a token"]
    text = FORMS[form](secret)
    for inside in (1, 5, len(text) // 2, len(text) - 1, len(text), len(text) + 13):
        line = json.dumps(PLACES[place](". " * ((limit - inside) // 2) + text + " ." * 40_000)).encode() + b"\n"
        found = given_out([line], secret)
        assert text[:4].encode() not in found
        assert text[-5:].encode() not in found


@pytest.mark.rule("X5", "M7")
@given(
    st.lists(
        st.sampled_from(["word ", "hunter2hunter2", "x" * 3000, " ", "-----BEGIN PRIVATE KEY-----", "\n" * 500]),
        max_size=60,
    ).map("".join)
)
def test_a_long_payload_is_masked_as_if_it_were_masked_whole(text: str) -> None:
    """Only its beginning is looked at."""
    pipeline = codex_pipeline(secrets=("hunter2hunter2",), full_payloads=True)
    line = json.dumps(item(type="command_execution", aggregated_output="word " * 13_000 + text)).encode() + b"\n"
    plain = codex_pipeline(full_payloads=True)
    masked = Masker(["hunter2hunter2"]).mask("word " * 13_000 + text)
    same = json.dumps(item(type="command_execution", aggregated_output=masked)).encode() + b"\n"
    (event,) = pipeline.receive_data(line)
    (expected,) = plain.receive_data(same)
    assert event.data is not None
    assert event.data.output == expected.data.output  # type: ignore[union-attr]
