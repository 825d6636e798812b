"""Read the front matter of a SKILL.md (Z2)."""

from __future__ import annotations

import re
from typing import Final

import yaml

from codex_adapter.spaces.errors import SpaceError

__all__ = ["read_front_matter"]

_FENCE: Final = "---"
_NO_TEXT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""Characters that readers of YAML treat differently: as the end of a line, or as an error."""
_NULL: Final = "tag:yaml.org,2002:null"
_LONGEST: Final = 64 * 1024
"""Characters. Skills have a few hundred; reading this many takes a second."""


def read_front_matter(text: str, name: str) -> dict[str, str]:
    """Return the texts of the front matter by keys, each on one line, empty for another type (Z2).

    Errors call the file `name`. Raises `SpaceError`.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise SpaceError(f"{name} does not begin with front matter between lines '---'")
    head = lines[1 : lines.index(_FENCE, 1)]
    if sum(map(len, head)) > _LONGEST:
        raise SpaceError(f"{name}: its front matter is longer than {_LONGEST >> 10} KiB; make it shorter")
    for number, line in enumerate(head, 2):
        if _NO_TEXT.search(line):
            raise SpaceError(f"{name}: line {number} has a character that is no text; remove it")
    found: dict[str, str] = {}
    for key, value in _table(head, name).value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in found:
            raise SpaceError(f"{name}: the key in line {key.start_mark.line + 2} is there twice")
        found[key.value] = _text(value, f"{name}: the value in line {value.start_mark.line + 2}")
    return found


def _table(head: list[str], name: str) -> yaml.MappingNode:
    try:
        # Not the loader in C, which crashes on deep nesting.
        node = yaml.compose("\n".join(head), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 2}" if mark is not None else "it"
        raise SpaceError(f"{name}: {where} is no YAML as it stands; put texts in quotes") from None
    except (yaml.YAMLError, RecursionError, ValueError, ArithmeticError, LookupError):
        raise SpaceError(f"{name}: its front matter is no YAML") from None
    if node is None:
        return yaml.MappingNode("", [])
    if not isinstance(node, yaml.MappingNode):
        raise SpaceError(f"{name}: its front matter has no keys; write lines 'key: value'")
    return node


def _text(node: yaml.Node, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL:
        return ""
    text = " ".join(str(node.value).split())
    if _NO_TEXT.search(text):
        raise SpaceError(f"{what} has a character that is no text; remove it")
    return text
