"""Check the directory of an agent's own files, which the configuration or a variable names (C22, F9).

Some CLIs create a missing directory without a word. The login and the settings in the right one would then be missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from codex_adapter.errors import BackendError, InvalidRequestError
from codex_adapter.own_directories import make_private
from codex_adapter.runtime.programs import At

__all__ = ["check_home", "create_home"]


def check_home(variable: str, home: str, advice: str, at: At) -> None:
    """Raise `BackendError` (`io`) with the hint `home_missing` if the directory `home` does not exist. Block on files.

    `home` is absolute, and named by `variable`. Call `at` before the file system is accessed. (C22)
    """
    at(f"{variable} directory", home)
    if not os.path.isdir(home):  # noqa: PTH112 - unlike Path.is_dir, it raises for no path
        raise BackendError("io", hint="home_missing", advice=advice)


def create_home(variable: str, field: str, environ: Mapping[str, str]) -> None:
    """Create the directory that `variable` names, if any, for its owner alone (C22).

    Raise `InvalidRequestError` if it cannot be created. `field` of the configuration sets the variable.
    """
    home = environ.get(variable)
    try:
        if home:
            make_private(home)
    except (OSError, ValueError):
        problem = f"The directory in config.{field} or {variable} cannot be created."
        raise InvalidRequestError(f"{problem} Pass another directory.") from None
