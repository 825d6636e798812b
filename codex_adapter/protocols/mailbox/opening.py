"""Open a new or existing session of a mailbox, and lock the mailbox (I12, I15)."""

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
from codex_adapter.protocols.mailbox.session_store import Clock, SessionSettings, SessionStore, utc_now
from codex_adapter.workspace import AgentPlaces, Containment, Sandbox, Workspace, WorkspaceError, list_secret_places

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
    """Begin a session for `task` in `workspace`, an existing directory.

    Commands run in `sandbox`, if any, and in `containment`. They have network in the sandbox if `network` is true. They
    cannot access the settings and logins of `agents`. Raises `MailboxRefusal` and other `MailboxError`, and
    `WorkspaceError` if the workspace cannot be opened (H14, H15).
    """
    with Workspace(workspace, agents=agents, hidden=_hidden(sandbox, agents)) as files:
        root = os.path.realpath(files.root)
        _require_apart(layout, root)
        if not _is_text(root):
            raise WorkspaceError("bad_name", "the path must be UTF-8")
        layout.make()
        store = SessionStore(layout, clock)
        with layout.locked() as name_session:
            _require_free(store)
            _require_empty(layout)
            state = store.begin(task, SessionSettings(root))
            name_session(state.session_id)
            executor = CommandExecutor(files, sandbox, network=network, containment=containment)
            yield Session(layout, store, state, executor, observe)


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
    """Open an existing session by its id, or the session that is not complete.

    `workspace`, if passed, must be that of the session. The other parameters and errors are those of `begin_session`.
    """
    store = SessionStore(layout, clock)
    state = _find_session(layout, store, session)
    root = store.settings(state.session_id).workspace
    if workspace is not None and os.path.realpath(workspace) != root:
        raise MailboxRefusal(f"session {state.session_id} belongs to another workspace. Leave out --workspace")
    with layout.locked() as name_session, Workspace(root, agents=agents, hidden=_hidden(sandbox, agents)) as files:
        if os.path.realpath(root) != root:
            problem = f"the workspace of session {state.session_id} was replaced by a link. Move the workspace back"
            raise MailboxRefusal(problem)
        _require_apart(layout, root)
        name_session(state.session_id)
        # The process that had the lock before may have changed the state.
        state = store.load(state.session_id)
        executor = CommandExecutor(files, sandbox, network=network, containment=containment)
        yield Session(layout, store, state, executor, observe)


def end_session(layout: MailboxLayout, session: str | None, *, clock: Clock = utc_now) -> SessionState:
    """Complete a session without the model. Raises `MailboxError`."""
    store = SessionStore(layout, clock)
    state = _find_session(layout, store, session)
    with layout.locked():
        return store.complete(store.load(state.session_id))


def sessions(layout: MailboxLayout) -> list[SessionState]:
    """Return all sessions of a mailbox, the oldest first. Raises `MailboxError`."""
    layout.require()
    return SessionStore(layout).all()


def workspace_of(layout: MailboxLayout, session: str | None) -> str:
    """Return the workspace of a session, by the same id as in `open_session`. Raises `MailboxError`."""
    store = SessionStore(layout)
    return store.settings(_find_session(layout, store, session).session_id).workspace


def _hidden(sandbox: Sandbox | None, agents: Sequence[AgentPlaces]) -> tuple[str, ...]:
    return list_secret_places(os.environ, agents) if sandbox is None else sandbox.hidden


def _find_session(layout: MailboxLayout, store: SessionStore, session: str | None) -> SessionState:
    layout.require()
    if session is None:
        state = store.open()
        if state is None:
            raise MailboxRefusal("all of its sessions are complete. Begin one with `mailbox start`")
        return state
    if session not in layout.sessions():
        raise MailboxRefusal("it has no session with this id. List the sessions with `mailbox status`")
    return store.load(session)


def _require_free(store: SessionStore) -> None:
    state = store.open()
    if state is not None:
        id_ = state.session_id
        raise MailboxRefusal(
            f"session {id_} is not complete. Continue it with `mailbox resume`, or end it with `mailbox end {id_}`"
        )


def _require_empty(layout: MailboxLayout) -> None:
    seen = Inbox(layout.inbox).scan()
    if seen.complete or seen.partial or seen.unreadable:
        raise MailboxRefusal("its inbox has files, which would be answers to this session. Move them away first")


def _require_apart(layout: MailboxLayout, workspace: str) -> None:
    """Raise `MailboxRefusal` if the mailbox and the workspace overlap, also through links and mounts (I12)."""
    if any(_lies_in(workspace, directory) for directory in layout.directories):
        raise MailboxRefusal("the workspace is in one of its directories. Use another workspace")
    if any(_lies_in(directory, workspace) for directory in (layout.root, *layout.directories)):
        raise MailboxRefusal(
            "it is in the workspace, where an agent could write its own answers. Move it out of the workspace"
        )


def _lies_in(path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> bool:
    """Return whether a path is a directory or is below it. The path need not exist."""
    real = Path(os.path.realpath(path))
    return any(_is_same(above, directory) for above in (real, *real.parents))


def _is_same(one: Path, other: str | os.PathLike[str]) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_text(path: str) -> bool:
    """Return whether a path is valid UTF-8, so that a session's settings can have it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
