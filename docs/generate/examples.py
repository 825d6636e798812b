"""Find a real example for every definition of a JSON Schema, among recorded lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import jsonschema

__all__ = ["Examples"]

_KEYWORDS: Final = ("$defs", "definitions")


class Examples:
    """The examples of one schema: for each definition, the values that recorded lines have for it."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        [self._keyword] = [word for word in _KEYWORDS if word in schema]
        self.definitions: dict[str, dict[str, Any]] = schema[self._keyword]
        self._found: dict[str, dict[str, Any]] = {}
        self._whole: list[Any] = []
        self._is_valid = cache(self._is_valid_json)

    def add(self, name: str | None, value: Any) -> None:
        """Add a value of a definition and the values inside it. None is the schema itself.

        Raise jsonschema.ValidationError if the value does not fit the definition.
        """
        self.check(name, value)
        self._visit(self._node(name), value)
        if name is None:
            self._whole.append(value)

    def check(self, name: str | None, value: Any) -> None:
        """Raise jsonschema.ValidationError if a value does not fit a definition. None is the schema itself."""
        self._validator(self._node(name)).validate(value)

    def whole(self) -> list[Any]:
        """Return the values that were added of the schema itself."""
        return [*self._whole]

    def of(self, name: str) -> list[Any]:
        """Return the values of a definition, the most complete first."""
        found = self._found.get(name, {})
        return [found[text] for text in sorted(found, key=lambda text: (-_members(found[text]), len(text), text))]

    def first(self, name: str) -> list[Any]:
        """Return the value of a definition that was added first, in a list, or an empty list."""
        return [*self._found.get(name, {}).values()][:1]

    def missing(self) -> list[str]:
        """Return the names of the definitions without an example."""
        return [name for name in self.definitions if name not in self._found]

    def _node(self, name: str | None) -> Mapping[str, Any]:
        return self.schema if name is None else {"$ref": f"#/{self._keyword}/{name}"}

    def _validator(self, node: Mapping[str, Any]) -> Any:
        schema = {**node, self._keyword: self.definitions, "$schema": self.schema["$schema"]}
        return jsonschema.validators.validator_for(schema)(schema)

    def _is_valid_json(self, node: str, value: str) -> bool:
        return bool(self._validator(json.loads(node)).is_valid(json.loads(value)))

    def _visit(self, node: Any, value: Any) -> None:
        if not isinstance(node, dict):
            return
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            self._found.setdefault(name, {}).setdefault(json.dumps(value, sort_keys=True), value)
            self._visit(self.definitions[name], value)
        for alternative in node.get("anyOf") or node.get("oneOf") or ():
            if self._is_valid(json.dumps(alternative), json.dumps(value)):
                self._visit(alternative, value)
                break
        for inner, member in _inner(node, value):
            self._visit(inner, member)


def _inner(node: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        known = node.get("properties", {})
        yield from ((known.get(name, node.get("additionalProperties")), member) for name, member in value.items())
    elif isinstance(value, list):
        yield from ((node.get("items"), item) for item in value)


def _members(value: Any) -> int:
    return len(value) if isinstance(value, dict) else 0
