"""Probe the options of a request: the model receives them, or the CLI accepts them."""

from __future__ import annotations

import base64
import json

from codex_adapter import Completion
from codex_adapter.agents.codex import extension_keys as keys
from codex_adapter.agents.codex.probes.probe import Evidence, Probe, Promise, Start
from codex_adapter.agents.codex.probes.turns import finished
from codex_adapter.testing.mcp_server import PIXEL
from codex_adapter.testing.scenario import Scenario, answer, script

__all__ = ["PROBES"]

MODEL = "another-model"
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
IMAGE = "px.png"
LONGEST = 1024 * 1024
PROMPT = "".join(f"{number:07d} " for number in range(LONGEST // 8))

DONE = script("Done.")


def _model(seen: Evidence) -> str | None:
    return None if seen.last.asked and seen.last.asked[0].get("model") == MODEL else _not_asked(seen)


def _schema(seen: Evidence) -> str | None:
    asked = seen.last.asked and seen.last.asked[0].get("text")
    form = asked.get("format") if isinstance(asked, dict) else None
    return None if isinstance(form, dict) and form.get("schema") == SCHEMA else _not_asked(seen)


def _image(seen: Evidence) -> str | None:
    return None if PIXEL in json.dumps(seen.last.asked) else _not_asked(seen)


def _not_asked(seen: Evidence) -> str:
    return f"it is in none of the {len(seen.last.asked)} requests to the model; {seen.last.describe()}"


def _prompt(seen: Evidence) -> str | None:
    texts = [text for request in seen.runs[0].asked for text in _texts(request)]
    return None if PROMPT in texts else f"the model did not receive it; {seen.runs[0].describe()}"


def _texts(request: dict[str, object]) -> list[object]:
    """Return all texts of the request's messages."""
    inputs = request.get("input")
    contents = [item.get("content") for item in inputs if isinstance(item, dict)] if isinstance(inputs, list) else []
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part.get("text") for part in parts if isinstance(part, dict)]


def _longer_prompt(seen: Evidence) -> str | None:
    outcome = seen.last.outcome
    refused = isinstance(outcome, Completion) and not outcome.status.success and outcome.turn in (None, "cut_off")
    return None if refused else finished(seen)


PROBES = (
    Probe(
        "prompt",
        script(fallback=answer("Done.")),
        (
            Promise("S3", "the model receives a complete prompt of 1,048,576 characters", _prompt),
            Promise("F3", "a longer prompt is accepted, or ends the run with an exit status", _longer_prompt),
        ),
        (Start(PROMPT), Start(PROMPT + "x")),
    ),
    Probe(
        "options",
        DONE,
        (
            Promise("S1", "the requested model is used", _model),
            Promise("S1", "the model receives an output schema", _schema),
        ),
        (Start(wishes={keys.MODEL: MODEL, keys.OUTPUT_SCHEMA: SCHEMA}),),
    ),
    Probe(
        "image",
        DONE,
        (Promise("S1", "the model receives an image", _image),),
        (Start(wishes={keys.IMAGES: [IMAGE]}),),
        files={IMAGE: base64.b64decode(PIXEL)},
    ),
    Probe(
        "directories",
        DONE,
        (Promise("S1", "an additional directory is accepted", finished),),
        (Start(wishes={keys.ADD_DIRS: {"dirs": ["../extra"]}}),),
    ),
    Probe(
        "approval",
        DONE,
        (Promise("S1", "an approval policy is accepted", finished),),
        (Start(wishes={keys.NON_INTERACTIVE: False, keys.APPROVAL_POLICY: "on-request"}),),
    ),
    Probe(
        "configuration",
        Scenario(),
        (
            Promise(
                "F3",
                "a CLI that refuses to start exits with an error status and without a turn",
                lambda seen: None if _refused(seen) else seen.last.describe(),
            ),
        ),
        config="this is = = no TOML\n",
    ),
)


def _refused(seen: Evidence) -> bool:
    outcome = seen.last.outcome
    return isinstance(outcome, Completion) and not outcome.status.success and outcome.turn is None
