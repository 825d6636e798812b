"""Serve a scripted model to the real Codex CLI, without an account and without a network.

    with ModelServer(script(Shell("make test"), "All green.")) as server:
        server.write_codex_home(home)

`python -m codex_adapter.testing.model_server SCENARIO.json` serves a scenario from a file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from ..scenario import Scenario
from .http_server import LoopbackServer
from .playback import Playback

__all__ = ["ModelServer"]


class ModelServer:
    """A context manager that serves the OpenAI Responses API on the loopback and plays a scenario (TK1).

    It listens from entry to exit on `port`, or on a free port if it is 0. The exit closes each connection in a bounded
    time, whatever the clients do. It prints nothing.
    """

    def __init__(self, scenario: Scenario, *, port: int = 0) -> None:
        self._playback = Playback(scenario)
        self._port = port
        self._server: LoopbackServer | None = None

    def __enter__(self) -> Self:
        """Start to listen. Raise OSError if the port is in use, and RuntimeError on a second entry."""
        if self._server is not None:
            raise RuntimeError("A ModelServer can be entered only once. Create another one.")
        self._server = LoopbackServer(self._port, self._playback)
        self._port = self._server.server_address[1]
        self._server.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.stop()

    @property
    def port(self) -> int:
        """The TCP port on 127.0.0.1."""
        if self._server is None:
            raise RuntimeError("A ModelServer has no port before it is entered. Use it in a with block.")
        return self._port

    @property
    def base_url(self) -> str:
        """The `base_url` for a model provider in the configuration of the CLI."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The decoded bodies of the model requests so far, oldest first, the newest 256 at most."""
        return self._playback.requests

    def wait_for_requests(self, count: int, *, timeout: float = 30.0) -> bool:
        """Wait until `count` model requests have arrived. Return False after `timeout` seconds."""
        return self._playback.wait_for_requests(count, timeout)

    def open_gate(self, name: str) -> None:
        """Send the answers that wait at this gate, and delay no further ones."""
        self._playback.open_gate(name)

    def write_codex_home(
        self,
        directory: str | os.PathLike[str],
        *,
        model: str = "mock-model",
        config: str = "",
        provider: Mapping[str, str | int | bool] = MappingProxyType({}),
    ) -> str:
        """Write a `config.toml` that connects the CLI to this server, and return the directory for `CODEX_HOME`.

        A missing directory is created. `config` is additional TOML. It may begin with top-level keys, for example
        another `model_provider`. `provider` has additional settings of the scripted model provider.
        """
        home = Path(directory)
        home.mkdir(parents=True, exist_ok=True)
        settings = {"name": "scripted", "base_url": self.base_url, "wire_api": "responses", **provider}
        scripted = ", ".join(f"{name} = {json.dumps(value)}" for name, value in settings.items())
        lines = [f"model = {json.dumps(model)}", f"model_providers.scripted = {{ {scripted} }}"]
        if re.search(r"^model_provider\s*=", config, re.MULTILINE) is None:
            lines.append('model_provider = "scripted"')
        (home / "config.toml").write_text("\n".join([*lines, config, ""]), encoding="utf-8")
        return str(home)
