"""Stage a case of the catalogue: its directories, files, server, and the environment of the CLI.

    with set_stage(CATALOGUE["shell_ok"], directory) as stage: ...

The stage is the same for a case that runs with the CLI alone and for one that runs through the adapter.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from codex_adapter.testing.mcp_server import PIXEL
from codex_adapter.testing.model_server import ModelServer

from .catalogue import FIRST_THREAD, Case, Run

__all__ = ["Stage", "set_stage", "thread_to_continue"]

NOWHERE = "http://127.0.0.1:1"
"""A proxy that is not there: nothing on a stage reaches a network."""
ONLY_THE_WORKSPACE = (
    "sandbox_workspace_write.exclude_slash_tmp = true\nsandbox_workspace_write.exclude_tmpdir_env_var = true\n"
)
"""Else the sandbox would let commands write to every stage, and the CLI would leave mount points in `/tmp`."""


class Stage(NamedTuple):
    """Where the runs of a case take place: `workspace` is their directory, `env` what their environment must have.

    Beside the workspace there are `extra`, a second directory, and `schema`, the file of a run's output schema.
    """

    workspace: Path
    schema: Path
    env: dict[str, str]
    server: ModelServer

    def write_inputs(self, run: Run) -> None:
        """Make the images and the schema that this run is given."""
        for image in run.images:
            if not (self.workspace / image).exists():
                (self.workspace / image).write_bytes(base64.b64decode(PIXEL))
        if run.output_schema is not None:
            self.schema.write_bytes(msgspec.json.encode(run.output_schema))


@contextmanager
def set_stage(case: Case, root: Path) -> Iterator[Stage]:
    """Everything that the case needs, below `root`, which is absolute and empty or missing (TK4).

    Its server plays until the block ends, unless the case is about one that is not there.
    """
    workspace = root / "workspace"
    for folder in (workspace, root / "home", root / "extra", root / "tmp"):
        folder.mkdir(parents=True)
    for name, text in case.files.items():
        (workspace / name).write_text(text, encoding="utf-8")
    with ExitStack() as serving:
        server = serving.enter_context(ModelServer(case.scenario))
        codex_home = server.write_codex_home(
            root / "codex_home", model=case.model, config=ONLY_THE_WORKSPACE + case.config, provider=case.provider
        )
        if case.unreachable:
            serving.close()
        # A HOME of its own, so that login shells do not read this user's profile; a TMPDIR, since the CLI makes none of
        # its helper programs, which commands on a terminal need, while CODEX_HOME is below the temporary directory.
        env = {"CODEX_HOME": codex_home, "HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "RUST_LOG": "error"}
        env |= {"HTTPS_PROXY": NOWHERE, "https_proxy": NOWHERE}
        yield Stage(workspace, root / "schema.json", env, server)


def thread_to_continue(session: str, first_thread: str | None) -> str:
    """The id that `Run.resume` or `Run.fork` means; raises ValueError when it needs a `first_thread` and gets none."""
    if session != FIRST_THREAD:
        return session
    if first_thread is None:
        raise ValueError("the first run of the case printed no thread id to go on with: look at what it printed")
    return first_thread
