"""Test that errors can be pickled and copied, as process pools require."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from codex_adapter.errors import (
    AdapterError,
    BackendError,
    InvalidAgentKindError,
    InvalidRequestError,
    RunCancelled,
    RunTimedOut,
    SpawnError,
    UnknownBackendError,
    UnsupportedCapabilityError,
)
from codex_adapter.prompting import ToolUsed

from .rows import rows

ERRORS = (
    AdapterError("text"),
    InvalidRequestError("prompt must be a string"),
    UnsupportedCapabilityError("codex", "codex.unknown"),
    UnknownBackendError("codex"),
    InvalidAgentKindError("Codex"),
    BackendError("io", "text", advice="Enter it."),
    BackendError("other", hint="no_network").of_agent("other_agent"),
    SpawnError(not_found=True, advice="Install it.", hint="cli_not_found").of_agent("other_agent"),
    RunTimedOut("timeout", hint="idle_limit"),
    RunCancelled("cancelled"),
    ToolUsed("command_execution"),
)


def pickled(protocol: int) -> Callable[[AdapterError], object]:
    return lambda error: pickle.loads(pickle.dumps(error, protocol))


@pytest.mark.rule("P13")
@rows("error", ERRORS, ids=lambda error: type(error).__name__)
@rows("duplicate", [copy.copy, copy.deepcopy, *map(pickled, range(pickle.HIGHEST_PROTOCOL + 1))])
def test_an_error_survives_pickle_and_copy(duplicate: Callable[[AdapterError], object], error: AdapterError) -> None:
    found = duplicate(error)
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))


def test_every_error_of_the_tree_is_among_them() -> None:
    tree, found = [AdapterError], set[type[AdapterError]]()
    while tree:
        found.add(kind := tree.pop())
        tree += [below for below in kind.__subclasses__() if below.__module__.startswith("codex_adapter.")]
    assert found == {type(error) for error in ERRORS}
