"""Test settings that a caller passes: which reach the CLI, in which form, and which are refused."""

from __future__ import annotations

import tomllib
from typing import Any, Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.settings import Scope, check_settings, setting_texts
from codex_adapter.errors import InvalidRequestError

from ...rows import rows

pytestmark = pytest.mark.rule("Q6")

SECRET: Final = "hunter2-hunter2"
PINNED: Final = {
    "model": "agent_api.config.model.v1",
    "sandbox_mode": "backend.codex.exec.sandbox_mode",
    "default_permissions": "backend.codex.exec.sandbox_mode",
    "permissions": "backend.codex.exec.sandbox_mode",
    "sandbox_workspace_write": "agent_api.exec.add_dirs.v1",
    "approval_policy": "backend.codex.exec.approval_policy",
    "approvals_reviewer": "backend.codex.exec.approval_policy",
    "projects": "backend.codex.exec.trust_project",
    "profile": "Pass each setting",
    "profiles": "Pass each setting",
}
IN_THE_FILE: Final = (
    *("notify", "hooks", "history", "log_dir", "sqlite_home", "otel", "tui", "auto_review", "features.hooks"),
    *("plugins", "marketplaces", "apps", "skills", "agents", "zsh_path", "js_repl_node_path", "project_root_markers"),
    *("features.use_legacy_landlock", "features.exec_permission_approvals", "features.network_proxy"),
    *("shell_environment_policy.set", "shell_environment_policy.exclude", "cli_auth_credentials_store"),
    *("model_instructions_file", "experimental_instructions_file", "allow_symlinked_codex_home", "orchestrator"),
)


def refusal(key: str, value: Any, scope: Scope = "run") -> str:
    with pytest.raises(InvalidRequestError) as caught:
        check_settings("F", {key: value}, scope)
    text = str(caught.value)
    assert text.startswith("F: ")
    assert SECRET not in text
    return text


@rows(
    ("key", "value", "written"),
    [
        ("model_reasoning_effort", "high", 'model_reasoning_effort="high"'),
        ("model_context_window", 100000, "model_context_window=100000"),
        ("hide_agent_reasoning", True, "hide_agent_reasoning=true"),
        (
            "developer_instructions",
            'Say "ü"\n',
            r'developer_instructions="Say \U00000022\U000000fc\U00000022\U0000000a"',
        ),
        ("sandbox_workspace_write.network_access", True, "sandbox_workspace_write.network_access=true"),
        ("sandbox_workspace_write", {"network_access": True}, 'sandbox_workspace_write={"network_access"=true}'),
        ("model_providers.p", {"a": [1, 2.5, "x"]}, 'model_providers.p={"a"=[1,2.5,"x"]}'),
        ("project_doc_fallback_filenames", ["A.md"], 'project_doc_fallback_filenames=["A.md"]'),
    ],
)
def test_a_setting_is_written_as_one_line_of_toml(key: str, value: Any, written: str) -> None:
    assert check_settings("F", {key: value}, "run") == (written,)
    assert written.isascii()
    assert written.isprintable()
    *tables, name = key.split(".")
    found = tomllib.loads(written)
    for table in tables:
        found = found[table]
    assert found == {name: value}


@rows("key", PINNED)
@rows("below", ["", ".x", ".x.y"])
def test_a_setting_that_the_adapter_decides_is_refused_and_what_to_use_is_named(key: str, below: str) -> None:
    text = refusal(f"{key}{below}", SECRET)
    assert text.startswith(f"F: {key}")
    assert " cannot be passed. " in text
    assert PINNED[key] in text
    assert PINNED[key] in refusal(key, {"x": {"y": SECRET}})


@rows("key", IN_THE_FILE)
def test_a_setting_that_is_not_known_to_be_harmless_is_refused(key: str) -> None:
    assert refusal(key, SECRET).endswith("Set it in the config.toml of the Codex CLI, in CODEX_HOME")


@rows(
    ("key", "value"),
    [
        ("sandbox_workspace_write", {"writable_roots": ["/"]}),
        ("sandbox_workspace_write", {"network_access": True, "writable_roots": ["/"]}),
        ("sandbox_workspace_write", True),
        ("sandbox_workspace_write", {}),
        ("sandbox_workspace_write", {"network_access.x": 1}),
        ("shell_environment_policy", {"inherit": "core", "set": {"A": "b"}}),
        ("features", {"shell_tool": False, "hooks": True}),
        ("features", {"shell_tool.hooks": True}),
        ("tools", {}),
        ("a-b", 1),
    ],
)
def test_a_table_is_refused_for_any_part_of_it(key: str, value: Any) -> None:
    refusal(key, value)


@rows(
    "key",
    [
        *('"sandbox_mode"', "'sandbox_mode'", " sandbox_mode", "sandbox_mode ", "sandbox_mode.", ".sandbox_mode"),
        *(
            "sandbox\u0000_mode",
            "sandbox_mode\n",
            "model_verbosity=1\nsandbox_mode",
            "",
            "a..b",
            "a . b",
            "s\u0430ndbox",
        ),
        *("model_reasoning_effort=1", "x" * 65, ".".join("x" * 17), '"projects"."/"', "\\u0070rojects"),
    ],
)
def test_a_key_has_one_spelling(key: str) -> None:
    assert refusal(key, 1) == "F: the key of number 1 must be names joined by dots, without quotes or white space"


@rows("value", [None, b"x", float("nan"), float("inf"), 2**63, "\ud800", {1: 2}, [None], {"a": None}])
def test_a_value_that_toml_cannot_have_is_refused(value: Any) -> None:
    assert "the value of number 1 must be a string, a number" in refusal("model_verbosity", value)


@pytest.mark.parametrize("value", [None, [], "model_verbosity=1", {f"x{n}": 1 for n in range(65)}])
def test_what_is_not_a_bounded_table_of_settings_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"^F must be an object with at most 64 settings$"):
        check_settings("F", value, "run")


def test_a_setting_fits_in_an_argument() -> None:
    assert refusal("developer_instructions", "x" * 100_000) == "F: number 1 must be of at most 100000 bytes as TOML"


def test_a_key_that_may_be_a_secret_is_not_repeated() -> None:
    assert refusal(SECRET, 1).startswith("F: number 1 cannot be passed. ")
    assert refusal(f"features.{SECRET}", 1).startswith("F: features cannot be passed. ")


@pytest.mark.parametrize("key", ["web_search", "mcp_servers.a.command", "features.shell_tool", "tools.web_search"])
def test_an_agent_without_tools_is_given_none_by_a_setting(key: str) -> None:
    check_settings("F", {key: "x"}, "run")
    assert "Without tools, only settings of the model" in refusal(key, "x", "no_tools")
    check_settings("F", {"model_provider": "p", "model_providers.p": {}, "model_verbosity": "low"}, "no_tools")


@pytest.mark.parametrize("key", ["model_provider", "model_providers.a", "mcp_servers.a.command", "web_search", "hooks"])
def test_a_turn_takes_its_surroundings_from_its_spaces(key: str) -> None:
    assert "A turn accepts only settings of the model." in refusal(key, "x", "turn")
    for name in ("model_verbosity", "plan_mode_reasoning_effort", "personality", "compact_prompt", "analytics"):
        for scope in get_args(Scope):
            check_settings("F", {name: "x"}, scope)


def test_the_texts_of_settings_are_known_by_the_names_that_they_have() -> None:
    settings = {"a.b": "1", "c": {"d": "2", "e": {"f": ["3", 4]}}, "g": 5}
    assert list(setting_texts(settings)) == [("b", "1"), ("d", "2"), ("f", "3")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["model_verbosity", "model_providers", "mcp_servers.x"]), JSON)
def test_what_is_written_means_what_was_checked(key: str, value: Any) -> None:
    try:
        [written] = check_settings("F", {key: value}, "run")
    except InvalidRequestError:
        return
    found: Any = tomllib.loads(written)
    for name in key.split("."):
        found = found.pop(name)
    assert found == value


@given(st.text(max_size=60), JSON)
def test_no_key_is_taken_but_a_known_one(key: str, value: Any) -> None:
    with pytest.raises(InvalidRequestError):
        check_settings("F", {key: value}, "run")
