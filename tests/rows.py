"""Run one test for many rows of a table, as one case: `rows` is used like `pytest.mark.parametrize`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

__all__ = ["Failures", "rows"]

MOST_SHOWN = 10

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Failures:
    """The failures of a table's rows, raised together when all rows had their turn."""

    def __init__(self) -> None:
        self._found: list[tuple[str, Exception]] = []
        self._skipped: BaseException | None = None
        self._passed = 0

    def of(self, name: str | None, *cells: object) -> _Row:
        """Return a block for one row, with its name or its cells; what it raises is kept."""
        return _Row(self, name, cells)

    def __enter__(self) -> Failures:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        if not self._passed and not self._found and self._skipped is not None:
            raise self._skipped
        if self._found:
            names = ", ".join(row for row, _ in self._found)
            errors = [error for _, error in self._found[:MOST_SHOWN]]
            raise ExceptionGroup(f"{len(self._found)} rows failed: {names:.2000}", errors)


class _Row:
    def __init__(self, failures: Failures, name: str | None, cells: tuple[object, ...]) -> None:
        self._failures = failures
        self._name = name
        self._cells = cells

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if error is None:
            self._failures._passed += 1
            return True
        if isinstance(error, pytest.skip.Exception):
            self._failures._skipped = error
            return True
        name = self._name or "-".join(map(_shown, self._cells))
        error.add_note(f"row: {name}")
        if isinstance(error, Exception):
            self._failures._found.append((name, error))
        return isinstance(error, Exception)


def rows(
    names: str | Sequence[str],
    values: Iterable[Any],
    *,
    ids: Iterable[str] | Callable[[Any], object] | None = None,
) -> Decorator:
    """Call the test with each row of `values`, whose columns are `names`; a failure names its row.

    What has marks of its own must be a case of its own. Fixtures are shared by all rows.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table: list[tuple[str | None, dict[str, Any]]] = []
    labels = iter(ids) if ids is not None and not callable(ids) else None
    for value in values:
        given, label = value, next(labels) if labels is not None else None
        if hasattr(value, "marks"):
            if value.marks:
                raise TypeError(f"{value} has marks: use pytest.mark.parametrize")
            given, label = value.values if len(columns) > 1 else value.values[0], value.id or label
        cells = tuple(given) if len(columns) > 1 else (given,)
        label = "-".join(str(ids(cell)) for cell in cells) if callable(ids) else label
        table.append((label, dict(zip(columns, cells, strict=True))))
    if not table:
        raise ValueError("a table without rows tests nothing")

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(test):

            async def waited(**fixtures: Any) -> None:
                with Failures() as failures:
                    for label, row in table:
                        with failures.of(label, *row.values()):
                            await test(**row, **fixtures)

            return _named(waited, test, columns)

        def called(**fixtures: Any) -> None:
            with Failures() as failures:
                for label, row in table:
                    with failures.of(label, *row.values()):
                        test(**row, **fixtures)

        return _named(called, test, columns)

    return decorate


def _shown(cell: object) -> str:
    try:
        return f"{cell!r:.60}"
    except RecursionError:
        return type(cell).__name__


def _named(wrapper: Callable[..., Any], test: Callable[..., Any], columns: list[str]) -> Callable[..., Any]:
    functools.update_wrapper(wrapper, test, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
    signature = inspect.signature(test)
    left = [parameter for name, parameter in signature.parameters.items() if name not in columns]
    wrapper.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    del wrapper.__wrapped__  # type: ignore[attr-defined]
    if hasattr(test, "pytestmark"):
        wrapper.pytestmark = list(test.pytestmark)  # type: ignore[attr-defined]
    return wrapper
