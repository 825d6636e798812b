"""Find prose that breaks the style guide in CONTRIBUTING.md, and measure how readable the prose is.

`python -m tests.house.english [PATH...]` prints each finding as `path:line: rule: excerpt`, for the files and folders
named, or for all that the gate checks. `--measure` prints counts, mean sentence lengths and grades instead.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["CHECKED", "Finding", "Passage", "check", "passages"]

ROOT: Final = Path(__file__).parents[2]
CHECKED: Final = (
    "codex_adapter",
    "specs",
    "docs",
    "examples",
    "contrib",
    "clients",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
"""What the gate checks. CHANGELOG.md is not checked, because it describes earlier behaviour in earlier words."""

LONGEST: Final = 30
"""The limit of words in a sentence. The guide asks for 25; the rest is room for names."""

WORDS: Final = {
    "is no": r"\b(?<!there )(?:is|are|was|were|be|been) (?:no|(?-i:none))\b(?! longer| more| later| less)",
    "there is none": r"\bthere (?:is|are|was|were) none\b",
    "tell": r"\b(?:tell|tells|told|telling|untold)\b",
    "say": r"\b(?:said|saying|sayings)\b",
    "go on": r"\b(?:go|goes|going|gone|went) on\b",
    "gone": r"\bgone\b",
    "nobody": r"\b(?:whoever|whom|whomever|nobody|somebody|anybody|no-one|whosoever)\b",
    "headless who": r"(?:^|[.;:,(] )[Ww]ho\b(?! is this)",
    "what of": r"\b[Ww]hat (?:of|came|comes|becomes|became)\b|\bc[ao]me of (?:it|them)\b",
    "comes": r"\b(?:come|comes|came|coming)\b(?! (?:from|with|before|after|first|last|back))",
    "handed": r"\b(?:hands?|handed|handing) (?:on|over|to|in|out|down)\b|\bhanded\b",
    "is given": r"\b(?:is|are|was|were|be|been|being) given\b",
    "carried out": r"\b(?:carry|carries|carried|carrying) (?:out|through|on)\b",
    "mend": r"\b(?:mend|mends|mended|mending)\b",
    "bear": r"\b(?:bear|bears|bore|borne|bearing)\b",
    "at one stroke": r"\bat one stroke\b|\bat a stroke\b",
    "is there": r"(?:\b(?:is|are|was|were|be|been)|n't) (?:not )?there\b(?! (?:a|an|any|is|are|was|were)\b)",
    "to be had": r"\bto be had\b|\bcan be had\b|\bbe had\b",
    "as may be": r"\bas may be\b",
    "by hand": r"\bby hand\b|\bdoings?\b|\bhappenings?\b",
    "stands": r"\b(?:stand|stands|stood)\b(?! (?:between|for|alone))",
    "shall": r"\bshall\b",
    "but for": r"\bbut for\b|\bnothing but\b|\bnone but\b|\bno other than\b",
    "wants": r"\bwants? (?:a|an|to|the|no)\b",
    "lest": r"\b(?:lest|whence|hither|thither|therein|thereof|whereof|forthwith|aught|ere|amidst|in its midst)\b",
    "nor": r"(?:^|[.;] )Nor\b|\bneither of which\b",
    "is to": r"\b(?:is|are|was|were) to (?!be sure)(?:be )?[a-z]+(?:ed|en|ept|ent|n|t)\b(?= [.,;:]|\.|,|$)",
    "learnt": r"\b(?:learnt|whilst|amongst|amidst|wherefrom|whereby|therewith)\b",
    "for good": r"\bfor good\b|\bas ever\b|\bat all times\b",
}
"""Phrases of a private dialect, by name. What to write instead is a table in CONTRIBUTING.md."""

IDENTIFIERS: Final = frozenset(
    """
        told tell tells gone hear hears heard chosen given carry carried come came mend mends say said
        saying sayings happening happenings doing doings whom whoever nobody somebody bear borne
    """.split()  # noqa: SIM905 - a list of words
)
"""Parts of names that are refused: a function is a verb and a value a noun, in the field's standard terms."""

_FIRST_WORDS: Final = frozenset(
    """
        the a an this that these those what whether which who how why when where all each every any its his
        their as one it if for in on at by of to from with without none no nothing true false same both
        another other some several anything everything something
    """.split()  # noqa: SIM905 - a list of words
)
_RULE: Final = r"[A-Z]{1,2}\d+"
_RULES: Final = re.compile(rf"\((?:see )?{_RULE}(?:(?:, | to | and |, and ){_RULE})*\)")
_RULES_AT_THE_END: Final = re.compile(rf"{_RULES.pattern}[.:]?\s*$", re.MULTILINE)
_PROSE: Final = re.compile(r"[a-z]{2,} [a-z]+[ ,.:;].* ")
_SENTENCE: Final = re.compile(r"\b(?:the|an|is|are|be|was|of|to|and|for|with|not|it)\b", re.IGNORECASE)
"""A word that sentences have. A long text without any is a table of names."""
_SHORT: Final = 100
_CODE_COMMENT: Final = re.compile(r"noqa|type:|pragma|fmt:|!/|mypy:|ruff:")


class Passage(NamedTuple):
    """A run of prose: the file, its first line, `docstring`, `comment`, `text` or `page`, and the text itself.

    `owner` is what a docstring documents: `module`, `class`, `function`, `property`, or empty for anything else.
    """

    path: Path
    line: int
    kind: str
    text: str
    owner: str = ""


class Finding(NamedTuple):
    """A place that breaks the guide: the file, the line, the name of what is broken and the words around it."""

    path: Path
    line: int
    name: str
    excerpt: str


def check(paths: Iterable[Path]) -> list[Finding]:
    """Return everything in these files and folders that breaks the guide."""
    found: list[Finding] = []
    for path in _files(paths):
        for passage in passages(path):
            found += _check_words(passage)
            found += _check_sentences(passage)
            found += _check_docstring(passage)
        if path.suffix == ".py":
            found += _check_identifiers(path)
        elif path.name == "README.md" or {"tutorials", "how-to", "explanation"} & set(path.parts):
            found += _check_ids(path)
    return found


def passages(path: Path) -> Iterator[Passage]:
    """Yield the prose of a Markdown page or a Python module."""
    text = path.read_text()
    if path.suffix == ".py":
        tree = ast.parse(text)
        documented = dict(_docstrings(path, tree))
        yield from documented.values()
        yield from _texts(path, tree, documented.keys())
        yield from _comments(path, text)
    else:
        yield from _page(path, text)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a passage, without code."""
    plain = re.sub(r"`[^`]*`|\{[^{}]*\}", "code", text)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    for paragraph in re.split(r"\n\s*\n|\n\s*(?=[-*|] )", plain):
        for sentence in re.split(r"(?<=[.!?;:])[\"')*_]*\s+", " ".join(paragraph.split())):
            if len(sentence.split()) > 1:
                yield sentence


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            for found in sorted(path.rglob("*")):
                if found.suffix in (".py", ".md") and not {"node_modules", "generated"} & set(found.parts):
                    yield found
        else:
            yield path


def _docstrings(path: Path, tree: ast.Module) -> Iterator[tuple[int, Passage]]:
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for before, statement in zip([None, *node.body], node.body, strict=False):
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text)) as constant):
                    owner = _owner(node) if before is None else "attribute"
                    yield id(constant), Passage(path, constant.lineno, "docstring", text, owner)


def _owner(node: ast.AST) -> str:
    match node:
        case ast.Module():
            return "module"
        case ast.ClassDef():
            return "class"
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            names = {ast.unparse(each).rpartition(".")[2] for each in decorators}
            return "property" if names & {"property", "cached_property", "setter"} else "function"
    return ""


def _texts(path: Path, tree: ast.Module, documented: Iterable[int]) -> Iterator[Passage]:
    """Yield the string literals that a person may read; parts of f-strings are put together."""
    skipped = set(documented)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node) if part is not node)
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{name}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            text = node.value
        else:
            continue
        if _PROSE.search(f" {text} ") and (len(text) < _SHORT or _SENTENCE.search(text)):
            yield Passage(path, node.lineno, "text", text)


def _comments(path: Path, text: str) -> Iterator[Passage]:
    start, lines, last = 0, list[str](), -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or _CODE_COMMENT.search(token.string):
            continue
        number = token.start[0]
        if number != last + 1 and lines:
            yield Passage(path, start, "comment", "\n".join(lines))
            lines = []
        if not lines:
            start = number
        lines.append(token.string.lstrip("#: "))
        last = number
    if lines:
        yield Passage(path, start, "comment", "\n".join(lines))


def _page(path: Path, text: str) -> Iterator[Passage]:
    """Yield the paragraphs, list items and table cells of a Markdown page, without its blocks of code."""
    fenced, start, lines = False, 1, list[str]()

    def passage() -> Iterator[Passage]:
        if lines:
            yield Passage(path, start, "page", "\n".join(lines))
            lines.clear()

    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            yield from passage()
        elif fenced or line.startswith(("    ", "<")):
            yield from passage()
        elif line.lstrip().startswith("|"):
            yield from passage()
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                yield Passage(path, number, "page", cell.strip())
        elif not line.strip() or re.match(r"\s*(?:[-*]|\d+\.|#+) ", line):
            yield from passage()
            start = number
            if line.strip():
                lines.append(re.sub(r"^\s*(?:[-*]|\d+\.|#+) ", "", line))
        else:
            if not lines:
                start = number
            lines.append(line.strip())
    yield from passage()


def _check_words(passage: Passage) -> Iterator[Finding]:
    plain = re.sub(r"`[^`\n]*`|\{[^{}]*\}|\"[^\"\n]{1,60}\"|“[^”]*”", "code", passage.text)
    plain = " ".join(plain.split())
    for name, pattern in WORDS.items():
        for match in re.finditer(pattern, plain, re.IGNORECASE):
            around = plain[max(0, match.start() - 40) : match.end() + 40]
            yield Finding(passage.path, passage.line, name, around)


def _check_sentences(passage: Passage) -> Iterator[Finding]:
    for sentence in sentences(passage.text):
        words = len(sentence.split())
        if words > LONGEST:
            yield Finding(passage.path, passage.line, f"a sentence of {words} words", sentence[:80])


def _check_docstring(passage: Passage) -> Iterator[Finding]:
    if passage.kind != "docstring":
        return
    first = passage.text.split(maxsplit=1)[0].strip(".,:;`").lower() if passage.text.strip() else ""
    if passage.owner in ("function", "module") and (first in _FIRST_WORDS or _is_inflected(first)):
        yield Finding(passage.path, passage.line, "no imperative verb first", passage.text[:60])
    for paragraph in passage.text.split("\n\n"):
        rules = len(_RULES.findall(paragraph))
        if rules > len(_RULES_AT_THE_END.findall(paragraph)):
            yield Finding(passage.path, passage.line, "a rule's id in mid-sentence", " ".join(paragraph.split())[:80])


def _is_inflected(word: str) -> bool:
    return bool(re.fullmatch(r"[a-z]+(?:[^su]s|ing|ed)", word)) and word not in ("need", "feed", "bring", "embed")


def _check_identifiers(path: Path) -> Iterator[Finding]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.NAME and IDENTIFIERS & set(token.string.lower().strip("_").split("_")):
            yield Finding(path, token.start[0], "a name in dialect", token.string)


def _check_ids(path: Path) -> Iterator[Finding]:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := _RULES.search(line):
            yield Finding(path, number, "a rule's id on a page for users", match[0])


def _syllables(word: str) -> int:
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    return max(1, groups - (word.lower().endswith("e") and not word.lower().endswith("le")))


def _measure(name: str, found: Iterable[Passage]) -> str:
    texts = [sentence for passage in found for sentence in sentences(passage.text)]
    words = [word for sentence in texts for word in re.findall(r"[A-Za-z']+", sentence)]
    length = len(words) / max(1, len(texts))
    grade = 0.39 * length + 11.8 * sum(map(_syllables, words)) / max(1, len(words)) - 15.59
    return f"{name:12} {len(words):7} words  {length:5.1f} a sentence  Flesch-Kincaid grade {grade:4.1f}"


def main() -> None:
    """Print the findings, or the measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--measure", action="store_true", help="print counts and grades instead")
    arguments = parser.parse_args()
    paths = arguments.paths or [path for name in CHECKED if (path := ROOT / name).exists()]
    found = check(paths)
    if arguments.measure:
        groups: dict[str, list[Passage]] = {}
        for path in _files(paths):
            for passage in passages(path):
                groups.setdefault(passage.kind if passage.kind != "page" else path.parts[len(ROOT.parts)], []).append(
                    passage
                )
        for name, group in sorted(groups.items()):
            sys.stdout.write(f"{_measure(name, group)}\n")
        for name, number in Counter(re.sub(r"\d+", "n", each.name) for each in found).most_common():
            sys.stdout.write(f"{number:6} {name}\n")
    else:
        for each in found:
            sys.stdout.write(f"{each.path}:{each.line}: {each.name}: {each.excerpt!r}\n")
    sys.stdout.write(f"{len(found)} findings\n")


if __name__ == "__main__":
    main()
