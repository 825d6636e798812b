"""A runtime with all that it needs, opened and closed together (O7, O9)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from codex_adapter.protocols.operations.outcomes import Clock, utc_now
from codex_adapter.protocols.operations.policy import Policy, PolicyError
from codex_adapter.protocols.operations.runtime import Runtime
from codex_adapter.protocols.operations.state_file import StateError
from codex_adapter.protocols.operations.store import Store
from codex_adapter.workspace import Sandbox, Workspace, find_sandbox

__all__ = ["open_runtime"]


@contextmanager
def open_runtime(
    root: str | os.PathLike[str],
    policy: Policy,
    *,
    state: str | os.PathLike[str] | None = None,
    codex: str | None = None,
    clock: Clock = utc_now,
) -> Iterator[Runtime]:
    """A runtime for the workspace `root`, which is an existing directory, to be used inside of `trio.run`.

    `state` is the file that keeps what must not be forgotten. `codex` is the CLI whose bubblewrap is taken where there
    is no other. Raises `WorkspaceError`, `StateError`, and `PolicyError` where the policy demands what is not there.
    """
    path = None if state is None else os.path.realpath(state)
    with Workspace(root, hard_links=policy.files.hard_links, mounts=policy.files.mounts) as workspace:
        if path is not None and Path(path).is_relative_to(os.path.realpath(workspace.root)):
            raise StateError("the state must not be inside of the workspace, where an agent can write; move it out")
        sandbox = _sandbox(policy, codex, () if path is None else (path, f"{path}-wal", f"{path}-shm"))
        with Store(None if path is None else Path(path), workspace.root) as store:
            yield Runtime(workspace, store, policy, sandbox, clock=clock)


def _sandbox(policy: Policy, codex: str | None, ours: Sequence[str]) -> Sandbox | None:
    sandbox = find_sandbox(codex)
    if sandbox is None and policy.sandbox.require:
        raise PolicyError("the policy demands a sandbox, and none works here; install bubblewrap")
    if sandbox is None:
        return None
    return replace(sandbox, hidden=(*sandbox.hidden, *ours, *map(os.path.expanduser, policy.sandbox.hidden)))
