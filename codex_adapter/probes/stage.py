"""Define what an agent supplies so that it can be probed, and the environment of every probe (C8).

No probe uses a login, a setting or a key of the user: the variables for them are empty, and HOME is empty too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

from codex_adapter.core.masking.credential_names import is_credential_name
from codex_adapter.probes.installed import Installed
from codex_adapter.probes.probe import Probe
from codex_adapter.request import RunConfig
from codex_adapter.runtime.programs import Version
from codex_adapter.testing.model_server import ModelServer
from codex_adapter.testing.scenario import Scenario

__all__ = ["NOWHERE", "STOP_SECONDS", "Connection", "Stage", "isolate"]

NOWHERE = "http://127.0.0.1:1"
"""A proxy that does not exist, so that every request to the network fails immediately."""
STOP_SECONDS = 15.0
"""Seconds for the end of a cancelled run. A CLI that ends by itself needs less than two on an idle machine."""
_OURS = "CODEX_ADAPTER_"


class Connection(NamedTuple):
    """How the runs of a probe reach its model server: their configuration and variables."""

    config: RunConfig
    env: Mapping[str, str] = MappingProxyType({})


class Stage(ABC):
    """An agent from the view of its probes. It has no state.

    `find` returns the program that a run with an environment would execute, and its release.
    """

    kind: ClassVar[str]
    """The kind of the agent."""
    probes: ClassVar[Sequence[Probe]]
    """The probes, in the order of the report."""
    extensions: ClassVar[Mapping[str, Any]]
    """The extensions of every run: no sandbox, complete results of tools."""
    prefixes: ClassVar[tuple[str, ...]]
    """The first letters of variables that steer the CLI or contain its login."""
    program_variable: ClassVar[str]
    """The variable with the path of the program."""

    def __init__(self, find: Callable[[Mapping[str, str]], Awaitable[Installed]]) -> None:
        self.find: Final = find

    @abstractmethod
    def connect(
        self, probe: Probe, server: ModelServer, root: Path, *, binary: str | None, release: Version | None
    ) -> Connection:
        """Write the CLI's settings below `root`, so that it uses this server, and return the connection."""

    def scenario(self, probe: Probe, release: Version | None) -> Scenario:
        """Return the scenario of a probe, as this release needs it."""
        del release
        return probe.scenario


def isolate(environ: Mapping[str, str], root: Path, stage: Stage) -> dict[str, str]:
    """Return the variables that keep a probe below `root`, away from the user's login and from the network.

    Each variable of `environ` that may contain a login or a setting of the CLI is empty. `root` has the directory
    `home`. HOME is empty, so that the agent's shells read no profile. (C24)
    """
    hidden = {name: "" for name in environ if is_credential_name(name) or name.startswith(stage.prefixes)}
    kept = [name for name in hidden if name.startswith(_OURS) or name == stage.program_variable]
    for name in kept:
        del hidden[name]
    return {
        **hidden,
        "HOME": str(root / "home"),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), NOWHERE),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1"),
    }
