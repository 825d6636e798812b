"""A mailbox opened for work: a session begun or gone on with, and nobody else at work in it (I12, I15)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from codex_adapter.protocols.mailbox.events import Observer
from codex_adapter.protocols.mailbox.execution import CommandExecutor
from codex_adapter.protocols.mailbox.inbox import Inbox
from codex_adapter.protocols.mailbox.layout import MailboxLayout, MailboxRefusal
from codex_adapter.protocols.mailbox.messages import SessionState
from codex_adapter.protocols.mailbox.session import Session
from codex_adapter.protocols.mailbox.states import Clock, SessionSettings, SessionStore, utc_now
from codex_adapter.workspace import AgentPlaces, Containment, Sandbox, Workspace, WorkspaceError, default_hidden

__all__ = ["begin_session", "end_session", "open_session", "sessions", "workspace_of"]


@contextmanager
def begin_session(
    layout: MailboxLayout,
    workspace: str | os.PathLike[str],
    task: str,
    observe: Observer,
    *,
    agents: Sequence[AgentPlaces],
    sandbox: Sandbox | None,
    network: bool = False,
    containment: Containment | None = None,
    clock: Clock = utc_now,
) -> Iterator[Session]:
    """A new session for `task`, in `workspace`, which is an existing directory.

    `agents` are those whose settings and logins are out of reach (H14, H15). Commands run in `sandbox` if there is one;
    `network` gives them network there; `containment` contains them. Raises `MailboxRefusal` and other `MailboxError`,
    and `WorkspaceError` where the workspace cannot be opened.
    """
    with Workspace(workspace, agents=agents, hidden=_hidden(sandbox, agents)) as files:
        root = os.path.realpath(files.root)
        _require_apart(layout, root)
        if not _is_text(root):
            raise WorkspaceError("bad_name", "the path must be UTF-8")
        layout.make()
        states = SessionStore(layout, clock)
        with layout.locked() as for_session:
            _require_free(states)
            _require_empty(layout)
            state = states.begin(task, SessionSettings(root))
            for_session(state.session_id)
            execution = CommandExecutor(files, sandbox, network=network, containment=containment)
            yield Session(layout, states, state, execution, observe)


@contextmanager
def open_session(
    layout: MailboxLayout,
    session: str | None,
    observe: Observer,
    *,
    workspace: str | os.PathLike[str] | None = None,
    agents: Sequence[AgentPlaces],
    sandbox: Sandbox | None,
    network: bool = False,
    containment: Containment | None = None,
    clock: Clock = utc_now,
) -> Iterator[Session]:
    """A session that is there: by its id, or the one that is not complete. As `begin_session`.

    `workspace` may be given where it is to be the session's.
    """
    states = SessionStore(layout, clock)
    state = _chosen(layout, states, session)
    root = states.settings(state.session_id).workspace
    if workspace is not None and os.path.realpath(workspace) != root:
        raise MailboxRefusal(f"session {state.session_id} belongs to another workspace; leave out --workspace")
    with layout.locked() as for_session, Workspace(root, agents=agents, hidden=_hidden(sandbox, agents)) as files:
        if os.path.realpath(root) != root:
            told = f"the path of the workspace of session {state.session_id} has become a link; move the workspace back"
            raise MailboxRefusal(told)
        _require_apart(layout, root)
        for_session(state.session_id)
        # Whoever had the lock before may have gone on with it.
        state = states.load(state.session_id)
        execution = CommandExecutor(files, sandbox, network=network, containment=containment)
        yield Session(layout, states, state, execution, observe)


def end_session(layout: MailboxLayout, session: str | None, *, clock: Clock = utc_now) -> SessionState:
    """Complete a session without the model. Raises `MailboxError`."""
    states = SessionStore(layout, clock)
    state = _chosen(layout, states, session)
    with layout.locked():
        return states.complete(states.load(state.session_id))


def sessions(layout: MailboxLayout) -> list[SessionState]:
    """All sessions of a mailbox, the oldest first. Raises `MailboxError`."""
    layout.require()
    return SessionStore(layout).all()


def workspace_of(layout: MailboxLayout, session: str | None) -> str:
    """Return the workspace of a session, chosen as by `open_session`. Raises `MailboxError`."""
    states = SessionStore(layout)
    return states.settings(_chosen(layout, states, session).session_id).workspace


def _hidden(sandbox: Sandbox | None, agents: Sequence[AgentPlaces]) -> tuple[str, ...]:
    return default_hidden(os.environ, agents) if sandbox is None else sandbox.hidden


def _chosen(layout: MailboxLayout, states: SessionStore, session: str | None) -> SessionState:
    layout.require()
    if session is None:
        state = states.open()
        if state is None:
            raise MailboxRefusal("it has no session that is not complete; begin one with `mailbox start`")
        return state
    if session not in layout.sessions():
        raise MailboxRefusal("it has no session of this id; see `mailbox status`")
    return states.load(session)


def _require_free(states: SessionStore) -> None:
    state = states.open()
    if state is not None:
        id_ = state.session_id
        raise MailboxRefusal(
            f"session {id_} is not complete; go on with `mailbox resume`, or `mailbox end {id_}` first"
        )


def _require_empty(layout: MailboxLayout) -> None:
    seen = Inbox(layout.inbox).scan()
    if seen.complete or seen.partial or seen.unreadable:
        raise MailboxRefusal("its inbox has files that answer nothing yet; move them away first")


def _require_apart(layout: MailboxLayout, workspace: str) -> None:
    """Neither lies in the other, whatever links and mounts lead there (I12)."""
    if any(_lies_in(workspace, directory) for directory in layout.directories):
        raise MailboxRefusal("the workspace is one of its directories; give another one")
    if any(_lies_in(directory, workspace) for directory in (layout.root, *layout.directories)):
        raise MailboxRefusal("it lies in the workspace, where an agent could answer itself; put it elsewhere")


def _lies_in(path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> bool:
    """Whether a path, which need not be there yet, is a directory or leads below it."""
    real = Path(os.path.realpath(path))
    return any(_is_same(above, directory) for above in (real, *real.parents))


def _is_same(one: Path, other: str | os.PathLike[str]) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_text(path: str) -> bool:
    """Whether it can be written into a session's settings."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
