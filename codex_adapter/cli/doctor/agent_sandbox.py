"""Try the sandbox in which the Codex CLI runs the commands of its model (C4)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import trio

from codex_adapter import BackendError
from codex_adapter.runtime.containment.containment import Containment

__all__ = ["agent_sandbox_works"]

_SUBCOMMANDS: Final = (("sandbox", "--"), ("sandbox", "linux", "--"))
"""As newer and as older releases have it."""
_PROOF: Final = 7
_PATIENCE: Final = 10.0


async def agent_sandbox_works(binary: str, environ: Mapping[str, str]) -> bool | None:
    """Return whether the CLI can run a command in its sandbox here; None where that cannot be tried.

    The CLI gets directories of its own for its home and its temporary files, and nothing of it is left.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="codex-adapter-doctor-") as place:
            home, temporary = Path(place, "home"), Path(place, "tmp")
            home.mkdir()
            temporary.mkdir()
            env = {**environ, "CODEX_HOME": str(home), "TMPDIR": str(temporary)}
            for words in _SUBCOMMANDS:
                if await _status([binary, *words, "/bin/sh", "-c", f"exit {_PROOF}"], env, place) == _PROOF:
                    return True
    except (OSError, BackendError):
        return None
    return False


async def _status(argv: list[str], env: Mapping[str, str], place: str) -> int | None:
    async with Containment().silent(argv, env=env, cwd=place) as contained:
        with trio.move_on_after(_PATIENCE):
            return (await contained.wait()).code
    return None
