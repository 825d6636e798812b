"""Test what an agent provides for operations and the mailbox: its places, and requests for answers only."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codex_adapter import RunRequest, UnsupportedCapabilityError
from codex_adapter.agents import agent_of, kinds, known_places
from tests.toy.toy_agent import AGENT as TOY

pytestmark = pytest.mark.rule("AG7")

REQUEST = RunRequest(prompt="x", extensions={"agent_api.config.model.v1": "m"})


def test_the_places_of_all_agents_are_known() -> None:
    assert len(known_places()) == len(kinds())
    [codex] = [places for places in known_places() if ".codex" in places.settings]
    assert (codex.logins, codex.variables) == ((".codex",), ("CODEX_HOME", "CODEX_SQLITE_HOME"))


def test_the_program_of_a_configuration_is_looked_beside() -> None:
    [codex] = [places for places in known_places("codex", "/none") if ".codex" in places.settings]
    assert codex.bubblewrap({}) is None


def test_a_run_that_only_answers_has_no_tools() -> None:
    codex = agent_of("codex")
    request = codex.resume(codex.with_schema(codex.restricted(REQUEST), {"type": "object"}), "id-1")
    assert dict(request.extensions) == {
        "agent_api.config.model.v1": "m",
        "agent_api.exec.non_interactive": True,
        "backend.codex.exec.sandbox_mode": "read-only",
        "backend.codex.tools": "none",
        "backend.codex.output_schema": {"type": "object"},
        "agent_api.session.resume.v1": {"selector": "id", "id": "id-1"},
    }


@pytest.mark.parametrize(
    "change", [TOY.restricted, lambda request: TOY.with_schema(request, {}), lambda request: TOY.resume(request, "id")]
)
def test_an_agent_refuses_what_it_does_not_offer(change: Callable[[RunRequest], RunRequest]) -> None:
    with pytest.raises(UnsupportedCapabilityError):
        change(REQUEST)


def test_the_places_of_an_agent_are_named_by_its_kind_by_default() -> None:
    assert TOY.places().settings == {".toy"}
    assert TOY.places().logins == (".toy",)
    assert TOY.places().bubblewrap({}) is None
