"""Test which parts of the user's directory a turn of pi uses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codex_adapter.agents.pi.harness.user_home import read_user_home
from codex_adapter.turn_errors import TurnError

pytestmark = pytest.mark.rule("U17")


def test_only_some_settings_are_used(tmp_path: Path) -> None:
    wanted = {"retry": {"maxRetries": 1}, "defaultThinkingLevel": "high", "shellPath": "/bin/bash"}
    own = {"defaultProvider": "p", "defaultModel": "m", "packages": ["npm:x"], "sessionDir": "/x", "skills": ["/y"]}
    (tmp_path / "settings.json").write_text(json.dumps({**wanted, **own}))
    (tmp_path / "models.json").write_text("broken, which is for the CLI to report")
    user = read_user_home({"PI_CODING_AGENT_DIR": str(tmp_path)})
    assert (user.model, user.settings, user.logins) == (("p", "m"), wanted, (tmp_path / "models.json",))


@pytest.mark.parametrize("settings", [{}, {"defaultProvider": "p"}, {"defaultModel": "m"}, {"defaultModel": 1}, [1]])
def test_a_model_without_a_provider_is_not_a_default(tmp_path: Path, settings: object) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    assert read_user_home({"PI_CODING_AGENT_DIR": str(tmp_path)}).model is None


def test_broken_settings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{hunter2")
    with pytest.raises(TurnError, match=r"settings\.json") as refused:
        read_user_home({"PI_CODING_AGENT_DIR": str(tmp_path)})
    assert "hunter2" not in str(refused.value)


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(TurnError, match="PI_CODING_AGENT_DIR"):
        read_user_home({"PI_CODING_AGENT_DIR": str(tmp_path / "missing")})
    for env in ({"HOME": str(tmp_path)}, {}):
        user = read_user_home(env)
        assert (user.model, user.settings, user.logins) == (None, {}, ())
