"""Open an executor with its workspace and its state (O7, O9)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from codex_adapter.protocols.operations.event_factory import Clock, utc_now
from codex_adapter.protocols.operations.executor import OperationExecutor
from codex_adapter.protocols.operations.placement import is_within_reach
from codex_adapter.protocols.operations.policy import Policy, PolicyError
from codex_adapter.protocols.operations.state_file import StateError
from codex_adapter.protocols.operations.store import Store
from codex_adapter.workspace import AgentPlaces, Containment, Sandbox, Workspace, find_sandbox, list_secret_places

__all__ = ["open_executor"]


@contextmanager
def open_executor(
    root: str | os.PathLike[str],
    policy: Policy,
    *,
    agents: Sequence[AgentPlaces],
    state: str | os.PathLike[str] | None = None,
    containment: Containment | None = None,
    hidden: Sequence[str] = (),
    clock: Clock = utc_now,
) -> Iterator[OperationExecutor]:
    """Open an executor for the workspace `root`, an existing directory, for use inside `trio.run`.

    Operations cannot access the settings and logins of `agents`, or the absolute paths in `hidden`. If the system has
    no bubblewrap, that of an agent is used. `state` is the state file. Commands run in `containment`. Raises
    `WorkspaceError`, `StateError`, and `PolicyError` if the policy requires a sandbox that does not work (H13 to H15,
    N3).
    """
    path = None if state is None else os.path.realpath(state)
    state_files = () if path is None else (path, f"{path}-wal", f"{path}-shm")
    secrets = (*list_secret_places(os.environ, agents), *hidden, *map(os.path.expanduser, policy.sandbox.hidden))
    with Workspace(
        root, agents=agents, hard_links=policy.files.hard_links, mounts=policy.files.mounts, hidden=secrets
    ) as workspace:
        if state is not None and is_within_reach(state, workspace.root):
            raise StateError(
                "the state is in the workspace, where an agent can write. Name a file outside of the workspace"
            )
        sandbox = _sandbox(policy, agents, workspace.root, (*secrets, *state_files))
        with Store(None if path is None else Path(path), workspace.root) as store:
            yield OperationExecutor(workspace, store, policy, sandbox, containment=containment, clock=clock)


def _sandbox(policy: Policy, agents: Sequence[AgentPlaces], root: str, hidden: tuple[str, ...]) -> Sandbox | None:
    sandbox = find_sandbox(agents=agents, workspace=root)
    if sandbox is None and policy.sandbox.require:
        raise PolicyError("the policy requires a sandbox, and none works here. Install bubblewrap")
    return None if sandbox is None else replace(sandbox, hidden=hidden)
