"""Describe the members of JSON Schemas with the docstrings below the fields of the structs (C5)."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

import msgspec

__all__ = ["describe_members", "without_ids"]

_NO_NAMES: Final[Mapping[type[Any], str]] = MappingProxyType({})
_IDS: Final = re.compile(r" \([A-Z]+[0-9]+(?:(?:, | to )[A-Z]+[0-9]+)*\)")
"""Rule ids in a docstring. A reader of a schema does not know them."""


def without_ids(text: str) -> str:
    """Return the text of a docstring without rule ids."""
    return _IDS.sub("", text)


def describe_members(
    definitions: Mapping[str, Any], kinds: Iterable[type[Any]], names: Mapping[type[Any], str] = _NO_NAMES
) -> None:
    """Add a description to each member that a struct of `kinds`, or a struct in their fields, describes.

    `definitions` has the schema of each struct under its name in `names`, or else under the name of its class.
    """
    for kind in _structs(kinds):
        properties = definitions.get(names.get(kind, kind.__name__), {}).get("properties", {})
        texts = {name: text for base in reversed(kind.__mro__) for name, text in _field_texts(base).items()}
        for field in msgspec.structs.fields(kind):
            if field.name in texts and field.encode_name in properties:
                member = properties[field.encode_name]
                properties[field.encode_name] = {**member, "description": texts[field.name]}


def _structs(kinds: Iterable[type[Any]]) -> Iterator[type[msgspec.Struct]]:
    """Yield all structs in the types of these kinds, and these themselves."""
    seen = set[type[Any]]()
    rest: list[Any] = [*msgspec.inspect.multi_type_info(kinds)]
    while rest:
        match rest.pop():
            case msgspec.inspect.StructType(cls=kind, fields=fields):
                if kind not in seen:
                    seen.add(kind)
                    yield kind
                    rest += [field.type for field in fields]
            case msgspec.Struct() as node:
                rest += [getattr(node, name) for name in node.__struct_fields__]
            case list() | tuple() as nodes:
                rest += nodes


@cache
def _field_texts(kind: type[Any]) -> dict[str, str]:
    """Return the docstrings of the fields that a class defines itself, by the names of the fields."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):  # the class has no source, for example `object`
        return {}
    texts = {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                texts[name] = without_ids(" ".join(inspect.cleandoc(words).split()))
    return texts
