"""Probe pi: its stage, its own probes, and those that all agents share (C8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import override

from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.binary import PROGRAM
from codex_adapter.agents.pi.command import QUIET
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.kind import KIND
from codex_adapter.agents.pi.releases import RELEASES
from codex_adapter.probes import failures, requests, sessions, turns
from codex_adapter.probes.probe import Probe
from codex_adapter.probes.stage import Connection, Stage
from codex_adapter.runtime.programs import Version
from codex_adapter.testing.model_server import ModelServer
from codex_adapter.testing.scenario import RawItem

__all__ = ["PiStage"]

_PROVIDER: Final = "scripted"
_MODEL: Final = "mock-model"
_OTHER_MODEL: Final = "another-model"


def _write(file: str) -> RawItem:
    call = {"type": "function_call", "id": "fc_write", "call_id": "call_write", "status": "completed"}
    return RawItem({**call, "name": "write", "arguments": json.dumps({"path": file, "content": turns.GREETING})})


class PiStage(Stage):
    """The CLI pi, with a directory of its own files for each probe."""

    kind: ClassVar[str] = KIND
    extensions: ClassVar[Mapping[str, Any]] = {
        **{keys.SANDBOX_MODE: "danger-full-access", keys.TOOL_PAYLOADS: "full"},
        **{keys.PROVIDER: _PROVIDER, keys.MODEL: _MODEL},
    }
    prefixes: ClassVar[tuple[str, ...]] = ("PI_",)
    program_variable: ClassVar[str] = PROGRAM.variable
    probes: ClassVar[tuple[Probe, ...]] = (
        turns.message({"input": 60, "cacheRead": 40, "output": 20}),
        turns.commands(),
        turns.secret(),
        turns.long_lines(1024),
        turns.file_change(_write(turns.FILE)),
        turns.read_only(keys.SANDBOX_MODE, _write(turns.FORBIDDEN)),
        requests.prompt(),
        requests.model(_OTHER_MODEL),
        requests.image(keys.IMAGES),
        requests.broken_settings(**{keys.PROVIDER: "unknown"}),
        *sessions.PROBES,
        failures.RESUME_CANCELLED,
        *failures.ENDS,
        failures.refused(),
        failures.retried((RELEASES.quirk("retries_reported"),)),
    )

    @override
    def connect(
        self, probe: Probe, server: ModelServer, root: Path, *, binary: str | None, release: Version | None
    ) -> Connection:
        """Implement `Stage.connect`."""
        directory = root / "agent"
        directory.mkdir()
        models = [{"id": name, "input": ["text", "image"]} for name in (_MODEL, _OTHER_MODEL)]
        provider = {"baseUrl": server.base_url, "api": "openai-responses", "apiKey": "sk-scripted", "models": models}
        (directory / "models.json").write_text(json.dumps({"providers": {_PROVIDER: provider}}))
        retry = {"enabled": probe.retries > 0, "maxRetries": probe.retries, "baseDelayMs": 1}
        (directory / "settings.json").write_text(json.dumps({"retry": retry}))
        return Connection(PiConfig(binary=binary), {**QUIET, "PI_CODING_AGENT_DIR": str(directory)})
