"""Run a test for every recording of the real CLIs, as one case for each release."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ..rows import Failures
from .agent_lines import FIXTURES

__all__ = ["Recording", "each_recording", "recordings"]


class Recording(NamedTuple):
    """What one release printed in one scenario, and how it exited."""

    kind: str
    release: str
    path: Path
    returncode: int


@functools.cache
def recordings(kind: str) -> list[Recording]:
    """Return those of a kind of agent, in the order of their index."""
    found = [json.loads(line) for line in (FIXTURES / kind / "index.jsonl").read_text().splitlines()]
    return [
        Recording(
            kind, row["version"], FIXTURES / kind / row["version"] / f"{row['scenario']}.jsonl", row["returncode"]
        )
        for row in found
    ]


def each_recording(*kinds: str, wide: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Call the test with each recording: the path `recording`, the `returncode` and, if it asks for it, the `kind`.

    A `wide` test costs much for each recording: the tests of every change have the newest release of each kind alone.
    """
    releases = dict.fromkeys((kind, recording.release) for kind in kinds for recording in recordings(kind))
    newest = dict(tuple(releases))  # the last of a kind
    cases = [
        pytest.param(kind, release, marks=[pytest.mark.nightly] if wide and newest[kind] != release else [])
        for kind, release in releases
    ]

    def decorate(test: Callable[..., Any]) -> Any:
        asks = inspect.signature(test).parameters

        @pytest.mark.parametrize(("kind", "release"), cases)
        def of_release(kind: str, release: str) -> None:
            with Failures() as failures:
                for recording in recordings(kind):
                    if recording.release == release:
                        given = {"recording": recording.path, "returncode": recording.returncode, "kind": kind}
                        with failures.of(recording.path.stem):
                            test(**{name: value for name, value in given.items() if name in asks})

        of_release.__name__, of_release.__doc__, of_release.__module__ = test.__name__, test.__doc__, test.__module__
        of_release.pytestmark = [*getattr(test, "pytestmark", ()), *of_release.pytestmark]  # type: ignore[attr-defined]
        return of_release

    return decorate
