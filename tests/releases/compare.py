"""Compare the output of a release with its recording, except for known variations."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import msgspec

from codex_adapter.agents.codex.releases import quirks_of
from codex_adapter.runtime.programs import Version

__all__ = ["Comparison", "compare"]

SHOWN = 12
"""Lines of a difference; whoever wants more of it plays the case by itself."""

MANY = 60
"""Lines of a run in which some may have come faster than the CLI itself could print them."""

Line = dict[str, Any]
Reduction = Callable[[list[Line]], list[Line]]


class Comparison(NamedTuple):
    """`explained` names the variations without which the two would differ; `difference` is a diff, empty if none."""

    explained: tuple[str, ...] = ()
    difference: str = ""


class _Variation(NamedTuple):
    """What may be different from run to run; with a `quirk` just in the releases that have it (R1)."""

    name: str
    reduce: Reduction
    quirk: str | None = None


def compare(version: Version, before: bytes, now: bytes) -> Comparison:
    """What there is to say of the stable forms of two runs."""
    if before == now:
        return Comparison()
    try:
        was, is_now = _decoded(before), _decoded(now)
    except msgspec.DecodeError:
        return Comparison(difference=_diff(before, now))
    quirks = quirks_of(version)
    possible = [variation for variation in _VARIATIONS if variation.quirk is None or variation.quirk in quirks]
    for few in _subsets(possible):
        if _reduced(was, few) == _reduced(is_now, few):
            return Comparison(tuple(variation.name for variation in few))
    return Comparison(difference=_diff(before, now))


def _subsets(variations: Sequence[_Variation]) -> Iterator[tuple[_Variation, ...]]:
    """The fewest first, so that nothing is named that explains nothing."""
    return chain.from_iterable(combinations(variations, size) for size in range(1, len(variations) + 1))


def _reduced(lines: list[Line], variations: Sequence[_Variation]) -> list[Line]:
    for variation in variations:
        lines = variation.reduce(lines)
    return lines


def _decoded(stdout: bytes) -> list[Line]:
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in stdout.split(b"\n") if line]


def _diff(before: bytes, now: bytes) -> str:
    was, is_now = (form.decode(errors="backslashreplace").split("\n") for form in (before, now))
    lines = list(difflib.unified_diff(was, is_now, "before", "now", n=0, lineterm=""))
    more = [f"and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    return "\n".join([*(line[:400] for line in lines[:SHOWN]), *more])


def _command(line: Line) -> bool:
    return isinstance(line.get("item"), dict) and line["item"].get("type") == "command_execution"


def _with_item(line: Line, **fields: Any) -> Line:
    return {**line, "item": {**line["item"], **fields}}


def _any_order(lines: list[Line]) -> list[Line]:
    """The ids of items tell of their order as well."""
    unnumbered = [_with_item(line, id=None) if isinstance(line.get("item"), dict) else line for line in lines]
    return sorted(unnumbered, key=msgspec.json.encode)


def _mingled(lines: list[Line]) -> list[Line]:
    return [
        _with_item(line, aggregated_output=sorted(str(line["item"].get("aggregated_output")).split("\n")))
        if _command(line)
        else line
        for line in lines
    ]


def _any_order_of_changes(lines: list[Line]) -> list[Line]:
    return [
        _with_item(line, changes=sorted(line["item"]["changes"], key=msgspec.json.encode))
        if isinstance(line.get("item"), dict) and "changes" in line["item"]
        else line
        for line in lines
    ]


def _without_completions(lines: list[Line]) -> list[Line]:
    return _any_order([line for line in lines if not (_command(line) and line["type"] == "item.completed")])


def _without_output(lines: list[Line]) -> list[Line]:
    return [_with_item(line, aggregated_output=None) if _command(line) else line for line in lines]


def _without_states(lines: list[Line]) -> list[Line]:
    return [
        _with_item(line, status=None, agents_states=None)
        if isinstance(line.get("item"), dict) and "agents_states" in line["item"]
        else line
        for line in lines
    ]


def _without_items(lines: list[Line]) -> list[Line]:
    if len(lines) < MANY:
        return lines
    said = [line for line in lines if not isinstance(line.get("item"), dict) or line["item"]["type"] == "agent_message"]
    return _any_order(said)


def _fewer_notices(lines: list[Line]) -> list[Line]:
    """Notices of reconnecting without their reasons, which name the moment at which the connection broke."""
    return [
        {"type": "error", "message": re.sub(r" \(.*", "", line["message"])}
        if line.get("type") == "error" and str(line.get("message")).startswith("Reconnecting")
        else line
        for line in lines
    ]


_VARIATIONS = (
    _Variation("items at the same time come in any order", _any_order),
    _Variation("the two outputs of a command mingle in any order", _mingled),
    _Variation("a notice of reconnecting names another reason", _fewer_notices),
    _Variation("the changes of a patch come in any order", _any_order_of_changes, "file_changes_unordered"),
    _Variation("a command's output is left out", _without_output, "command_output_lost"),
    _Variation("a command's end is left out", _without_completions, "command_completion_lost"),
    _Variation("a sub-agent's failure is told or is not", _without_states, "child_failure_untold"),
    _Variation("items of many at once are left out", _without_items, "drops_what_is_not_read"),
)
