"""Test the hint for a failure of the real CLI; its own output is not shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import chain
from typing import Any

import pytest

from codex_adapter.agents.codex.advice import ADVICE as OF_CODEX
from codex_adapter.hints import ADVICE
from codex_adapter.testing import Answer, answer, script

from ..waiting import SOON
from .stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.rule("F9", "W2", "X1")]


def _refusal(status: int, code: str | None = None, kind: str = "invalid_request_error") -> Answer:
    return Answer(status=status, body={"error": {"message": "sekrit", "type": kind, "code": code}})


MODELS: dict[str, tuple[Answer, set[str]]] = {
    "401": (_refusal(401, "invalid_api_key"), {"not_logged_in"}),
    "403": (_refusal(403), {"forbidden"}),
    "404": (_refusal(404), {"endpoint_unknown"}),
    "413": (_refusal(413), {"input_too_long"}),
    "429": (_refusal(429, "rate_limit_exceeded"), {"rate_limited"}),
    "quota": (_refusal(429, "insufficient_quota", "insufficient_quota"), {"quota_exceeded", "rate_limited"}),
    "usage limit": (_refusal(429, kind="usage_limit_reached"), {"quota_exceeded"}),
    "500": (_refusal(500), {"server_error"}),
    "503": (_refusal(503), {"overloaded"}),
    "context": (_refusal(400, "context_length_exceeded"), {"context_too_long"}),
    "request": (_refusal(400, "unsupported_value"), {"request_rejected"}),
    "cut": (answer("sekrit", end="none"), {"stream_cut"}),
}
"""What the model does, and the hints of which a release may tell one."""

CONFIGURATIONS = {
    "syntax": "this is = = no TOML and sekrit\n",
    "type": "sandbox_mode = 17\n",
}


def _command(stage: Stage, *words: str, prompt: str = "Do it.") -> tuple[int, dict[str, Any], bytes]:
    """The exit status of the command, its completion record, and all that it put out."""
    options = {"--format": "jsonl", "--codex": str(stage.release.binary), "--codex-home": str(stage.home)}
    options["--working-dir"] = str(stage.workspace)
    done = subprocess.run(
        [sys.executable, "-m", "codex_adapter", "run", *chain.from_iterable(options.items()), *words],
        input=prompt.encode(),
        capture_output=True,
        env={**os.environ, **stage.request().env},
        timeout=SOON,
        check=False,
    )
    record = json.loads(done.stdout.splitlines()[-1])
    assert record["type"] == "completion"
    return done.returncode, record, done.stderr


@pytest.mark.parametrize("trouble", [pytest.param("401", marks=pytest.mark.smoke), *list(MODELS)[1:]])
def test_a_model_that_fails_is_told_by_its_hint(trouble: str, stage: Stage) -> None:
    fallback, hints = MODELS[trouble]
    with stage.model(script(fallback=fallback)):
        status, record, complaints = _command(stage)
    assert (status, record["turn"]) == (1, "failed")
    expected = {**ADVICE, **OF_CODEX}
    assert complaints.decode() == f"codex-adapter: {expected[record['hint']]}\n"
    assert record["hint"] in hints
    assert "sekrit" not in json.dumps(record)


@pytest.mark.parametrize("trouble", [pytest.param("syntax", marks=pytest.mark.smoke), "type"])
def test_a_configuration_that_cannot_be_read_is_told_by_its_hint(trouble: str, stage: Stage) -> None:
    with stage.model(script(), config=CONFIGURATIONS[trouble]):
        status, record, complaints = _command(stage)
    assert (status, record["status"]) == (1, {"code": 1, "signal": None})
    assert complaints.decode() == f"codex-adapter: {OF_CODEX['configuration_broken']}\n"
    assert record["hint"] == "configuration_broken"
    assert "sekrit" not in json.dumps(record)


def test_a_key_that_is_not_set_is_a_login_that_is_missing(stage: Stage) -> None:
    with stage.model(script("never asked")):
        file = stage.home / "config.toml"
        file.write_text(file.read_text().replace("wire_api = ", 'env_key = "NO_SUCH_KEY", wire_api = '))
        _, record, _ = _command(stage)
    assert record["hint"] == "not_logged_in"


def test_a_server_that_does_not_start_is_told_where_the_release_needs_it(stage: Stage) -> None:
    server = '[mcp_servers.bad]\ncommand = "/nonexistent/sekrit"\nrequired = true\n'
    with stage.model(script(fallback=answer("fine")), config=server):
        status, record, _ = _command(stage)
    needs_it = stage.release.before(0, 61) or not stage.release.before(0, 116)
    assert (status, record.get("hint")) == ((1, "mcp_server_failed") if needs_it else (0, None))


def test_a_prompt_that_is_too_long_is_told_where_there_is_a_limit(stage: Stage) -> None:
    stage.release.needs(0, 116, what="a limit of the prompt")
    with stage.model(script("never asked")):
        _, record, _ = _command(stage, prompt="x" * 1_048_577)
    assert record["hint"] == "input_too_long"


@pytest.mark.rule("K2")
def test_a_service_that_is_not_there_is_no_network(stage: Stage) -> None:
    with stage.model(script()):
        """Afterwards nobody listens on its port."""
    status, record, _ = _command(stage, "--idle-timeout", "4")
    if record["outcome"] == "failed":
        assert (status, record["error"]["hint"]) == (124, "no_network")
    else:
        assert (status, record["hint"]) == (1, "no_network")


@pytest.mark.rule("S9")
def test_a_session_that_is_not_there_is_unknown(stage: Stage) -> None:
    with stage.model(script(fallback=answer("a new thread"))):
        status, record, _ = _command(stage, "--resume", "0190a0b0-0000-7000-8000-000000000000")
    assert (status, record["error"]["hint"]) == (125, "session_unknown")


def test_a_run_that_reconnects_and_succeeds_has_none(stage: Stage) -> None:
    with stage.model(script(answer("lost", cut_after=2), "found"), retries="request_max_retries = 0"):
        status, record, _ = _command(stage)
    assert (status, record["final_text"], "hint" in record) == (0, "found", False)
