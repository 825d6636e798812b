"""Record the content that agents could change, and refuse it if it differs from the accepted content (Z11)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from codex_adapter.spaces.content import is_utf8
from codex_adapter.spaces.errors import SpaceError
from codex_adapter.spaces.file_readers import read_json, read_optional
from codex_adapter.spaces.reach import Reach
from codex_adapter.spaces.state import State
from codex_adapter.strict_decode import shown

__all__ = ["Acceptance", "Source"]

_LARGEST: Final = 64 * 1024 * 1024
_ADVICE: Final = "Check it, then accept it with acceptChangedSpaces."
_CHANGED: Final = f"agents may write there, and it changed after it was accepted. {_ADVICE}"
_NEW: Final = f"an agent of an earlier turn could write there, and it was never accepted. {_ADVICE}"
_LINKED: Final = f"an agent could change it by its hard links, and it was never accepted. {_ADVICE}"


class Source(NamedTuple):
    """A file or a directory that defines what an agent may do, as it was read.

    `path` is the path by which it was looked up, with its links. `linked` is whether a file in it has hard links, whose
    other names may be in a directory where an agent may write. A space has a `reference` and a `way`, a file a `name`.
    """

    path: Path
    digest: str
    linked: bool
    name: str = ""
    reference: str | None = None
    way: tuple[str, ...] = ()


class _Accepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema: Literal[1]
    roots: tuple[str, ...] = ()
    sources: dict[str, str] = {}


class Acceptance:
    """The record of one `aspHome`: the directories where its turns let agents write, and the accepted content (Z11)."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._path = state.root / "accepted.json"

    def check(self, sources: Sequence[Source]) -> None:
        """Raise `SpaceError` if an agent could have changed content that no caller accepted. Write nothing (Z11)."""
        self._compute_next(self._read(), sources, Reach(()), accept=False)

    def settle(self, sources: Sequence[Source], reach: Reach, *, accept: bool) -> None:
        """Check the content before a turn whose agent has this reach, and record it. Raises `SpaceError` (Z11).

        The caller has read the content of `sources` before. This is safe: each turn records its reach before its agent
        starts.
        """
        known = self._read()
        if self._compute_next(known, sources, reach, accept=accept) == known:
            return
        with self._state.exclusive():
            new = self._compute_next(self._read(), sources, reach, accept=accept)
            self._state.write_whole(self._path, msgspec.json.encode(new) + b"\n")

    def _compute_next(self, known: _Accepted, sources: Iterable[Source], reach: Reach, *, accept: bool) -> _Accepted:
        before = Reach(map(Path, known.roots))
        accepted = dict(known.sources)
        refused: list[tuple[Source, str]] = []
        for source in sources:
            key = os.fsencode(source.path).decode(errors="backslashreplace")
            digest = known.sources.get(key)
            if digest == source.digest:
                continue
            problem = _CHANGED if digest is not None else self._find_problem(source, before)
            if problem is None or accept:
                if problem is not None or reach.covers(source.path) or (source.linked and reach.roots):
                    accepted[key] = source.digest
            else:
                refused.append((source, problem))
        if refused:
            raise _make_refusal(refused)
        roots = [*known.roots, *(_encode_root(root) for root in reach.roots if not _is_covered(before.roots, root))]
        return _Accepted(schema=1, roots=tuple(roots), sources=accepted)

    @staticmethod
    def _find_problem(source: Source, before: Reach) -> str | None:
        """Return why content without a record is refused; None if no agent could have changed it."""
        if before.covers(source.path):
            return _NEW
        return _LINKED if source.linked and before.roots else None

    def _read(self) -> _Accepted:
        name = "aspHome: state/accepted.json"
        content = read_optional(self._path, _LARGEST, name)
        return _Accepted(schema=1) if content is None else read_json(content, _Accepted, name)


def _make_refusal(refused: Sequence[tuple[Source, str]]) -> SpaceError:
    """Return one error that names all sources, because they are accepted together."""
    (first, problem), *others = refused
    if others:
        names = ", ".join(shown(source.reference or source.name) for source, _ in others)
        problem = f"{problem} Check these too: {names}."
    if first.reference is None:
        return SpaceError(f"{first.name}: {problem}")
    return SpaceError(problem, first.reference, first.way)


def _encode_root(root: Path) -> str:
    if not is_utf8(str(root)):
        raise SpaceError("a directory in which the agent may write has a path that is not UTF-8. Rename it.")
    return str(root)


def _is_covered(roots: Iterable[Path], root: Path) -> bool:
    return any(root.is_relative_to(known) for known in roots)
