"""Probe the options of a request to any agent: the model receives them, or the CLI accepts them."""

from __future__ import annotations

import base64
import json
from typing import Any

from codex_adapter import Completion
from codex_adapter.core.extension_keys import ADD_DIRS, MODEL
from codex_adapter.probes.probe import Evidence, Probe, Promise, Start
from codex_adapter.probes.turns import finished
from codex_adapter.testing.mcp_server import PIXEL
from codex_adapter.testing.scenario import Item, answer, script

__all__ = ["SCHEMA", "broken_settings", "directories", "image", "model", "prompt", "schema"]

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
VALUE = {"ok": True}
IMAGE = "px.png"
LONGEST = 1024 * 1024
PROMPT = "".join(f"{number:07d}." for number in range(LONGEST // 8))

DONE = script(fallback=answer("Done."))


def prompt() -> Probe:
    """Return the probe of a prompt of one mebibyte, and of a longer one."""
    return Probe(
        "prompt",
        DONE,
        (
            Promise("S3", "the model receives a complete prompt of 1,048,576 characters", _prompt),
            Promise("F3", "a longer prompt is accepted, or ends the run with an exit status", _longer_prompt),
        ),
        (Start(PROMPT), Start(PROMPT + "x")),
    )


def model(name: str = "another-model") -> Probe:
    """Return the probe of the model `name`, which is not the one of the settings."""

    def check(seen: Evidence) -> str | None:
        return None if any(request.get("model") == name for request in seen.last.asked) else _not_asked(seen)

    return Probe("model", DONE, (Promise("S1", "the requested model is used", check),), (Start(wishes={MODEL: name}),))


def schema(key: str, structured: Item) -> Probe:
    """Return the probe of an output schema. `structured` is the model's answer with `VALUE`."""
    return Probe(
        "schema",
        script(structured, fallback=answer("Done.")),
        (
            Promise("S1", "the model receives an output schema", _schema),
            Promise("O18", "the answer for an output schema is the final text", _structured),
        ),
        (Start(wishes={key: SCHEMA}),),
    )


def image(key: str) -> Probe:
    """Return the probe of an image."""
    return Probe(
        "image",
        DONE,
        (Promise("S1", "the model receives an image", _image),),
        (Start(wishes={key: [IMAGE]}),),
        files={IMAGE: base64.b64decode(PIXEL)},
    )


def directories() -> Probe:
    """Return the probe of an additional directory."""
    return Probe(
        "directories",
        DONE,
        (Promise("S1", "an additional directory is accepted", finished),),
        (Start(wishes={ADD_DIRS: {"dirs": ["../extra"]}}),),
    )


def broken_settings(settings: str = "", **wishes: Any) -> Probe:
    """Return the probe of settings or extensions with which the CLI does not start."""
    return Probe(
        "configuration",
        DONE,
        (Promise("F3", "a CLI that refuses to start exits with an error status and without a turn", _refused),),
        (Start(wishes=wishes),),
        settings=settings,
    )


def _schema(seen: Evidence) -> str | None:
    return None if any(value == SCHEMA for value in seen.last.asked_values()) else _not_asked(seen)


def _structured(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    text = outcome.final_text if isinstance(outcome, Completion) else None
    try:
        value = json.loads(text or "")
    except ValueError:
        value = None
    return finished(seen) if value == VALUE else f"it is not the value of the schema; {seen.last.describe()}"


def _image(seen: Evidence) -> str | None:
    found = any(isinstance(value, str) and PIXEL in value for value in seen.last.asked_values())
    return None if found else _not_asked(seen)


def _not_asked(seen: Evidence) -> str:
    return f"it is in none of the {len(seen.last.asked)} requests to the model; {seen.last.describe()}"


def _prompt(seen: Evidence) -> str | None:
    first = seen.runs[0]
    return None if any(value == PROMPT for value in first.asked_values()) else _not_received(seen)


def _not_received(seen: Evidence) -> str:
    return f"the model did not receive it; {seen.runs[0].describe()}"


def _longer_prompt(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    refused = isinstance(outcome, Completion) and not outcome.status.success and outcome.turn in (None, "cut_off")
    return None if refused else finished(seen)


def _refused(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    refused = isinstance(outcome, Completion) and not outcome.status.success and outcome.turn is None
    return None if refused else seen.last.describe()
