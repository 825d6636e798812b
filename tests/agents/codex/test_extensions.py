"""Test the extension keys: allowed values, their effect, and that errors show no value."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex import extension_keys
from codex_adapter.agents.codex.extensions import CAPABILITIES, ExecOptions, read_extensions
from codex_adapter.core.extension_checks import SessionSelector
from codex_adapter.errors import InvalidRequestError, UnsupportedCapabilityError

from ...rows import rows

NON_INTERACTIVE = "agent_api.exec.non_interactive"
APPROVAL_POLICY = "backend.codex.exec.approval_policy"
SANDBOX_MODE = "backend.codex.exec.sandbox_mode"
TRUST = "backend.codex.exec.trust_project"
MODEL = "agent_api.config.model.v1"
ADD_DIRS = "agent_api.exec.add_dirs.v1"
RESUME = "agent_api.session.resume.v1"
FORK = "agent_api.session.fork.v1"
PAYLOADS = "backend.codex.tool_payloads"
SCHEMA = "backend.codex.output_schema"
IMAGES = "backend.codex.images"
TOOLS = "backend.codex.tools"
SETTINGS = "backend.codex.settings"
KEYS = (
    *(NON_INTERACTIVE, APPROVAL_POLICY, SANDBOX_MODE, TRUST, MODEL, ADD_DIRS, RESUME, FORK, PAYLOADS, SCHEMA, IMAGES),
    *(TOOLS, SETTINGS),
)

SECRET = "hunter2"


class Files:
    """A file system of three directories and two files."""

    cwd = "/work"

    def is_dir(self, path: str) -> bool:
        return path in {"/", "/work", "/work/~", "/work/-x", "/work/$HOME", "/data"}

    def is_file(self, path: str) -> bool:
        return path in {"/work/a.png", "/data/b.png", "/data/a,b.png", "/work/-i"}


def read(**extensions: Any) -> ExecOptions:
    return read_extensions(extensions, Files())


def refused(key: str, value: Any) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        read_extensions({key: value}, Files())
    assert key in str(caught.value)
    assert SECRET not in str(caught.value)
    return str(caught.value)


@pytest.mark.rule("Q3")
def test_without_extensions_a_run_is_unattended_and_confined_to_its_workspace() -> None:
    options = read()
    assert options == ExecOptions(
        approval_policy="never", sandbox_mode="workspace-write", trust_project=False, tool_payloads=None
    )


@pytest.mark.rule("Q3", "S11")
def test_the_project_is_trusted_only_where_the_request_says_so() -> None:
    assert read(**{TRUST: True}).trust_project is True
    assert read(**{TRUST: False}).trust_project is False
    assert refused(TRUST, "true") == f"{TRUST} must be true or false"


@pytest.mark.rule("G3", "Q2")
def test_each_key_is_a_capability_and_each_capability_of_that_form_a_key() -> None:
    assert set(KEYS) < CAPABILITIES
    assert CAPABILITIES - set(KEYS) == {
        "agent_api.run",
        "agent_api.events",
        "agent_api.events.live",
        "agent_api.control.cancel.v1",
        "agent_api.tools.structured.v1",
        "agent_api.session.handle.v1",
        "backend.codex.exec_stream",
    }


@pytest.mark.rule("Q2")
def test_the_smallest_unknown_key_is_named_before_any_value_is_looked_at() -> None:
    with pytest.raises(UnsupportedCapabilityError) as caught:
        read_extensions({"z.last": 1, NON_INTERACTIVE: "wrong", "b.first": SECRET, "agent_api.run": True}, Files())
    assert caught.value.agent_kind == "codex"
    assert caught.value.capability == "agent_api.run"


@pytest.mark.rule("Q2")
@given(st.dictionaries(st.text(st.characters()).filter(lambda key: key not in KEYS), st.none(), min_size=1))
def test_any_unknown_key_gives_an_error_that_can_be_logged(extensions: dict[str, None]) -> None:
    with pytest.raises(UnsupportedCapabilityError) as caught:
        read_extensions(extensions, Files())
    assert len(caught.value.capability) <= 128
    assert caught.value.capability.isprintable()
    str(caught.value).encode()


@pytest.mark.rule("Q2")
def test_a_key_of_a_megabyte_is_cut() -> None:
    with pytest.raises(UnsupportedCapabilityError) as caught:
        read_extensions({"\ud800\n" + "k" * 1_000_000: None}, Files())
    assert caught.value.capability == "??" + "k" * 126


@pytest.mark.rule("Q3")
@pytest.mark.parametrize("extensions", [None, [], "text", {1: True}, {NON_INTERACTIVE: True, None: 1}])
def test_extensions_that_are_no_object_with_string_keys_are_refused(extensions: Any) -> None:
    with pytest.raises(InvalidRequestError, match="extensions must be"):
        read_extensions(extensions, Files())


@pytest.mark.rule("Q3")
@given(st.sampled_from(KEYS), st.recursive(st.none() | st.booleans() | st.floats() | st.text() | st.binary(), st.lists))
def test_a_value_of_any_type_is_taken_or_refused_by_its_key(key: str, value: Any) -> None:
    try:
        outcome = str(read_extensions({key: value}, Files()))
    except InvalidRequestError as error:
        outcome = str(error)
    assert outcome.startswith(("ExecOptions(", key, APPROVAL_POLICY))


@pytest.mark.rule("Q3")
def test_of_several_wrong_values_the_one_of_the_smallest_key_is_named() -> None:
    with pytest.raises(InvalidRequestError, match=rf"^{MODEL} must be"):
        read_extensions({SANDBOX_MODE: 1, MODEL: 1, NON_INTERACTIVE: 1}, Files())


@pytest.mark.rule("Q3")
@rows("value", [1, 0, "true", None, [], SECRET])
def test_non_interactive_is_true_or_false(value: Any) -> None:
    assert "true or false" in refused(NON_INTERACTIVE, value)


@pytest.mark.rule("Q3")
@rows("key", [APPROVAL_POLICY, SANDBOX_MODE, PAYLOADS, TOOLS])
@rows("value", ["", "Never", "never ", "yolo", SECRET, True, None, ["never"], {}])
def test_a_choice_is_one_of_those_that_the_error_lists(key: str, value: Any) -> None:
    assert "one of '" in refused(key, value)


@pytest.mark.rule("Q3", "Q4")
@pytest.mark.parametrize("policy", ["untrusted", "on-failure", "on-request", "never"])
def test_an_approval_policy_holds_when_the_run_is_interactive(policy: str) -> None:
    assert read(**{NON_INTERACTIVE: False, APPROVAL_POLICY: policy}).approval_policy == policy


@pytest.mark.rule("Q3")
def test_an_interactive_run_without_a_policy_leaves_it_to_the_cli() -> None:
    assert read(**{NON_INTERACTIVE: False}).approval_policy is None


@pytest.mark.rule("Q4")
@rows("policy", ["untrusted", "on-failure", "on-request"])
@rows("given_key", [{}, {NON_INTERACTIVE: True}])
def test_an_unattended_run_cannot_ask_for_approval(policy: str, given_key: dict[str, bool]) -> None:
    with pytest.raises(InvalidRequestError, match="approval_policy must be 'never' or absent"):
        read(**{**given_key, APPROVAL_POLICY: policy})


@pytest.mark.rule("Q4")
def test_an_unattended_run_may_say_never() -> None:
    assert read(**{APPROVAL_POLICY: "never"}).approval_policy == "never"


@pytest.mark.rule("Q4")
def test_values_are_checked_before_contradictions() -> None:
    with pytest.raises(InvalidRequestError, match="sandbox_mode must be"):
        read(**{APPROVAL_POLICY: "untrusted", SANDBOX_MODE: "none"})


@pytest.mark.rule("Q3")
def test_a_model_is_trimmed() -> None:
    assert read(**{MODEL: "\t gpt-5.5\n"}).model == "gpt-5.5"
    assert read(**{MODEL: " " + "é" * 64 + " "}).model == "é" * 64


@pytest.mark.rule("Q3", "S1")
@rows("value", ["", "  ", "m" * 129, "é" * 65, "a\0b", "a\nb", "\ud800", "--yolo", " -c", 5, None])
def test_a_model_is_refused_that_is_too_long_or_empty_or_could_be_a_flag(value: Any) -> None:
    assert "1 to 128 bytes" in refused(MODEL, value)


@pytest.mark.rule("Q3")
def test_directories_become_absolute_and_are_folded_and_given_once() -> None:
    options = read(**{ADD_DIRS: {"dirs": [" /data ", ".", "../data", "//data/./x/..", "-x", "~", "$HOME", "/.."]}})
    assert options.add_dirs == ("/data", "/work", "/work/-x", "/work/~", "/work/$HOME", "/")


@pytest.mark.rule("Q3")
@rows(
    "value",
    [
        None,
        ["/data"],
        {},
        {"dirs": None},
        {"dirs": []},
        {"dirs": "/data"},
        {"dirs": ["/data"] * 17},
        {"dirs": ["/data"], "more": SECRET},
        {"dirs": [""]},
        {"dirs": ["  "]},
        {"dirs": [1]},
        {"dirs": [["/data"]]},
        {"dirs": ["/data", SECRET]},
        {"dirs": ["/work/a.png"]},
        {"dirs": ["/" + "d" * 1024]},
        {"dirs": ["/data\0"]},
        {"dirs": ["/\ud800"]},
    ],
)
def test_directories_that_are_not_there_or_not_named_are_refused(value: Any) -> None:
    refused(ADD_DIRS, value)


@pytest.mark.rule("Q3")
def test_the_directory_refused_is_named_by_its_place() -> None:
    assert "dirs[1]" in refused(ADD_DIRS, {"dirs": ["/data", SECRET]})


@pytest.mark.rule("Q3")
@pytest.mark.parametrize("key", [RESUME, FORK])
def test_a_session_is_the_last_one_or_one_by_its_id(key: str) -> None:
    last = read(**{key: {"selector": "last"}})
    by_id = read(**{key: {"selector": "id", "id": "abc"}})
    assert (last.resume or last.fork) == SessionSelector(None)
    assert (by_id.resume or by_id.fork) == SessionSelector("abc")


@pytest.mark.rule("Q3", "S1")
@rows("key", [RESUME, FORK])
@rows(
    "value",
    [
        "last",
        None,
        {},
        {"selector": "first"},
        {"selector": None},
        {"selector": ["last"]},
        {"id": "abc"},
        {"selector": "id"},
        {"selector": "last", "id": "abc"},
        {"selector": "last", "id": None},
        {"selector": "id", "id": "abc", "more": SECRET},
        {"selector": "id", "id": ""},
        {"selector": "id", "id": "  "},
        {"selector": "id", "id": "-"},
        {"selector": "id", "id": "--last"},
        {"selector": "id", "id": "a\nb"},
        {"selector": "id", "id": "a\0b"},
        {"selector": "id", "id": "\udc00"},
        {"selector": "id", "id": "x" * 1025},
        {"selector": "id", "id": 7},
        {"selector": "id", "id": [SECRET]},
    ],
)
def test_a_session_selector_of_another_shape_is_refused(key: str, value: Any) -> None:
    refused(key, value)


@pytest.mark.rule("Q3", "S9")
@pytest.mark.parametrize("spelling", [str.upper, "{{{}}}".format, lambda session: session.replace("-", "")])
def test_a_session_id_in_another_spelling_is_the_one_that_the_cli_prints(spelling: Callable[[str], str]) -> None:
    session = "01a20018-057d-7ce3-b0c7-a173a1ba2c6a"
    assert read(**{RESUME: {"selector": "id", "id": spelling(session)}}).resume == SessionSelector(session)


@pytest.mark.rule("Q4")
def test_a_session_is_resumed_or_forked_but_not_both() -> None:
    session = {"selector": "last"}
    with pytest.raises(InvalidRequestError, match="contradict each other"):
        read(**{RESUME: session, FORK: session})


@pytest.mark.rule("Q3")
def test_a_schema_is_any_json_object() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1, 1.5, None, "é"]}}, "required": ["a"]}
    assert read(**{SCHEMA: schema}).output_schema == schema


@pytest.mark.rule("Q3")
@rows(
    "value",
    [
        None,
        [],
        "{}",
        True,
        {"a": math.nan},
        {"a": math.inf},
        {1: "a"},
        {"a": b"bytes"},
        {"a": "\ud800"},
        {"a": {1, 2}},
        {"a": object()},
    ],
)
def test_what_json_cannot_carry_is_no_schema(value: Any) -> None:
    refused(SCHEMA, value)


@pytest.mark.rule("Q3")
def test_a_schema_too_deep_to_be_written_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    refused(SCHEMA, deep)


@pytest.mark.rule("Q3", "S1")
def test_images_become_absolute_so_that_none_is_a_flag() -> None:
    assert read(**{IMAGES: ["a.png", "/data/b.png", "-i"]}).images == ("/work/a.png", "/data/b.png", "/work/-i")
    assert read(**{IMAGES: []}).images == ()


@pytest.mark.rule("Q3")
@rows(
    "value",
    [None, "a.png", {"a.png": 1}, [""], [1], ["/data"], [SECRET], ["/data/a,b.png"], ["a.png\0"], ["\ud800"]],
)
def test_images_that_are_no_files_are_refused(value: Any) -> None:
    refused(IMAGES, value)


@pytest.mark.rule("Q3")
def test_a_key_is_written_out_in_one_module_of_the_agent() -> None:
    home = Path(extension_keys.__file__)
    written = {
        f"{path.relative_to(home.parent)}: {text}"
        for path in home.parent.rglob("*.py")
        if path != home
        for text in _texts(ast.parse(path.read_text()))
        if re.search(r"(?:agent_api|backend\.codex)\.[a-z]", text)
    }
    assert written == set()
    assert {getattr(extension_keys, name) for name in extension_keys.__all__ if name != "WITHOUT_KEY"} == (
        CAPABILITIES - extension_keys.WITHOUT_KEY
    )


def _texts(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module but for its docstrings."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value
