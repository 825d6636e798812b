"""Provide Markdown for tests: a complete sample, random marks, and texts that are slow to parse."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["EVERYTHING", "PIECES", "slow_texts"]

EVERYTHING = """\
# Result

Fixed *one* and **two**, ~~not three~~, in `guard.py`: [the docs](https://example.org/a?b=c), <https://auto.example>,
[guard](/w/guard.py:12) on its own line.

## Steps

- first
  - inner
1. one
2. two

> quoted

```python
def f(x): return x
```

| name | count |
|------|------:|
| left | 42    |

---
"""
PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "# ",
                "- ",
                "1. ",
                "> ",
                "    ",
                "```",
                "~~~",
                "***",
                "**",
                "*",
                "_",
                "~~",
                "`",
                "``",
                "\n",
                "\n\n",
                " ",
                "\\",
            ),
            *(
                "|",
                "|-|-|\n",
                "| a | b |\n|---|:-:|\n",
                "[",
                "](",
                ")",
                "![",
                "<",
                ">",
                "](http://a.b)",
                "](javascript:x)",
            ),
            *(
                "](data:text/html,x)",
                "](JaVaScRiPt:x)",
                "](&#106;avascript:x)",
                "<javascript:x>",
                "<http://e.f/>",
                "[c]: http://c.d\n",
            ),
            *(
                "<script>x</script>",
                "<img src=http://x onerror=y>",
                "<!-- ",
                "-->",
                "<b onclick=x>",
                "&lt;",
                "&amp;",
                "&#27;[31m",
            ),
            *(
                "&#x1b;]0;t&#7;",
                "&#x202e;",
                "&#x9b;",
                "\x1b[2J",
                "\u202e",
                "\x00",
                "\r",
                "\t",
                "word",
                "é",
                "🙂",
                '"',
                "'",
            ),
        ]
    )
    | st.text(max_size=8),
    max_size=40,
).map("".join)
"""Texts of which most are Markdown, and many hostile."""


def slow_texts(size: int) -> dict[str, str]:
    """Texts of about `size` characters that have been slow in one parser of Markdown or another."""

    def many(text: str) -> str:
        return (text * (size // len(text) + 1))[:size]

    repeated = {
        **{
            "quotes": "> ",
            "bare quotes": ">",
            "brackets": "[",
            "letters in brackets": "[a",
            "links": "[a](",
            "closing": "]",
        },
        **{
            "emphasis": "*a _a ",
            "strong": "*a **a ",
            "mixed emphasis": "a**bc* ",
            "underscores": "_ a",
            "code": "`a``b",
        },
        **{
            "less than": "<a",
            "autolinks": "<http:",
            "entities": "&#",
            "backslashes": "\\",
            "strikes": "~~a ",
            "images": "![",
        },
        **{
            "rules": "- ",
            "numbers": "1. ",
            "pipes": "|",
            "tables": "|a|b|c|\n|-|-|-|\n",
            "letters": "x",
            "lines": "a\n",
        },
        **{
            "headings": "# a\n",
            "fences": "```\n",
            "underlined": "a\n=\n",
            "quoted lines": "> a\n",
            "spaces": " ",
            "tabs": "\t",
        },
        **{"targets": "[a](<b", "titles": '[a](b "', "html": '<a href="', "comments": "<!-- a", "items": "-\n\n"},
        **{"definitions": "[a]: b\n", "uses": "[a]: b\n[a] [a] [a]\n", "table ends": "|a|\n|-|\n> x\n"},
    }
    columns = size // 4
    return {name: many(text) for name, text in repeated.items()} | {
        "nested brackets": "[" * (size // 2) + "]" * (size // 2),
        "nested emphasis": "*" * (size // 2) + "a" + "*" * (size // 2),
        "nested lists": "".join(" " * (2 * level) + "- a\n" for level in range(int(size**0.5))),
        "lazy lines": "> " * 100 + "a\n" * (size // 2 - 100),
        "backticks": "".join("e" + "`" * length for length in range(int((2 * size) ** 0.5))),
        "wide table": "|a" * (columns // 3) + "|\n" + "|-" * (columns // 3) + "|\n" + "|a\n" * (size // 6),
        "many wide tables": many("|a" * 30 + "|\n" + "|-" * 30 + "|\n" + "|a\n" * 40 + "\n"),
        "many cells": "|a|\n|-|\n" + many("|" + "\\|" * 100 + "\n"),
    }
