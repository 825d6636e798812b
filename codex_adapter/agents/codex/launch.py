"""Check a request and find the CLI for it. Start only `BINARY --version`, and write nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from typing_extensions import override

from codex_adapter.agents.codex.advice import ADVICE
from codex_adapter.agents.codex.binary import PROGRAM, find_binary, packaged_release
from codex_adapter.agents.codex.command import (
    MOST_TRUST_BYTES,
    build_argv,
    home_of_cli,
    merge_environment,
    trust_setting,
)
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.disabled_tools import configured_servers, settings_without_tools
from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.agents.codex.git_shelter import shelter_git
from codex_adapter.agents.codex.releases import missing_feature, needs_version
from codex_adapter.agents.codex.validation import check_request
from codex_adapter.core.checks import is_unquoted
from codex_adapter.core.request_checks import effective_timeout, run_directory
from codex_adapter.errors import BackendError, InvalidRequestError
from codex_adapter.file_systems import Inquiry, inquire
from codex_adapter.request import RunRequest
from codex_adapter.runtime.agent_home import check_home
from codex_adapter.runtime.programs import Binary, Version, Versions, versions_of_this_run
from codex_adapter.runtime.request_files import RequestFiles

__all__ = ["CodexLaunch", "check_launch", "prepare_launch"]


class CodexLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """A checked run of the CLI.

    `cwd` is absolute. `timeout` is in seconds, or None. `prompt` has the bytes for stdin. `trust` is the setting on the
    trust in the project. `version` is the release of the binary, if it was requested. (S3, S11)
    """

    binary: Binary
    options: ExecOptions
    env: dict[str, str]
    cwd: str
    trust: str
    prompt: bytes
    timeout: float | None
    version: Version | None = None

    @override
    def __repr__(self) -> str:
        """Return a text without content, because any field may be secret (X1)."""
        return "CodexLaunch(...)"

    def argv(self, schema: str | None = None) -> list[str]:
        """Return the argv. `schema` is the path of the file with the output schema. (S1)"""
        return build_argv(self.binary.path, self.options, schema_file=schema, trust=self.trust)


async def prepare_launch(
    request: RunRequest,
    config: CodexConfig,
    *,
    environ: Mapping[str, str] | None = None,
    versions: Versions | None = None,
    ask_release: bool = False,
) -> CodexLaunch:
    """Check a request, find the binary, and check that its release supports the request (Q1 to Q7, S4 to S6, S8).

    `environ` is the parent environment, by default that of this process. `versions` remembers releases between runs; by
    default, it lasts as long as the trio run. The binary is asked for its release if the request depends on it, or with
    `ask_release`. Raise `InvalidRequestError`, `UnsupportedCapabilityError`, `SpawnError`, or `BackendError`
    (`invalid_request`) with advice if the release does not support the request.
    """
    launch = await check_launch(request, config, environ=environ)
    version = None
    depends = needs_version(launch.options)
    if ask_release or depends:
        version = await (versions or versions_of_this_run(PROGRAM)).of(launch.binary, launch.env, config)
        launch = msgspec.structs.replace(launch, version=version)
    missing = missing_feature(launch.options, version if depends else None)
    if missing is not None:
        raise BackendError("invalid_request", advice=f"{missing}.")
    if launch.options.tools == "none":
        settings = (*launch.options.settings, *settings_without_tools(configured_servers(launch.env)))
        return msgspec.structs.replace(launch, options=msgspec.structs.replace(launch.options, settings=settings))
    return launch


async def check_launch(
    request: RunRequest, config: CodexConfig, *, environ: Mapping[str, str] | None = None
) -> CodexLaunch:
    """Check a request as `prepare_launch` does, but start nothing and ignore the release of the binary."""
    parent = dict(os.environ if environ is None else environ)
    return await inquire(_prepare, request, config, parent)


def _prepare(inquiry: Inquiry, request: RunRequest, config: CodexConfig, parent: Mapping[str, str]) -> CodexLaunch:
    files = RequestFiles(inquiry, request, config)
    options = check_request(request, config, files)
    if config.codex_home is not None and not config.codex_home.startswith("/"):
        config = msgspec.structs.replace(config, codex_home=str(Path(files.cwd, config.codex_home)))
    env = merge_environment(parent, config, request.env)
    cwd = run_directory(request, config, files)
    os.access(cwd, os.X_OK)  # the start enters it; only the answer of the file system matters here
    home = env.get("CODEX_HOME")
    if home:
        home = os.path.join(cwd, home)  # noqa: PTH118 - a string, not a path that was checked
        check_home("CODEX_HOME", home, ADVICE["home_missing"], inquiry.at)
    if home and not is_unquoted(home):
        # The CLI inserts this path into a shell command that it runs outside the sandbox.
        raise BackendError("io", advice="The path of CODEX_HOME contains $, `, a quote or a newline. Use another path.")
    binary = find_binary(config, env, inquiry.at)
    if not options.trust_project:
        codex_home = home or os.path.join(cwd, home_of_cli(env) or ".codex")  # noqa: PTH118 - as above
        inquiry.at("CODEX_HOME directory", codex_home)
        sheltered = shelter_git(env, codex_home, packaged_release(binary.path, inquiry.at))
        options = msgspec.structs.replace(options, settings=(*options.settings, *sheltered))
    return CodexLaunch(
        binary=binary,
        options=options,
        env=env,
        cwd=cwd,
        trust=_trust(cwd, trusted=options.trust_project),
        prompt=request.prompt.encode(),
        timeout=effective_timeout(request, config),
    )


def _trust(cwd: str, *, trusted: bool) -> str:
    """Return the trust setting for a directory and all its parents, because the project may begin there (S11)."""
    real = Path(os.path.realpath(cwd))
    setting = trust_setting([str(directory) for directory in (real, *real.parents)], trusted=trusted)
    if len(os.fsencode(setting)) > MOST_TRUST_BYTES:
        raise InvalidRequestError("working_dir has too many parent directories. Use a directory with a shorter path")
    return setting
