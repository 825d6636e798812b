"""Read the front matter of a SKILL.md (Z2)."""

from __future__ import annotations

import re
from typing import Final

import yaml

from codex_adapter.spaces.errors import SpaceError

__all__ = ["read_front_matter"]

_FENCE: Final = "---"
_INVALID: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""Characters on which YAML parsers differ: some take them as the end of a line, some as an error."""
_NULL: Final = "tag:yaml.org,2002:null"
_LONGEST: Final = 64 * 1024
"""Characters. Skills have a few hundred. Parsing this many takes a second."""


def read_front_matter(text: str, name: str) -> dict[str, str]:
    """Return the values of the front matter by their keys: texts on one line, empty for values of another type (Z2).

    Errors use `name` for the file. Raises `SpaceError`.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise SpaceError(f"{name} does not begin with front matter between two lines '---'")
    head = lines[1 : lines.index(_FENCE, 1)]
    if sum(map(len, head)) > _LONGEST:
        raise SpaceError(f"{name}: its front matter is longer than {_LONGEST >> 10} KiB. Make it shorter.")
    for number, line in enumerate(head, 2):
        if _INVALID.search(line):
            raise SpaceError(f"{name}: line {number} has a control character or an invalid character. Remove it.")
    found: dict[str, str] = {}
    for key, value in _parse_table(head, name).value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in found:
            raise SpaceError(f"{name}: the key in line {key.start_mark.line + 2} occurs twice. Remove one.")
        found[key.value] = _read_text(value, f"{name}: the value in line {value.start_mark.line + 2}")
    return found


def _parse_table(head: list[str], name: str) -> yaml.MappingNode:
    try:
        # The loader in C crashes on deep nesting.
        node = yaml.compose("\n".join(head), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 2}" if mark is not None else "it"
        raise SpaceError(f"{name}: {where} is not valid YAML. Put texts in quotes.") from None
    except (yaml.YAMLError, RecursionError, ValueError, ArithmeticError, LookupError):
        raise SpaceError(f"{name}: its front matter is not valid YAML. Fix it.") from None
    if node is None:
        return yaml.MappingNode("", [])
    if not isinstance(node, yaml.MappingNode):
        raise SpaceError(f"{name}: its front matter has no keys. Write lines 'key: value'.")
    return node


def _read_text(node: yaml.Node, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL:
        return ""
    text = " ".join(str(node.value).split())
    if _INVALID.search(text):
        raise SpaceError(f"{what} has a control character or an invalid character. Remove it.")
    return text
