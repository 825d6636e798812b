"""Prepare docstrings for the site: without rule ids, and with the fields of structs in their signatures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import griffe
from typing_extensions import override

from docs.generate.markdown import without_ids

__all__ = ["Docstrings"]

_STRUCTS: Final = ("Struct", "NamedTuple")


class Docstrings(griffe.Extension):
    """What Griffe does with each object that it loads."""

    @override
    def on_object(self, *, obj: griffe.Object, **_others: Any) -> None:
        """Remove rule ids from its docstring."""
        if obj.docstring is not None:
            obj.docstring.value = without_ids(obj.docstring.value)

    @override
    def on_package(self, *, pkg: griffe.Module, **_others: Any) -> None:
        """Give each struct a constructor with its fields."""
        structs: list[griffe.Class] = []
        for kind in list(_classes(pkg)):
            if "__init__" not in kind.members and any(base in _STRUCTS for base in _bases(kind)):
                kind.set_member("__init__", _constructor(kind))
                structs.append(kind)
        # Only now, since the fields of a class are found by its bases.
        for kind in structs:
            kind.bases = [base for base in kind.bases if _name(base) not in _STRUCTS]


def _classes(module: griffe.Object) -> Iterator[griffe.Class]:
    for member in module.members.values():
        if isinstance(member, griffe.Class):
            yield member
        if isinstance(member, griffe.Module | griffe.Class):
            yield from _classes(member)


def _bases(kind: griffe.Class) -> Iterator[str]:
    """Return the names of the classes above, those outside of the package included."""
    for each in (kind, *kind.mro()):
        yield from map(_name, each.bases)


def _name(base: object) -> str:
    return str(base).rpartition(".")[2]


def _constructor(kind: griffe.Class) -> griffe.Function:
    fields: dict[str, griffe.Attribute] = {}
    for each in (*reversed(kind.mro()), kind):
        for name, member in each.members.items():
            if isinstance(member, griffe.Attribute) and _is_field(member):
                fields[name] = member
    ways = griffe.ParameterKind
    way = ways.keyword_only if str(kind.keywords.get("kw_only")) == "True" else ways.positional_or_keyword
    parameters = [griffe.Parameter("self", kind=ways.positional_or_keyword)]
    for name, field in fields.items():
        # A private constant says nothing to a reader.
        default = "..." if str(field.value or "").startswith("_") else field.value
        parameters.append(griffe.Parameter(name, annotation=field.annotation, kind=way, default=default))
    return griffe.Function("__init__", parameters=griffe.Parameters(*parameters), parent=kind)


def _is_field(member: griffe.Attribute) -> bool:
    annotation = str(member.annotation or "ClassVar")
    return not annotation.startswith(("ClassVar", "Final", "typing.ClassVar"))
