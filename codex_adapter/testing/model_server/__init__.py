"""A scripted model server: the real Codex CLI runs against it, without an account and without a network.

    with ModelServer(script(Shell("make test"), "All green.")) as server:
        server.write_codex_home(home)

`python -m codex_adapter.testing.model_server SCENARIO.json` serves one from a file.
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
    """Speaks the OpenAI Responses API on the loopback and plays a scenario; a context manager (TK1).

    It listens from its entry to its exit, on `port`, or on a free one for 0. Leaving it closes every connection and
    takes a bounded time, whatever its clients do. It prints nothing.
    """

    def __init__(self, scenario: Scenario, *, port: int = 0) -> None:
        self._playback = Playback(scenario)
        self._port = port
        self._server: LoopbackServer | None = None

    def __enter__(self) -> Self:
        """Start to listen; raises OSError when the port is taken, and RuntimeError on a second entry."""
        if self._server is not None:
            raise RuntimeError("a ModelServer is entered once: make another one")
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
            raise RuntimeError("a ModelServer has a port once it is entered: use it in a with block")
        return self._port

    @property
    def base_url(self) -> str:
        """What the CLI's `base_url` of a model provider must be."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The decoded bodies of the model requests so far, oldest first, the newest 256 at most."""
        return self._playback.requests

    def wait_for_requests(self, count: int, *, timeout: float = 30.0) -> bool:
        """Wait until `count` model requests have come; False when `timeout` seconds pass first."""
        return self._playback.wait_for_requests(count, timeout)

    def open_gate(self, name: str) -> None:
        """Send the answers that wait at this gate, and hold none there any more."""
        self._playback.open_gate(name)

    def write_codex_home(
        self,
        directory: str | os.PathLike[str],
        *,
        model: str = "mock-model",
        config: str = "",
        provider: Mapping[str, str | int | bool] = MappingProxyType({}),
    ) -> str:
        """Write a `config.toml` that points the CLI here, and return the directory, for `CODEX_HOME`.

        The directory is made when it is missing. `config` is more TOML; it may begin with keys of the top level, one of
        which can be a `model_provider` other than the scripted one. `provider` is more settings of the scripted one.
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
