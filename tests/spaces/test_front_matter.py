"""Test the front matter of skills: YAML strings are accepted, other values are named but not quoted."""

from __future__ import annotations

import pytest

from codex_adapter.spaces import SpaceError
from codex_adapter.spaces.space_files import read_space

from ..rows import rows

pytestmark = pytest.mark.rule("Z2")

SECRET = "s3cr3t-v4lue"
MANIFEST = b'schema = 1\nid = "a"\n'


def descriptions(text: str | bytes, name: str = "s") -> dict[str, str]:
    content = text.encode() if isinstance(text, str) else text
    return read_space({"space.toml": MANIFEST, f"skills/{name}/SKILL.md": content}).skills


@rows(
    ("head", "description"),
    [
        ("description: Does it", "Does it"),
        ("name: s\ndescription:   Does it   # so", "Does it"),
        ('description: "a: \\"b\\""\nname: \'s\'', 'a: "b"'),
        ("description: 'it''s' # yes", "it's"),
        ("description: >-\n  Does\n  it\nallowed-tools: [a, b]", "Does it"),
        ("# why\nmetadata:\n  description: no\ndescription: yes", "yes"),
        ("description:\n  Does it\n\n", "Does it"),
        ("description: http://x\r", "http://x"),
        ("tools:\n- a\n-\n- b\ndescription: Does it", "Does it"),
        ('description: "a\\tb \\u00e9\\x41\\U0001F600\\\\n"', "a b éA😀\\n"),
        ('description: "one\n  two"\n"k": 1\nmy.key: 2\nmy key : 3', "one two"),
        ("description:\n  'one'", "one"),
        ("description: one\n  two # so", "one two"),
        ("description: |2\n   # one\n  two", "# one two"),
        ("description: | # so\n  one\n\n   two", "one two"),
        ("metadata: {a: [b, 'c}'], d: e}\ntools: [a,\n  b # c\n]\ndescription: x", "x"),
        ("metadata: # so\n  # so\n  a: b\ndescription: x", "x"),
        ("description: a:b, c [d] {e} 'f' #g", "a:b, c [d] {e} 'f'"),
        ("a: &a one\n? [b]\n: c\ndescription: *a", "one"),
        ("description: !!str 5", "5"),
    ],
)
def test_a_skill_is_known_by_its_front_matter(head: str, description: str) -> None:
    assert descriptions(f"---\n{head}\n---\nBody\n") == {"s": description}


@rows(
    ("text", "says"),
    [
        ("Body", "does not begin with front matter"),
        ("\n---\ndescription: x\n---", "does not begin with front matter"),
        ("---\ndescription: x\n", "does not begin with front matter"),
        ("---\nname: s\n---", "the key 'description' is missing or empty. Add a description."),
        ("---\ndescription: ''\n---", "the key 'description' is missing or empty. Add a description."),
        ("---\ndescription: # x\n---", "the key 'description' is missing or empty. Add a description."),
        (
            f"---\nname: {SECRET}\ndescription: x\n---",
            "the key 'name' is not the name of its directory. Change one of them.",
        ),
        (f"---\ndescription: x\n{SECRET}\n---", "line 3 is not valid YAML. Put texts in quotes."),
        ("---\n- a\n---", "its front matter has no keys. Write lines 'key: value'."),
        ("---\n---", "the key 'description' is missing or empty. Add a description."),
        *(
            (f"---\ndescription: {it}\n---", "the key 'description' is missing")
            for it in ("~", "null", "[a]", "{a: b}", ">", "\n  a: b", "\n- a")
        ),
        *(
            (f"---\ndescription: {it} {SECRET}\n---", "line 2 is not valid YAML. Put texts in quotes.")
            for it in (
                "'",
                '"',
                "'x'",
                "one:",
                "-",
                "?",
                ",x",
                "]x",
                ">x",
                "|x",
                "*a",
                "@x",
                "%x",
                "`x`",
                "{a]",
                "[a",
                '"\\q',
            )
        ),
        *(
            (f"---\ndescription: {it}\n---", "line 3 is not valid YAML")
            for it in ("x\n  more: y", "x # y\n  more", "x\n- y", ">\n- y", ">\n\tx")
        ),
        ("---\ndescription: x\ndescription: y\n---", "the key in line 3 occurs twice"),
        ("---\n'a': x\na: y\n---", "the key in line 3 occurs twice"),
        ('---\ndescription: "\\UFFFFFFFF"\n---', "its front matter is not valid YAML. Fix it."),
        (f"---\ndescription: {'[' * 20_000}\n---", "its front matter is not valid YAML. Fix it."),
        (f"---\ndescription: {'x' * 66_000}\n---", "its front matter is longer than 64 KiB"),
        ('---\ndescription: "\\ud800"\n---', "the value in line 2 has a control character or an invalid character"),
        ('---\ndescription: "\\0"\n---', "the value in line 2 has a control character or an invalid character"),
        ("---\nx: 1\ndescription: a\x07\n---", "line 3 has a control character or an invalid character"),
        ("---\ndescription: a\u2028b\n---", "line 2 has a control character or an invalid character"),
        (b"---\ndescription: \xff\n---", "is not UTF-8"),
    ],
)
def test_what_is_wrong_in_front_matter_is_named(text: str | bytes, says: str) -> None:
    with pytest.raises(SpaceError) as caught:
        descriptions(text)
    assert str(caught.value).removeprefix("skills/s/SKILL.md").lstrip(": ").startswith(says)
    assert SECRET not in str(caught.value)


def test_a_skill_has_a_name_that_every_harness_takes() -> None:
    text = "---\ndescription: x\n---"
    for name in ("a", "1", "a_b-c", "a" * 64):
        assert descriptions(text, name) == {name: "x"}
    for name in ("A b", "A", "-a", "a.b", "a" * 65, "ü", "a\n"):
        with pytest.raises(SpaceError, match="Rename its directory"):
            descriptions(text, name)
