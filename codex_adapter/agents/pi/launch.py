"""Check a request and find the CLI for it, without writing anything."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from codex_adapter.agents.pi.advice import ADVICE
from codex_adapter.agents.pi.binary import find_binary, release_of
from codex_adapter.agents.pi.command import agent_directory, build_argv, merge_environment
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.extensions import RunOptions
from codex_adapter.agents.pi.releases import PROJECT_TRUST, has_project_trust, missing_feature
from codex_adapter.agents.pi.session import expected_session, forked_session, session_directory
from codex_adapter.agents.pi.validation import check_request
from codex_adapter.core.request_checks import effective_timeout, run_directory
from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.request import RunRequest
from codex_adapter.runtime.agent_home import check_home
from codex_adapter.runtime.programs import Binary, Version
from codex_adapter.runtime.request_files import RequestFiles
from codex_adapter.runtime.session_expectation import SessionExpectation

__all__ = ["PiLaunch", "check_launch", "prepare_launch"]


class PiLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """A checked run of the CLI.

    `cwd` is absolute. `timeout` is in seconds, or None. `prompt` has the bytes for stdin. `sessions` is the directory
    of the sessions, `fork` the file or id of the one to fork, `session` the one that the run must continue, or None.
    `own_temporary` is whether neither the request nor the configuration sets `TMPDIR`.
    `project` is whether the directory has a `.pi`. `version` is the release of the binary, None if it is unknown.
    (S3, S9)
    """

    binary: Binary
    options: RunOptions
    env: dict[str, str]
    cwd: str
    prompt: bytes
    timeout: float | None
    sessions: str
    fork: str | None
    session: SessionExpectation | None
    own_temporary: bool
    project: bool
    version: Version | None = None

    @override
    def __repr__(self) -> str:
        """Return a text without content, because any field may be secret (X1)."""
        return "PiLaunch(...)"

    def argv(self) -> list[str]:
        """Return the argv (S1)."""
        asks = has_project_trust(self.version)
        return build_argv(self.binary.path, self.options, asks_for_trust=asks, sessions=self.sessions, fork=self.fork)


async def prepare_launch(request: RunRequest, config: PiConfig) -> PiLaunch:
    """Check a request, find the binary, and check that its release supports the request (Q1 to Q6, S4 to S6, S8).

    Raise `InvalidRequestError`, `UnsupportedCapabilityError`, `SpawnError`, or `BackendError` (`invalid_request`) with
    advice if the release does not support the request.
    """
    launch = await check_launch(request, config)
    launch = replace(launch, version=await release_of(launch.binary, launch.env, config))
    if launch.project and missing_feature(launch.options, launch.version) is not None:
        problem = f"pi {launch.version} uses the settings in .pi of the working directory, which can start programs"
        advice = f"{problem}. Install release {PROJECT_TRUST.since} or newer, or trust the project."
        raise BackendError("invalid_request", advice=advice)
    return launch


async def check_launch(request: RunRequest, config: PiConfig) -> PiLaunch:
    """Check a request as `prepare_launch` does, but start nothing and ignore the release of the binary."""
    return await inquire(_prepare, request, config, dict(os.environ))


def _prepare(inquiry: Inquiry, request: RunRequest, config: PiConfig, parent: Mapping[str, str]) -> PiLaunch:
    files = RequestFiles(inquiry, request, config)
    options = check_request(request, config, files)
    if config.agent_dir is not None and not config.agent_dir.startswith("/"):
        config = replace(config, agent_dir=str(Path(files.cwd, config.agent_dir)))
    env = merge_environment(parent, config, request.env)
    cwd = run_directory(request, config, files)
    os.access(cwd, os.X_OK)  # the start enters it; only the answer of the file system matters here
    directory = agent_directory(env)
    if directory is not None and env.get("PI_CODING_AGENT_DIR"):
        check_home("PI_CODING_AGENT_DIR", str(Path(cwd, directory)), ADVICE["home_missing"], inquiry.at)
    inquiry.at("PI_CODING_AGENT_DIR directory", cwd if directory is None else str(Path(cwd, directory)))
    sessions = session_directory(cwd, env, trust_project=options.trust_project)
    return PiLaunch(
        binary=find_binary(config, env, inquiry.at),
        options=options,
        env=env,
        cwd=cwd,
        prompt=request.prompt.encode(),
        timeout=effective_timeout(request, config),
        sessions=sessions,
        fork=forked_session(options, cwd, env, sessions),
        session=expected_session(options, sessions),
        own_temporary="TMPDIR" not in config.env and "TMPDIR" not in request.env,
        project=os.path.lexists(f"{cwd}/.pi"),
    )
