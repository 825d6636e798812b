"""Test which last messages count as answers for an output schema."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter.core.answers import is_answer
from codex_adapter.events import ExitStatus
from tests.agents.agent_lines import AgentLines
from tests.agents.table import each_agent

from ..rows import rows

pytestmark = pytest.mark.rule("F14")

OBJECT = {"type": "object", "properties": {}}
WELL = ExitStatus(code=0)


@pytest.mark.parametrize("schema", [OBJECT, {}])
@pytest.mark.parametrize("text", ["{}", ' {"a": [1]}\n'])
def test_an_object_is_an_answer(text: str, schema: dict[str, Any]) -> None:
    assert is_answer(text, schema)


@pytest.mark.parametrize("text", ["[1]", "1", "null", '"a"', "true"])
def test_any_json_is_an_answer_unless_the_schema_requires_an_object(text: str) -> None:
    assert is_answer(text, {"type": ["object", "null"]})
    assert not is_answer(text, OBJECT)


@rows("schema", [OBJECT, {}])
@rows("text", [None, "", "Done.", "```json\n{}\n```", "{} {}", '{"a": 1', "\ud800", "[" * 100_000])
def test_other_text_is_not_an_answer(text: str | None, schema: dict[str, Any]) -> None:
    assert not is_answer(text, schema)


@each_agent
@pytest.mark.rule("F9", "F11")
@pytest.mark.parametrize(
    ("schema", "last", "hint"),
    [
        (OBJECT, "{}", None),
        (OBJECT, "Done.", "schema_ignored"),
        (OBJECT, None, "schema_ignored"),
        (None, "Done.", None),
    ],
)
def test_a_run_whose_answer_is_not_json_is_not_ok(
    agent: AgentLines, schema: dict[str, Any] | None, last: str | None, hint: str | None
) -> None:
    pipeline = agent.pipeline(answer_schema=schema)
    message = agent.tool("started") + agent.tool("completed") if last is None else agent.message(last)
    pipeline.receive_data(agent.session() + agent.turn + message + agent.completed())
    pipeline.receive_eof()
    completion = pipeline.completion(WELL)
    assert (completion.turn, completion.hint, completion.ok) == ("completed", hint, hint is None)
    assert completion.final_text == last


@each_agent
def test_any_other_failure_precedes_an_answer_that_is_not_json(agent: AgentLines) -> None:
    pipeline = agent.pipeline(answer_schema=OBJECT)
    pipeline.receive_data(agent.session() + agent.turn + agent.message("Done."))
    assert pipeline.completion(WELL).hint is None
    pipeline.receive_data(agent.completed())
    assert pipeline.completion(ExitStatus(code=1)).hint is None
    pipeline.receive_data(agent.turn + agent.failed)
    assert pipeline.completion(WELL).hint != "schema_ignored"
