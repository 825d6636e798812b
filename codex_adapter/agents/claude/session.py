"""Check that a run continues the requested session (S9).

With an unknown id the CLI fails. With `--continue` and no session it starts a new one without an error, so the sessions
of the directory are listed before the run.
"""

from __future__ import annotations

import os
import re
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Final

from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.runtime.session_expectation import SessionExpectation

__all__ = ["expected_session"]

_LONGEST_NAME: Final = 200
"""Characters of a directory's name that the CLI keeps; a hash follows them."""


def expected_session(options: RunOptions, cwd: str, directory: Path | None) -> SessionExpectation | None:
    """Return the session that a run must continue, or None. Block on files.

    `directory` has the CLI's own files; None if it is unknown. Raise `BackendError` (`session`) if the run must
    continue the last session and the directory `cwd` has none.
    """
    session = options.resume or options.fork
    if session is None:
        return None
    fork = options.fork is not None
    if session.id is not None:
        return SessionExpectation(session.id, fork)
    expected = SessionExpectation(None, fork, frozenset() if directory is None else _sessions(directory, cwd))
    if not expected.known:
        raise expected.missing()
    return expected


def _sessions(directory: Path, cwd: str) -> frozenset[str]:
    name = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(cwd))
    ids: set[str] = set()
    with suppress(OSError):
        for project in os.scandir(directory / "projects"):
            if project.name == name or (len(name) > _LONGEST_NAME and project.name.startswith(name[:_LONGEST_NAME])):
                ids |= {Path(entry).stem for entry in os.scandir(project) if entry.name.endswith(".jsonl")}
    return frozenset(filter(_is_session, ids))


def _is_session(name: str) -> bool:
    """Return whether a file has the name of a session; those of sub-agents have other names."""
    with suppress(ValueError):
        return str(uuid.UUID(name)) == name
    return False
