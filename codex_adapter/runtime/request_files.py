"""Answer the questions of a request's checks from the real file system (Q3, Q6)."""

from __future__ import annotations

import os
from pathlib import Path

from codex_adapter.core.request_checks import run_directory
from codex_adapter.errors import BackendError
from codex_adapter.file_systems import Inquiry
from codex_adapter.request import RunConfig, RunRequest

__all__ = ["RequestFiles"]


class RequestFiles:
    """The real file system, as a `FileSystem`. A path that is not valid does not exist."""

    def __init__(self, inquiry: Inquiry, request: RunRequest, config: RunConfig) -> None:
        self._inquiry = inquiry
        self._request = request
        self._config = config

    @property
    def cwd(self) -> str:
        """Return the working directory of this process. Raise `BackendError` (`io`) if it no longer exists."""
        try:
            return str(Path.cwd())
        except OSError:
            advice = "The working directory of this process no longer exists. Pass an absolute working_dir."
            raise BackendError("io", advice=advice) from None

    def is_dir(self, path: str) -> bool:
        """Return whether `path` is an existing directory."""
        self._ask_about(path)
        return os.path.isdir(path)  # noqa: PTH112 - unlike Path.is_dir, it raises for no path

    def is_file(self, path: str) -> bool:
        """Return whether `path` is an existing file."""
        self._ask_about(path)
        return os.path.isfile(path)  # noqa: PTH113 - as above

    def _ask_about(self, path: str) -> None:
        own = path == run_directory(self._request, self._config, self)
        self._inquiry.at("working directory" if own else "path in the request's extensions", path)
