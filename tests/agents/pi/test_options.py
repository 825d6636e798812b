"""Test the extension keys of pi, their checks, and the command-line options that set them."""

from __future__ import annotations

from typing import Any

import pytest

from codex_adapter import InvalidRequestError, RunRequest, UnsupportedCapabilityError
from codex_adapter.agents.pi import extension_keys as keys
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.extensions import CAPABILITIES, RunOptions, read_extensions
from codex_adapter.agents.pi.options import OPTIONS
from codex_adapter.agents.pi.validation import check_request
from codex_adapter.core.extension_checks import SessionSelector

from ...rows import rows

NAMED = {option.name: option for option in OPTIONS if option.names}


class Files:
    """A file system with every directory, and every file but those named `missing`."""

    cwd = "/work"

    def is_dir(self, path: str) -> bool:
        return True

    def is_file(self, path: str) -> bool:
        return "missing" not in path and path != ""


def read(extensions: Any) -> RunOptions:
    return read_extensions(extensions, Files())


def by_id(session: str) -> dict[str, str]:
    return {"selector": "id", "id": session}


@pytest.mark.rule("Q3", "C5", "C6")
def test_each_extension_key_is_in_the_table_once() -> None:
    found = [option.key for option in OPTIONS if option.key is not None]
    assert sorted(found) == sorted(CAPABILITIES - keys.WITHOUT_KEY)
    assert {option.field for option in OPTIONS if option.field} == {"model", "binary", "agent_dir", "tool_payloads"}
    assert {option.field for option in OPTIONS if option.field} <= set(PiConfig.__struct_fields__)


@pytest.mark.rule("C6")
def test_a_word_becomes_the_value_of_the_key() -> None:
    assert NAMED["--resume"].convert("last") == {"selector": "last"}
    assert NAMED["--fork"].convert("x") == by_id("x")


@pytest.mark.rule("Q3")
@rows(
    ("key", "value", "field", "result"),
    [
        (keys.SANDBOX_MODE, "danger-full-access", "sandbox_mode", "danger-full-access"),
        (keys.TRUST_PROJECT, True, "trust_project", True),
        (keys.PROVIDER, " p ", "provider", "p"),
        (keys.MODEL, "m", "model", "m"),
        (keys.THINKING, "high", "thinking", "high"),
        (keys.IMAGES, ["a.png", "/b"], "images", ("/work/a.png", "/b")),
        (keys.SKILLS, "own", "skills", "/work/own"),
        (keys.RESUME, {"selector": "last"}, "resume", SessionSelector()),
        (keys.RESUME, by_id("my-session.1"), "resume", SessionSelector("my-session.1")),
        (keys.FORK, by_id("id"), "fork", SessionSelector("id")),
    ],
)
def test_a_value_becomes_a_field(key: str, value: Any, field: str, result: Any) -> None:
    assert getattr(read({key: value}), field) == result


@pytest.mark.rule("Q2", "Q3", "Q4")
@rows(
    ("key", "value"),
    [
        (keys.NON_INTERACTIVE, False),
        (keys.SANDBOX_MODE, "none"),
        (keys.TOOLS, "some"),
        (keys.THINKING, "very"),
        (keys.PROVIDER, "-p"),
        *((keys.IMAGES, value) for value in ("a", [7], ["missing"], ["a\0b"])),
        *((keys.RESUME, by_id(session)) for session in ("a/b", "../x", "x.jsonl", "a b", "é", ".x")),
        (keys.FORK, {"selector": "last"}),
    ],
)
def test_any_other_value_is_refused_by_the_name_of_its_key(key: str, value: Any) -> None:
    with pytest.raises(InvalidRequestError, match=key):
        read({key: value})


@pytest.mark.rule("Q3", "AG12")
def test_the_refusal_of_a_sandbox_that_pi_does_not_have_names_the_next_step() -> None:
    with pytest.raises(InvalidRequestError, match="pi has no sandbox") as caught:
        read({keys.SANDBOX_MODE: "workspace-write"})
    assert "'read-only' or 'danger-full-access'" in str(caught.value)


@pytest.mark.rule("Q2", "Q4", "AG12")
@pytest.mark.parametrize(
    "key", ["backend.codex.tools", "agent_api.exec.add_dirs.v1", "backend.pi.output_schema", "backend.pi.max_turns"]
)
def test_what_pi_does_not_have_is_refused_by_name(key: str) -> None:
    with pytest.raises(UnsupportedCapabilityError, match=key.replace(".", r"\.")):
        read({key: {}})


@pytest.mark.rule("Q4", "AG12")
def test_a_provider_without_a_model_is_refused() -> None:
    alone = RunRequest(prompt="x", extensions={keys.PROVIDER: "p"})
    with pytest.raises(InvalidRequestError, match=r"backend\.pi\.provider must be used with a model"):
        check_request(alone, PiConfig(), Files())
    assert check_request(alone, PiConfig(model="m"), Files()).provider == "p"
    both = RunRequest(prompt="x", extensions={keys.PROVIDER: "p", keys.MODEL: "m"})
    assert check_request(both, PiConfig(), Files()).model == "m"


@pytest.mark.rule("Q4")
def test_contradictions_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="contradict"):
        read({keys.RESUME: by_id("a"), keys.FORK: by_id("a")})
    assert read({keys.NON_INTERACTIVE: True}) == RunOptions()
