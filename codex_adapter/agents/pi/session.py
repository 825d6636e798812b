"""Check that a run continues the requested session (S9).

With an unknown id the CLI fails. With `--continue` and no session it starts a new one without an error, so the sessions
of the directory are listed before the run. It also accepts the beginning of an id, which would be another session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from codex_adapter.agents.pi.command import agent_directory
from codex_adapter.agents.pi.extensions import RunOptions
from codex_adapter.runtime.login_files import read_json
from codex_adapter.runtime.session_expectation import SessionExpectation

__all__ = ["expected_session"]


def expected_session(options: RunOptions, cwd: str, env: Mapping[str, str]) -> SessionExpectation | None:
    """Return the session that a run must continue, or None. Block on files.

    Raise `BackendError` (`session`) if the run must continue the last session and the directory `cwd` has none.
    """
    session = options.resume or options.fork
    if session is None:
        return None
    if session.id is not None:
        return SessionExpectation(session.id, options.fork is not None)
    expected = SessionExpectation(None, fork=False, known=_sessions(env, cwd))
    if not expected.known:
        raise expected.missing()
    return expected


def _sessions(env: Mapping[str, str], cwd: str) -> frozenset[str]:
    """Return the ids of the sessions of a directory; of all sessions if they have a directory of their own."""
    above = agent_directory(env)
    settings = {} if above is None else read_json(Path(cwd, above, "settings.json"))
    directory = env.get("PI_CODING_AGENT_SESSION_DIR")
    if not directory and isinstance(settings, Mapping):
        directory = settings.get("sessionDir")
    if not isinstance(directory, str) or not directory:
        name = re.sub(r"[/\\:]", "-", os.path.realpath(cwd).lstrip("/"))
        directory = f"{above}/sessions/--{name}--"
    ids: set[str] = set()
    with suppress(OSError, ValueError):
        for entry in os.scandir(Path(cwd, directory)):
            if entry.name.endswith(".jsonl"):
                ids.add(Path(entry).stem.partition("_")[2])
    return frozenset(filter(None, ids))
