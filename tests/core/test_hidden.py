"""Test that objects with a prompt or a credential hide it in logs and tracebacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from codex_adapter import CodexConfig, RunRequest
from codex_adapter.agents.codex.launch import CodexLaunch
from codex_adapter.daemon.messages import StartParams
from codex_adapter.harness import HarnessTurn
from codex_adapter.protocols.mailbox.messages import SessionState
from codex_adapter.protocols.mailbox.outbox import OutboxContent
from codex_adapter.protocols.turns import RunTurnRequest, SpaceSpec
from codex_adapter.spaces.environment import Environment, Server
from codex_adapter.workspace.shell import ShellCall

from ..rows import rows

WORD = "wordthatisseen"
ENV = {"A_NAME": WORD}
NOTHING: Any = None
SERVER = Server(name="s", command=WORD, args=(WORD,), env=ENV, cwd=None, url=WORD, space="s")
ENVIRONMENT = Environment(
    spaces=(), instructions=WORD, skills=(), hooks=(), servers=(SERVER,), env=ENV, model=None, permissions=None
)


@pytest.mark.rule("X1")
@rows(
    "value",
    [
        RunRequest(prompt=WORD, env=ENV, extensions={"a.b": {"c": WORD}}),
        CodexConfig(env=ENV),
        RunTurnRequest(
            external_session_id="s",
            external_run_id="r",
            asp_home="/h",
            spec=SpaceSpec(spaces=()),
            harness="codex",
            cwd="/",
            prompt=WORD,
            env=ENV,
            attachments=(WORD,),
        ),
        HarnessTurn(environment=ENVIRONMENT, directory=Path("/"), cwd="/", prompt=WORD, env=ENV),
        StartParams(agent_kind="codex", request={"prompt": WORD, "env": ENV}),
        ENVIRONMENT,
        SERVER,
        CodexLaunch(binary=NOTHING, options=NOTHING, env=ENV, cwd="/", trust="", prompt=WORD.encode(), timeout=None),
        OutboxContent(session="s", sequence=1, task=WORD, listing=NOTHING),
        ShellCall(("/bin/sh", "-c", WORD), ENV),
        SessionState(session_id="s", task=WORD, sequence_number=1, is_complete=False, created_at="", updated_at=""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_neither_a_prompt_nor_a_value_of_a_variable_is_shown(value: msgspec.Struct) -> None:
    for text in (repr(value), str(value), f"{value}", f"{value!r}", repr([value]), repr({"a": value})):
        assert WORD not in text
        assert text.strip("[{'a: }]").startswith(type(value).__name__)


@pytest.mark.rule("X1")
def test_what_is_not_secret_is_shown() -> None:
    assert repr(RunRequest(prompt="x", working_dir="/w", timeout=9.0, env=ENV)) == (
        "RunRequest(prompt=..., working_dir='/w', timeout=9.0, env={'A_NAME': ...}, extensions={}, labels={})"
    )
    shown = repr(CodexConfig(codex_home="/home/me/.codex", idle_timeout=30.0, env=ENV))
    assert "codex_home='/home/me/.codex'" in shown
    assert "idle_timeout=30.0" in shown
    assert "env={'A_NAME': ...}, mask=()" in shown
