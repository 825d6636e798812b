"""Test that the public names of turns are in one module and load only what they need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from codex_adapter.protocols import turns
from codex_adapter.protocols.turns import messages

LOADED_WITH_THE_TYPES = """
import json, sys
from codex_adapter.protocols.turns import RunTurnRequest
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
WITHOUT_THE_EXTRA = """
import sys
sys.modules["semantic_version"] = None
try:
    from codex_adapter.protocols.turns import create_agent_spaces_client
except ImportError as error:
    print(error)
"""


@pytest.mark.rule("U1", "P1")
def test_every_public_name_is_in_one_place() -> None:
    assert set(messages.__all__) < set(turns.__all__) <= set(dir(turns))
    assert all(getattr(turns, name).__doc__ for name in ("AgentSpacesClient", "Harness", "HarnessTurn", "TurnError"))
    assert callable(turns.create_agent_spaces_client)
    with pytest.raises(AttributeError, match="no attribute 'session'"):
        turns.session  # type: ignore[attr-defined] # noqa: B018 - that it is not there is the point


@pytest.mark.rule("U1")
def test_the_types_load_no_package_of_the_extra() -> None:
    loaded = json.loads(_printed(LOADED_WITH_THE_TYPES))
    assert "msgspec" in loaded
    assert not {"trio", "httpx2", "semantic_version", "tomli_w", "yaml"} & set(loaded)


@pytest.mark.rule("U1")
def test_without_the_extra_it_is_named() -> None:
    assert _printed(WITHOUT_THE_EXTRA).startswith("packages for turns are missing. Install them: pip install 'httpx2>=")


def _printed(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout
