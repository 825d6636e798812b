"""Test that validation of a request reports every problem in order, by field, and without values."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.extensions import ExecOptions
from codex_adapter.agents.codex.validation import check_config, check_request
from codex_adapter.core.checks import is_unquoted
from codex_adapter.core.request_checks import (
    CONTAINMENT_LEVELS,
    check_type,
    effective_idle_timeout,
    effective_timeout,
    run_directory,
)
from codex_adapter.errors import AdapterError, InvalidRequestError, UnsupportedCapabilityError
from codex_adapter.request import RunRequest

from ...rows import rows

SECRET = "hunter2"
UNKNOWN = {"no.such.key": 1}
WRONG_VALUE = {"agent_api.exec.non_interactive": 1}
CONTRADICTION = {"backend.codex.exec.approval_policy": "untrusted"}


class Files:
    """A file system of a few directories and one file."""

    cwd = "/home"

    def is_dir(self, path: str) -> bool:
        return path in {"/home", "/home/project", "/home/project/sub", "/srv"}

    def is_file(self, path: str) -> bool:
        return path == "/srv/file"


def check(config: CodexConfig | None = None, **fields: Any) -> ExecOptions:
    return check_request(RunRequest(**{"prompt": "hi", **fields}), config or CodexConfig(), Files())


def refused(config: CodexConfig | None = None, **fields: Any) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        check(config, **fields)
    assert SECRET not in str(caught.value)
    assert "must be" in str(caught.value)
    return str(caught.value).split(" must be")[0]


@pytest.mark.rule("Q1")
@rows("prompt", ["", " ", "\n\t\r\x0b\x0c", "\u2003\u3000\u0085", None, 5, b"bytes", ["text"]])
def test_a_prompt_has_text(prompt: Any) -> None:
    assert refused(prompt=prompt) == "prompt"


@pytest.mark.rule("Q1")
def test_a_prompt_can_be_encoded() -> None:
    assert refused(prompt=SECRET + "\ud83d") == "prompt"


@pytest.mark.rule("Q1")
@rows("prompt", ["\ufeffhi", " hi ", "\0", "-", "--help", "x" * 2_000_000])
def test_any_other_prompt_is_taken(prompt: str) -> None:
    assert check(prompt=prompt) == ExecOptions()


@pytest.mark.rule("Q1", "Q2", "Q3", "Q4", "Q5")
def test_of_several_failures_the_first_in_the_order_of_the_rules_wins() -> None:
    config = CodexConfig(stop_timeout=-1)
    wrong: dict[str, Any] = {"prompt": " ", "env": {"": ""}, "working_dir": "/none", "timeout": -1}
    assert refused(config, **wrong, extensions={**UNKNOWN, **WRONG_VALUE}) == "prompt"
    wrong["prompt"] = "hi"
    with pytest.raises(UnsupportedCapabilityError):
        check(config, **wrong, extensions={**UNKNOWN, **WRONG_VALUE})
    assert refused(config, **wrong, extensions={**WRONG_VALUE, **CONTRADICTION}) == "agent_api.exec.non_interactive"
    assert refused(config, **wrong, extensions=CONTRADICTION) == "backend.codex.exec.approval_policy"
    assert refused(config, **wrong) == "config.stop_timeout"
    assert refused(**wrong) == "env: every name"
    wrong["env"] = {"A": "\0"}
    assert refused(**wrong) == "env: every value"
    wrong["env"] = {}
    assert refused(**wrong) == "working_dir"
    wrong["working_dir"] = None
    assert refused(**wrong) == "timeout"


@pytest.mark.rule("Q5")
@rows("name", ["", "A=B", "=", "A\0", "\ud800", 1, None, b"A"])
def test_environment_names_are_those_that_the_system_can_take(name: Any) -> None:
    assert refused(env={"OK": SECRET, name: SECRET}) == "env: every name"
    assert refused(CodexConfig(env={name: SECRET})) == "config.env: every name"


@pytest.mark.rule("Q5")
@rows("value", [SECRET + "\0", SECRET + "\udcff", 1, None, True, SECRET.encode()])
def test_environment_values_are_those_that_the_system_can_take(value: Any) -> None:
    assert refused(env={"TOKEN": value}) == "env: every value"
    assert refused(CodexConfig(env={"TOKEN": value})) == "config.env: every value"


@pytest.mark.rule("Q5")
@pytest.mark.parametrize("env", [None, [], "A=B", [("A", "B")]])
def test_an_environment_is_an_object(env: Any) -> None:
    assert refused(env=env) == "env"
    assert refused(CodexConfig(env=env)) == "config.env"


@pytest.mark.rule("Q5")
@rows("directory", ["", "/none", "/srv/file", "project/none", "/srv\0", "\ud800", 1, b"/srv", True])
def test_a_working_directory_is_an_existing_one(directory: Any) -> None:
    assert refused(working_dir=directory) == "working_dir"
    assert refused(CodexConfig(default_working_dir=directory)) == "config.default_working_dir"


@pytest.mark.rule("Q5", "S4")
def test_the_configured_working_directory_serves_a_request_without_one() -> None:
    config = CodexConfig(default_working_dir="/none")
    assert check(config, working_dir="/srv") == ExecOptions()
    request = RunRequest(prompt="hi", working_dir="project")
    assert run_directory(request, config, Files()) == "/home/project"
    assert run_directory(RunRequest(prompt="hi"), CodexConfig(default_working_dir="/srv"), Files()) == "/srv"
    assert run_directory(RunRequest(prompt="hi"), CodexConfig(), Files()) == "/home"


@pytest.mark.rule("Q3", "S4")
def test_relative_directories_of_extensions_count_from_the_runs_own() -> None:
    extensions = {"agent_api.exec.add_dirs.v1": {"dirs": ["sub", "..", "/srv"]}}
    options = check(working_dir="project", extensions=extensions)
    assert options.add_dirs == ("/home/project/sub", "/home", "/srv")


@pytest.mark.rule("Q5", "K1")
@rows("timeout", [-1, -0.001, math.inf, -math.inf, math.nan, True, "5", 10**400, [1]])
def test_a_timeout_is_a_finite_number_of_seconds(timeout: Any) -> None:
    assert refused(timeout=timeout) == "timeout"
    assert refused(CodexConfig(default_timeout=timeout)) == "config.default_timeout"


@pytest.mark.rule("Q5", "K1")
@rows(
    ("asked", "configured", "effective"),
    [(None, None, None), (None, 5.0, 5.0), (2, 5.0, 2), (0, 5.0, None), (0.0, None, None), (None, 0, None)],
)
def test_the_requests_timeout_wins_and_zero_is_none(
    asked: float | None, configured: float | None, effective: float | None
) -> None:
    request, config = RunRequest(prompt="hi", timeout=asked), CodexConfig(default_timeout=configured)
    check_request(request, config, Files())
    assert effective_timeout(request, config) == effective


@pytest.mark.rule("Q3")
def test_the_requests_model_beats_the_configured_one() -> None:
    config = CodexConfig(model=" configured ")
    assert check(config).model == "configured"
    assert check(config, extensions={"agent_api.config.model.v1": "asked"}).model == "asked"


@pytest.mark.rule("Q5", "N3")
@rows(
    ("field", "values"),
    [
        ("binary", ["", "codex\0", "\ud800", 1, b"codex"]),
        ("codex_home", ["", "/home\0", "\ud800", 1]),
        ("model", ["", "  ", "--yolo", "m" * 129, "a\0", 1]),
        ("mask", ["TOKEN", [1], ("",), None]),
        ("idle_timeout", [-1, math.nan, math.inf, True, "1"]),
        ("tool_timeout", [0, -1, math.nan, math.inf, True, "1"]),
        ("stop_timeout", [-1, math.nan, math.inf, None, False, "1"]),
        ("descendant_grace", [-1, math.nan, math.inf, None, "1"]),
        ("exit_grace", [-1, math.nan, math.inf, None, "1"]),
        ("max_line_bytes", [0, -1, 1.5, None, True, "1"]),
        ("containment", ["", "none", "Guard", 1, [], {}]),
        ("containment_max", ["", "none", "Guard", 1, [], {}]),
    ],
)
def test_a_field_of_the_configuration_is_refused_by_its_name(field: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(InvalidRequestError, match=f"^config.{field} must be"):
            check_config(CodexConfig(**{field.partition(":")[0]: value}))


@pytest.mark.rule("Q5")
def test_limits_at_the_edge_of_what_is_allowed_are_taken() -> None:
    check_config(CodexConfig(stop_timeout=0, descendant_grace=0, exit_grace=0, max_line_bytes=1, idle_timeout=0.001))


@pytest.mark.rule("N3")
@rows("strongest", [None, *CONTAINMENT_LEVELS])
@rows("weakest", [None, *CONTAINMENT_LEVELS])
def test_the_strongest_level_to_try_must_not_be_weaker_than_the_weakest_to_take(
    strongest: str | None, weakest: str | None
) -> None:
    config = CodexConfig(containment=weakest, containment_max=strongest)
    order = (*CONTAINMENT_LEVELS, None)
    if strongest is None or order.index(strongest) <= order.index(weakest):
        check_config(config)
    else:
        with pytest.raises(InvalidRequestError, match="containment_max must be at least as strong as"):
            check_config(config)


def test_each_level_of_containment_can_be_demanded() -> None:
    for level in CONTAINMENT_LEVELS:
        check_config(CodexConfig(containment=level))
    with pytest.raises(InvalidRequestError, match="cgroup, pid_namespace, guard, process_group"):
        check_config(CodexConfig(containment=SECRET))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=5,
)


@pytest.mark.rule("Q1", "Q5")
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(RunRequest.__struct_fields__, JUNK)))
def test_whatever_stands_in_a_request_gives_options_or_an_error_of_ours(fields: dict[str, Any]) -> None:
    try:
        outcome = str(check(**fields))
    except AdapterError as error:
        outcome = str(error)
    outcome.encode()


@pytest.mark.rule("Q5")
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(CodexConfig.__struct_fields__, JUNK)))
def test_whatever_stands_in_a_configuration_is_taken_or_refused_by_name(fields: dict[str, Any]) -> None:
    outcome = "config. is taken"
    try:
        check_config(CodexConfig(**fields))
    except InvalidRequestError as error:
        outcome = str(error)
    assert outcome.startswith("config.")


@pytest.mark.rule("Q3")
def test_an_image_is_an_existing_file_and_a_relative_one_counts_from_the_runs_directory() -> None:
    images = {"backend.codex.images": ["/srv/file"]}
    assert check(extensions=images).images == ("/srv/file",)
    assert check(working_dir="/srv", extensions={"backend.codex.images": ["file"]}).images == ("/srv/file",)
    assert refused(extensions={"backend.codex.images": ["/srv/other"]}).startswith("backend.codex.images")


@pytest.mark.rule("K2")
@rows(
    ("configured", "timeout", "expected"),
    [(None, None, 1800.0), (None, 5.0, None), (0, None, None), (0, 5.0, None), (7.0, None, 7.0), (7.0, 5.0, 7.0)],
)
def test_a_run_without_any_limit_has_one_on_its_progress(
    configured: float | None, timeout: float | None, expected: float | None
) -> None:
    assert effective_idle_timeout(CodexConfig(idle_timeout=configured), timeout) == expected


@pytest.mark.rule("Q1")
@pytest.mark.parametrize("value", [None, {"prompt": "x"}, b"x", 1])
def test_what_is_not_a_request_at_all_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"^request must be a RunRequest"):
        check_type(value)


@pytest.mark.rule("U13")
@pytest.mark.parametrize(("path", "unquoted"), [("/a b/c", True), ("/a$(b)", False), ("/a`b`", False), ("/a'b", False)])
def test_a_path_that_a_shell_would_read_otherwise_is_known(path: str, unquoted: bool) -> None:
    assert is_unquoted(path) is unquoted


@pytest.mark.rule("Q6")
@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"a": "b"},
        {"A0._-/" + "x" * 58: "x" * 256},
        {f"l{number}": "ü “"[:2] for number in range(16)},
        {"a": "ü" * 128},
    ],
)
def test_labels_within_their_bounds_are_taken(labels: dict[str, str]) -> None:
    assert check(labels=labels) == check()


@pytest.mark.rule("Q6")
@rows(
    ("labels", "field"),
    [
        (None, "labels"),
        ([], "labels"),
        ("a=b", "labels"),
        ({f"l{number}": "a" for number in range(17)}, "labels"),
        *(({name: "a"}, "labels: every name") for name in ("", " ", "_a", "a b", "a\n", "ü", "x" * 65, 5, None)),
        *(
            ({"a": value}, "labels: every value")
            for value in ("", "\n", "\x7f", "\ud800", "x" * 257, "ü" * 129, 5, None)
        ),
        ({SECRET: SECRET * 60}, "labels: every value"),
    ],
)
def test_labels_out_of_their_bounds_are_refused(labels: Any, field: str) -> None:
    assert refused(labels=labels) == field


@pytest.mark.rule("Q6")
def test_labels_are_looked_at_last() -> None:
    assert refused(labels=5, timeout=-1) == "timeout"


@pytest.mark.rule("Q3", "Q5", "M7")
def test_tool_payloads_of_the_configuration_are_for_requests_that_do_not_say() -> None:
    config = CodexConfig(tool_payloads="full")
    assert check(config).tool_payloads == "full"
    assert check(config, extensions={"backend.codex.tool_payloads": "metadata"}).tool_payloads == "metadata"
    assert check().tool_payloads is None
    assert refused(CodexConfig(tool_payloads=SECRET)) == "config.tool_payloads"


@pytest.mark.rule("Q4", "Q7")
def test_settings_of_a_request_are_held_to_what_an_agent_without_tools_may_have() -> None:
    without = {"backend.codex.tools": "none"}
    answers = {"backend.codex.settings": {"model_verbosity": "low"}}
    assert check(extensions={**without, **answers}).settings == ('model_verbosity="low"',)
    with pytest.raises(InvalidRequestError, match=r"web_search cannot be passed\. Without tools, "):
        check(extensions={**without, "backend.codex.settings": {"web_search": "live"}})
