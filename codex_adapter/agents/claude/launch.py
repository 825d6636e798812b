"""Check a request and find the CLI for it. Start only `BINARY --version`, and write nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from codex_adapter.agents.claude.advice import ADVICE
from codex_adapter.agents.claude.binary import PROGRAM, find_binary
from codex_adapter.agents.claude.command import TEMPORARY_DIRECTORIES, build_argv, config_directory, merge_environment
from codex_adapter.agents.claude.config import ClaudeConfig
from codex_adapter.agents.claude.extensions import RunOptions
from codex_adapter.agents.claude.releases import missing_feature, needs_version
from codex_adapter.agents.claude.session import expected_session
from codex_adapter.agents.claude.stream.control import encode_prompt
from codex_adapter.agents.claude.validation import check_request
from codex_adapter.core.request_checks import effective_timeout, run_directory
from codex_adapter.errors import BackendError, InvalidRequestError
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.request import RunRequest
from codex_adapter.runtime.agent_home import check_home
from codex_adapter.runtime.private_file import LONGEST_DIRECTORY
from codex_adapter.runtime.programs import Binary, Version, versions_of_this_run
from codex_adapter.runtime.request_files import RequestFiles
from codex_adapter.runtime.session_expectation import SessionExpectation

__all__ = ["ClaudeLaunch", "check_launch", "prepare_launch"]


class ClaudeLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """A checked run of the CLI.

    `cwd` is absolute. `timeout` is in seconds, or None. `prompt` has the bytes for stdin. `session` is the session that
    the run must continue, or None. `temporary` has the variables of temporary directories that the configuration or the
    request sets. `version` is the release of the binary, if it was requested. (S3, S9, S10)
    """

    binary: Binary
    options: RunOptions
    env: dict[str, str]
    cwd: str
    prompt: bytes
    timeout: float | None
    session: SessionExpectation | None
    temporary: dict[str, str]
    version: Version | None = None

    @override
    def __repr__(self) -> str:
        """Return a text without content, because any field may be secret (X1)."""
        return "ClaudeLaunch(...)"

    def argv(self) -> list[str]:
        """Return the argv (S1)."""
        return build_argv(self.binary.path, self.options, cwd=self.cwd)


async def prepare_launch(request: RunRequest, config: ClaudeConfig, *, ask_release: bool = False) -> ClaudeLaunch:
    """Check a request, find the binary, and check that its release supports the request (Q1 to Q6, S4 to S6, S8).

    The binary is asked for its release if the request depends on it, or with `ask_release`. Raise
    `InvalidRequestError`, `UnsupportedCapabilityError`, `SpawnError`, or `BackendError` (`invalid_request`) with advice
    if the release does not support the request.
    """
    launch = await check_launch(request, config)
    if ask_release or needs_version(launch.options):
        version = await versions_of_this_run(PROGRAM).of(launch.binary, launch.env, config)
        missing = missing_feature(launch.options, version)
        if missing is not None:
            raise BackendError("invalid_request", advice=f"{missing[:1].upper()}{missing[1:]}.")
        launch = replace(launch, version=version)
    return launch


async def check_launch(request: RunRequest, config: ClaudeConfig) -> ClaudeLaunch:
    """Check a request as `prepare_launch` does, but start nothing and ignore the release of the binary."""
    return await inquire(_prepare, request, config, dict(os.environ))


def _prepare(inquiry: Inquiry, request: RunRequest, config: ClaudeConfig, parent: Mapping[str, str]) -> ClaudeLaunch:
    files = RequestFiles(inquiry, request, config)
    options = check_request(request, config, files)
    if config.config_dir is not None and not config.config_dir.startswith("/"):
        config = replace(config, config_dir=str(Path(files.cwd, config.config_dir)))
    env = merge_environment(parent, config, request.env, options)
    cwd = run_directory(request, config, files)
    os.access(cwd, os.X_OK)  # the start enters it; only the answer of the file system matters here
    options = replace(options, repository=_is_in_repository(Path(cwd).resolve()))
    named = env.get("CLAUDE_CONFIG_DIR")
    if named:
        check_home("CLAUDE_CONFIG_DIR", str(Path(cwd, named)), ADVICE["home_missing"], inquiry.at)
    directory = config_directory(env)
    inquiry.at("CLAUDE_CONFIG_DIR directory", cwd if directory is None else str(Path(cwd, directory)))
    session = expected_session(options, cwd, None if directory is None else Path(cwd, directory))
    return ClaudeLaunch(
        binary=find_binary(config, env, inquiry.at),
        options=options,
        env=env,
        cwd=cwd,
        prompt=encode_prompt(request.prompt, options.images),
        timeout=effective_timeout(request, config),
        session=session,
        temporary=_temporary_directories({**config.env, **request.env}, options),
    )


def _is_in_repository(directory: Path) -> bool:
    """Return whether git would find a repository, with or without working files, at a directory or above it."""
    return any(
        os.path.lexists(place / ".git") or all(os.path.lexists(place / name) for name in ("HEAD", "objects", "refs"))
        for place in (directory, *directory.parents)
    )


def _temporary_directories(env: Mapping[str, str], options: RunOptions) -> dict[str, str]:
    """Return the temporary directories in `env`. Raise `InvalidRequestError` for one that the sandbox cannot use."""
    if options.sandboxed and len(os.fsencode(env.get("TMPDIR", ""))) > LONGEST_DIRECTORY:
        problem = f"The path in TMPDIR is longer than {LONGEST_DIRECTORY} bytes, so the sandbox cannot create sockets."
        raise InvalidRequestError(f"{problem} Pass a shorter path, or no TMPDIR.")
    return {name: env[name] for name in TEMPORARY_DIRECTORIES if name in env}
