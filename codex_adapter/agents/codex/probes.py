"""Probe the Codex CLI: its stage, its own probes, and those that all agents share (C8)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
from typing_extensions import override

from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.binary import PROGRAM
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.kind import KIND
from codex_adapter.agents.codex.releases import quirk, quirks_of
from codex_adapter.events import ErrorSource
from codex_adapter.probes import failures, requests, sessions, turns
from codex_adapter.probes.probe import Evidence, Probe, Promise, Start
from codex_adapter.probes.stage import Connection, Stage
from codex_adapter.probes.turns import FILE, GREETING, SERVER, finished
from codex_adapter.runtime.programs import Version
from codex_adapter.testing.mcp_config import mcp_config
from codex_adapter.testing.model_server import ModelServer
from codex_adapter.testing.scenario import Message, Patch, Plan, PlanStep, Scenario, WebSearch, answer, script

__all__ = ["CodexStage"]

_PAUSE: Final = 1.0
"""Seconds that the model waits with releases that otherwise lose the end of a command."""
_BEGUN: Final = Plan((PlanStep("one", "in_progress"), PlanStep("two")))
_MIDWAY: Final = Plan((PlanStep("one", "completed"), PlanStep("two", "in_progress")))
_LOSES_OUTPUT: Final = quirk("command_output_lost")
_CUTS_OUTPUT: Final = quirk("output_cut")
_NO_PLAN: Final = quirk("plan_not_offered")
_AFTER: Final = "after the cut"


def _patch(file: str) -> Patch:
    return Patch(f"*** Begin Patch\n*** Add File: {file}\n+{GREETING}*** End Patch\n")


def _plan(seen: Evidence) -> str | None:
    plans = list(dict.fromkeys(seen.last.plans))
    return None if plans == [(False, False), (True, False)] else f"{len(plans)} plans; {seen.last.describe()}"


def _search(seen: Evidence) -> str | None:
    return None if len(seen.last.ended("web_search")) == 1 else seen.last.describe()


def _reconnected(seen: Evidence) -> str | None:
    if not any(isinstance(event.data, ErrorSource) and event.data.source == "event" for event in seen.last.events):
        return f"no notice was reported; {seen.last.describe()}"
    return finished(seen) if seen.last.texts("agent_message")[-1:] == [_AFTER] else seen.last.describe()


class CodexStage(Stage):
    """The Codex CLI, with a CODEX_HOME of each probe."""

    kind: ClassVar[str] = KIND
    extensions: ClassVar[Mapping[str, Any]] = {keys.SANDBOX_MODE: "danger-full-access", keys.TOOL_PAYLOADS: "full"}
    prefixes: ClassVar[tuple[str, ...]] = ("CODEX_", "OPENAI_")
    program_variable: ClassVar[str] = PROGRAM.variable
    probes: ClassVar[tuple[Probe, ...]] = (
        turns.message({"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 20}),
        turns.commands(output_unless=(_LOSES_OUTPUT,)),
        turns.secret(),
        turns.long_lines(unless=(_CUTS_OUTPUT, _LOSES_OUTPUT)),
        turns.file_change(_patch(FILE)),
        Probe(
            "plan",
            script(_BEGUN, _MIDWAY, "Done."),
            (Promise("M6", "a plan is reported, and reported again when it changes", _plan, (_NO_PLAN,)),),
            settings="tools.update_plan = { enabled = true }\n",
        ),
        turns.mcp_calls(mcp_config(SERVER)),
        Probe(
            "web search",
            script(answer(WebSearch({"type": "search", "query": "codex"}), "Done.")),
            (Promise("M3", "a web search is reported", _search),),
        ),
        turns.read_only(keys.SANDBOX_MODE, _patch(turns.FORBIDDEN)),
        requests.prompt(),
        requests.model(),
        requests.schema(keys.OUTPUT_SCHEMA, Message('{"ok": true}')),
        requests.image(keys.IMAGES),
        requests.directories(),
        Probe(
            "approval",
            requests.DONE,
            (Promise("S1", "an approval policy is accepted", finished),),
            (Start(wishes={keys.NON_INTERACTIVE: False, keys.APPROVAL_POLICY: "on-request"}),),
        ),
        requests.broken_settings("this is = = no TOML\n"),
        *sessions.PROBES,
        failures.RESUME_CANCELLED,
        *failures.ENDS,
        failures.refused(),
        Probe(
            "cut",
            script(answer("lost", cut_after=2), _AFTER),
            (Promise("M8", "a cut stream is reported as a notice, and the turn continues", _reconnected),),
            retries=3,
        ),
    )

    @override
    def connect(
        self, probe: Probe, server: ModelServer, root: Path, *, binary: str | None, release: Version | None
    ) -> Connection:
        """Implement `Stage.connect`."""
        retries = {"request_max_retries": 0, "stream_max_retries": probe.retries}
        home = server.write_codex_home(root / "codex_home", config=probe.settings, provider=retries)
        if release is not None and "asks_for_models" in quirks_of(release):
            _write_models_cache(Path(home), release)
        return Connection(CodexConfig(binary=binary), {"CODEX_HOME": home, "TMPDIR": str(root / "tmp")})

    @override
    def scenario(self, probe: Probe, release: Version | None) -> Scenario:
        """Implement `Stage.scenario`: the model waits with releases that lose the end of a command."""
        if release is None or "command_completion_lost" not in quirks_of(release):
            return probe.scenario
        slow = [msgspec.structs.replace(one, delay=_PAUSE) for one in probe.scenario.answers[1:]]
        return msgspec.structs.replace(probe.scenario, answers=(*probe.scenario.answers[:1], *slow))


def _write_models_cache(home: Path, release: Version) -> None:
    """Write a list of models, because without one each run spends seconds on a search."""
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    cache: dict[str, object] = {"fetched_at": now, "etag": None, "client_version": str(release), "models": []}
    (home / "models_cache.json").write_bytes(msgspec.json.encode(cache))
