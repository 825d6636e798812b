"""From a request to all that a spawn needs. It starts only `BINARY --version` and writes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
import trio

from codex_adapter.core.command import build_argv, merge_environment
from codex_adapter.core.extensions import ExecOptions
from codex_adapter.core.releases import missing_feature, needs_version
from codex_adapter.core.validation import check_request, effective_timeout, run_directory
from codex_adapter.errors import BackendError
from codex_adapter.request import CodexConfig, RunRequest
from codex_adapter.runtime.binary import Binary, Versions, find_binary

__all__ = ["Launch", "check_launch", "prepare_launch"]


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has been checked and can be spawned.

    `cwd` is absolute, `timeout` in seconds or None, `prompt` what goes over stdin (S3).
    """

    binary: Binary
    options: ExecOptions
    env: dict[str, str]
    cwd: str
    prompt: bytes
    timeout: float | None

    def argv(self, schema: str | None = None) -> list[str]:
        """The argv; `schema` is the path that `schema_file` gave (S1)."""
        return build_argv(self.binary.path, self.options, schema_file=schema)


async def prepare_launch(
    request: RunRequest,
    config: CodexConfig,
    *,
    environ: Mapping[str, str] | None = None,
    versions: Versions | None = None,
) -> Launch:
    """Check a request, find the binary, and see that its release can do what is asked (Q1 to Q5, S4 to S6, S8).

    `environ` is the parent environment, by default the process's own. `versions` remembers releases between runs;
    without one the memory lasts as long as the trio run. Raises `InvalidRequestError`, `UnsupportedCapabilityError`,
    `SpawnError`, and `BackendError` (`invalid_request`) with advice when the release cannot do it.
    """
    launch = await check_launch(request, config, environ=environ)
    version = None
    if needs_version(launch.options):
        version = await (versions or _versions_of_this_run()).of(launch.binary, launch.env)
    missing = missing_feature(launch.options, version)
    if missing is not None:
        raise BackendError("invalid_request", advice=f"{missing}.")
    return launch


async def check_launch(request: RunRequest, config: CodexConfig, *, environ: Mapping[str, str] | None = None) -> Launch:
    """As `prepare_launch`, but nothing is started: whether the binary's release can do it stays open."""
    parent = dict(os.environ if environ is None else environ)
    # in a thread, because a file system can be slow and other runs must go on meanwhile
    try:
        return await trio.to_thread.run_sync(_prepare, request, config, parent, abandon_on_cancel=True)
    except RuntimeError:
        # No thread can be had; it can be done here as well.
        return _prepare(request, config, parent)


class _Files:
    """The real file system; a path that is odd is simply not there."""

    @property
    def cwd(self) -> str:
        try:
            return str(Path.cwd())
        except OSError:
            advice = "The process's own working directory is gone; give an absolute working_dir."
            raise BackendError("io", advice=advice) from None

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)  # noqa: PTH112 - unlike Path.is_dir it answers False for every path

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)  # noqa: PTH113 - as above


_VERSIONS: trio.lowlevel.RunVar[Versions] = trio.lowlevel.RunVar("codex_adapter.versions")


def _versions_of_this_run() -> Versions:
    try:
        return _VERSIONS.get()
    except LookupError:
        versions = Versions()
        _VERSIONS.set(versions)
        return versions


def _prepare(request: RunRequest, config: CodexConfig, parent: Mapping[str, str]) -> Launch:
    files = _Files()
    options = check_request(request, config, files)
    if config.codex_home is not None and not config.codex_home.startswith("/"):
        config = msgspec.structs.replace(config, codex_home=str(Path(files.cwd, config.codex_home)))
    env = merge_environment(parent, config, request.env)
    cwd = run_directory(request, config, files)
    home = env.get("CODEX_HOME")
    if home and not files.is_dir(os.path.join(cwd, home)):  # noqa: PTH118 - a string, whatever it holds
        # The CLI would exit with an explanation on stderr, which nobody gets to see.
        raise BackendError("io", advice="CODEX_HOME is no existing directory; create it.")
    return Launch(
        binary=find_binary(config, env),
        options=options,
        env=env,
        cwd=cwd,
        prompt=request.prompt.encode(),
        timeout=effective_timeout(request, config),
    )
