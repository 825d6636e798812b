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

__all__ = ["expected_session", "forked_session", "session_directory"]


def expected_session(options: RunOptions, directory: str) -> SessionExpectation | None:
    """Return the session that a run must continue, or None. Block on files.

    Raise `BackendError` (`session`) if the run must continue the last session and the `directory` of sessions has none.
    """
    session = options.resume or options.fork
    if session is None:
        return None
    if session.id is not None:
        return SessionExpectation(session.id, options.fork is not None)
    expected = SessionExpectation(None, fork=False, known=_sessions(directory))
    if not expected.known:
        raise expected.missing()
    return expected


def session_directory(cwd: str, env: Mapping[str, str], *, trust_project: bool) -> str:
    """Return the directory of the sessions of `cwd`, as the CLI chooses it. Block on files.

    The CLI also obeys `.pi` of a project that it does not trust, so the directory is passed to it (S11).
    """
    above = _agent_home(cwd, env)
    named = env.get("PI_CODING_AGENT_SESSION_DIR")
    if not named and trust_project:
        named = _setting(Path(cwd, ".pi"))
    named = named or _setting(above)
    if named:
        home = env.get("HOME") or str(Path.home())
        return str(Path(cwd, f"{home}{named[1:]}" if re.match("~(/|$)", named) else named))
    name = re.sub(r"[/\\:]", "-", os.path.realpath(cwd).lstrip("/"))
    return str(above / "sessions" / f"--{name}--")


def forked_session(options: RunOptions, cwd: str, env: Mapping[str, str], directory: str) -> str | None:
    """Return the session to fork: its file if it is found, else its id. Block on files.

    With a `directory` for its sessions, the CLI does not look for an id in the directories of others (S9).
    """
    if options.fork is None:
        return None
    with suppress(OSError, ValueError):
        for place in (Path(directory), *sorted((_agent_home(cwd, env) / "sessions").iterdir())):
            for file in _files(str(place)):
                if file.stem.partition("_")[2] == options.fork.id:
                    return str(file)
    return options.fork.id


def _agent_home(cwd: str, env: Mapping[str, str]) -> Path:
    return Path(cwd, agent_directory(env) or f"{Path.home()}/.pi/agent")


def _setting(directory: Path) -> str | None:
    settings = read_json(directory / "settings.json")
    found = settings.get("sessionDir") if isinstance(settings, Mapping) else None
    return found if isinstance(found, str) else None


def _sessions(directory: str) -> frozenset[str]:
    """Return the ids of the sessions in a directory, which may be those of other directories, too."""
    return frozenset(filter(None, (file.stem.partition("_")[2] for file in _files(directory))))


def _files(directory: str) -> list[Path]:
    try:
        return [file for file in Path(directory).iterdir() if file.suffix == ".jsonl"]
    except (OSError, ValueError):
        return []
