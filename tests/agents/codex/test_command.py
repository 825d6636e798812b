"""Test the order of argv, the quoting of request values against flags, and the layers of the environment."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.command import build_argv, home_of_cli, merge_environment, trust_setting
from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.extensions import ExecOptions, read_extensions
from codex_adapter.core.extension_checks import SessionSelector
from codex_adapter.errors import AdapterError

TRUST = trust_setting(["/work"], trusted=False)
FLAGS = {
    "--config",
    "--ask-for-approval",
    "--color",
    "--json",
    "--image",
    "--skip-git-repo-check",
    "--sandbox",
    "--model",
    "--add-dir",
    "--output-schema",
    "--last",
    "-",
}


@pytest.mark.rule("S1")
def test_a_plain_run_has_the_fixed_arguments() -> None:
    assert build_argv("/bin/codex", ExecOptions(), schema_file=None, trust=TRUST) == [
        *("/bin/codex", "--ask-for-approval", "never", "exec", "--config", TRUST, "--color", "never", "--json"),
        *("--skip-git-repo-check", "--sandbox", "workspace-write", "-"),
    ]


@pytest.mark.rule("S1")
def test_all_arguments_stand_in_their_order() -> None:
    options = ExecOptions(
        approval_policy="on-request",
        sandbox_mode="read-only",
        model="gpt-5.5",
        add_dirs=("/a", "/b c"),
        images=("/1.png", "/2.png"),
        resume=SessionSelector("0199"),
        output_schema={"type": "object"},
    )
    assert build_argv("codex", options, schema_file="/tmp/schema.json", trust=TRUST) == [
        *("codex", "--ask-for-approval", "on-request", "exec", "--config", TRUST, "--color", "never", "--json"),
        *("--image", "/1.png", "--image", "/2.png", "--skip-git-repo-check", "--sandbox", "read-only"),
        *("--model", "gpt-5.5", "--add-dir", "/a", "--add-dir", "/b c", "--output-schema", "/tmp/schema.json"),
        *("resume", "0199", "-"),
    ]


@pytest.mark.rule("S1")
def test_without_a_policy_there_is_no_approval_flag() -> None:
    argv = build_argv("codex", ExecOptions(approval_policy=None), schema_file=None, trust=TRUST)
    assert argv[:2] == ["codex", "exec"]


@pytest.mark.rule("S1")
@pytest.mark.parametrize(
    ("options", "end"),
    [
        (ExecOptions(resume=SessionSelector("id")), ["resume", "id", "-"]),
        (ExecOptions(resume=SessionSelector()), ["resume", "--last", "-"]),
        (ExecOptions(fork=SessionSelector("id")), ["fork", "id", "-"]),
    ],
)
def test_the_subcommand_comes_after_all_flags(options: ExecOptions, end: list[str]) -> None:
    assert build_argv("codex", options, schema_file="/s.json", trust=TRUST)[-5:] == ["--output-schema", "/s.json", *end]


class EverythingIsThere:
    """A file system where every path is a file and a directory."""

    cwd = "/work"

    def is_dir(self, path: str) -> bool:
        return True

    def is_file(self, path: str) -> bool:
        return True


HOSTILE = st.sampled_from(["-", "--yolo", "--full-auto", "-c", "--cd=/", "--", "exec", "resume", "--last"]) | st.text(
    st.characters(), max_size=20
)
SESSION = st.fixed_dictionaries({"selector": st.just("id"), "id": HOSTILE})
EXTENSIONS = st.fixed_dictionaries(
    {},
    optional={
        "agent_api.config.model.v1": HOSTILE,
        "agent_api.exec.add_dirs.v1": st.fixed_dictionaries({"dirs": st.lists(HOSTILE, min_size=1, max_size=4)}),
        "agent_api.session.resume.v1": SESSION,
        "backend.codex.images": st.lists(HOSTILE, max_size=3),
        "backend.codex.exec.sandbox_mode": st.sampled_from(["read-only", "danger-full-access"]),
    },
)


@pytest.mark.rule("S1", "S2")
@given(EXTENSIONS)
def test_no_value_of_a_request_becomes_a_flag(extensions: dict[str, Any]) -> None:
    try:
        options = read_extensions(extensions, EverythingIsThere())
    except AdapterError:
        return
    argv = build_argv("/bin/codex", options, schema_file=None, trust=TRUST)
    assert {word for word in argv if word.startswith("-")} <= FLAGS
    assert argv[-1] == "-"
    # every value of --image is followed by a flag, so that it swallows nothing
    assert all(argv[n + 2].startswith("--") for n, word in enumerate(argv) if word == "--image")
    for word in argv:
        word.encode()
        assert "\0" not in word


@pytest.mark.rule("S11")
@given(st.lists(st.text(st.characters(), max_size=20), min_size=1, max_size=5, unique=True), st.booleans())
def test_the_setting_on_trust_says_the_same_of_each_directory_whatever_its_name(
    directories: list[str], trusted: bool
) -> None:
    setting = trust_setting(directories, trusted=trusted)
    readable = {name.encode(errors="surrogateescape").decode(errors="replace") for name in directories}
    assert setting.isprintable()
    assert setting.startswith("projects={")
    if len(readable) == len(directories):
        level = "trusted" if trusted else "untrusted"
        assert tomllib.loads(setting)["projects"] == {name: {"trust_level": level} for name in readable}


@pytest.mark.rule("S5")
def test_later_layers_of_the_environment_win() -> None:
    parent = {"A": "parent", "B": "parent", "C": "parent", "CODEX_HOME": "parent"}
    config = CodexConfig(codex_home="/codex", env={"B": "config", "C": "config"})
    assert merge_environment(parent, config, {"C": "request"}) == {
        **{"A": "parent", "B": "config", "C": "request"},
        **{"CODEX_HOME": "/codex", "RUST_LOG": "error"},
    }


@pytest.mark.rule("S5")
def test_the_configured_home_gives_way_to_both_environments() -> None:
    config = CodexConfig(codex_home="/field", env={"CODEX_HOME": "/config"})
    assert merge_environment({}, config, {})["CODEX_HOME"] == "/config"
    assert merge_environment({}, config, {"CODEX_HOME": "/request"})["CODEX_HOME"] == "/request"
    assert merge_environment({"CODEX_HOME": "/parent"}, CodexConfig(), {})["CODEX_HOME"] == "/parent"


@pytest.mark.rule("S5")
@pytest.mark.parametrize(
    ("env", "home"),
    [
        ({"CODEX_HOME": "/codex", "HOME": "/home/a"}, "/codex"),
        ({"CODEX_HOME": "", "HOME": "/home/a"}, "/home/a/.codex"),
        ({"HOME": "/home/a"}, "/home/a/.codex"),
        ({"HOME": ""}, None),
        ({}, None),
    ],
)
def test_the_home_of_the_cli_is_its_own_variable_or_below_the_users(env: dict[str, str], home: str | None) -> None:
    assert home_of_cli(env) == home


@pytest.mark.rule("S5")
@pytest.mark.parametrize("layer", ["parent", "config", "request"])
def test_the_log_level_is_set_only_where_nothing_sets_it(layer: str) -> None:
    layers = {name: {"RUST_LOG": "debug"} if name == layer else {} for name in ("parent", "config", "request")}
    merged = merge_environment(layers["parent"], CodexConfig(env=layers["config"]), layers["request"])
    assert merged["RUST_LOG"] == "debug"


ENVIRONMENT = st.dictionaries(st.sampled_from("ABC"), st.text(max_size=2))


@pytest.mark.rule("S5")
@given(ENVIRONMENT, ENVIRONMENT, ENVIRONMENT)
def test_merging_changes_no_layer(parent: dict[str, str], config: dict[str, str], request: dict[str, str]) -> None:
    before = (dict(parent), dict(config), dict(request))
    merged = merge_environment(parent, CodexConfig(env=config), request)
    merged["A"] = "changed"
    assert (parent, config, request) == before


@pytest.mark.rule("S1")
def test_each_setting_is_a_flag_of_its_own_before_the_session() -> None:
    options = ExecOptions(settings=("a=1", "b=2"), resume=SessionSelector("last"))
    argv = build_argv("codex", options, schema_file=None, trust=TRUST)
    assert argv[argv.index("a=1") - 1 : argv.index("resume")] == ["--config", "a=1", "--config", "b=2"]
