"""Test the files of spaces and targets: valid ones are read, errors are named but not quoted."""

from __future__ import annotations

import json

import pytest

from codex_adapter.spaces import SpaceError
from codex_adapter.spaces.space_files import read_space
from codex_adapter.spaces.tags import read_tags
from codex_adapter.spaces.targets import read_targets

from ..rows import rows

SECRET = "s3cr3t-v4lue"
HEAD = 'schema = 1\nid = "a"\n'
HOOK = 'schema = 1\n[[hook]]\nname = "h"\nevent = "stop"\ncommand = "true"\n'


TOOL_HOOK = HOOK.replace("stop", "before_tool")


def complaint(**files: str | bytes) -> str:
    given = {"space.toml": HEAD, **{name.replace("__", "/").replace("_", "."): files[name] for name in files}}
    given = {
        {"hooks": "hooks/hooks.toml", "mcp": "mcp/mcp.json", "skill": "skills/s/SKILL.md"}.get(k, k): v
        for k, v in given.items()
    }
    with pytest.raises(SpaceError) as caught:
        read_space({path: text.encode() if isinstance(text, str) else text for path, text in given.items()})
    assert SECRET not in str(caught.value)
    return str(caught.value)


@pytest.mark.rule("Z1")
def test_a_whole_space_is_read() -> None:
    files = read_space(
        {
            "space.toml": b"""schema = 1
id = "git-flow"
version = "1.2.3-rc.1"
description = "How we use git"
deps = ["space:a@^1", "space:path:../b"]
[settings]
model = "openai/gpt-x"
permissions = "workspace-write"
[settings.env]
A_1 = "x=y"
""",
            "AGENTS.md": "\ufeffBe brief.\n".encode(),
            "skills/commit-1/SKILL.md": b"---\nname: commit-1\ndescription: Commits\nlicense: MIT\n---\nBody",
            "hooks/hooks.toml": b"""schema = 1
[[hook]]
name = "lint"
event = "after_tool"
command = '"${SPACE}/lint" | tee'
matcher = "apply_.*"
timeout = 5
[[hook]]
name = "end"
event = "stop"
command = "true"
""",
            "mcp/mcp.json": b"""{"mcpServers":{"clock":{"command":"${SPACE}/clock","args":["-v"],"env":{"TZ":"UTC"},
                "cwd":"${SPACE}"},"web":{"url":"https://example.org/mcp"}}}""",
        }
    )
    assert files.manifest.deps == ("space:a@^1", "space:path:../b")
    assert files.manifest.settings.env == {"A_1": "x=y"}
    assert files.instructions == "Be brief.\n"
    assert files.skills == {"commit-1": "Commits"}
    assert [(hook.name, hook.timeout, hook.matcher) for hook in files.hooks] == [
        ("lint", 5, "apply_.*"),
        ("end", 60, None),
    ]
    assert files.servers["clock"].env == {"TZ": "UTC"}
    assert files.servers["web"].url == "https://example.org/mcp"


@pytest.mark.rule("Z1")
@rows(
    ("text", "says"),
    [
        ("", "space.toml: the key 'schema' is missing"),
        ("schema = 1", "space.toml: the key 'id' is missing"),
        ('schema = 2\nid = "a"', "space.toml: the key 'schema' has a wrong type or value"),
        ('schema = true\nid = "a"', "space.toml: the key 'schema' has a wrong type or value"),
        (f'schema = 1\nid = "{SECRET.upper()}"', "space.toml: the key 'id' has a wrong type or value"),
        ('schema = 1\nid = "a\\n"', "space.toml: the key 'id' has a wrong type or value"),
        (HEAD + f'version = "{SECRET}"', "space.toml: the key 'version' is not a semantic version"),
        (HEAD + 'version = "1.2.3+b"', "space.toml: the key 'version' is not a semantic version"),
        (HEAD + 'version = "01.2.3"', "space.toml: the key 'version' is not a semantic version"),
        (HEAD + "deps = [1]", "space.toml: the key 'deps[0]' has a wrong type or value"),
        (HEAD + 'colour = "red"', "space.toml: the key 'colour' is unknown; remove it"),
        (HEAD + "[settings]\nmodels = 1", "space.toml: the key 'settings.models' is unknown; remove it"),
        (HEAD + f'[settings]\npermissions = "{SECRET}"', "space.toml: the key 'settings.permissions' has a wrong"),
        (HEAD + "[settings.env]\nA = 1", "space.toml: the key 'settings.env[...]' has a wrong type or value"),
        (HEAD + f'[settings.env]\nA = "{SECRET}\\u0000"', "space.toml: the key 'settings.env[...]' has a wrong"),
        (HEAD + f'[settings.env]\n"{SECRET}" = ""', "space.toml: a key in 'settings.env' is not an allowed name"),
        (HEAD + f"x = {SECRET}", "space.toml is not valid TOML in line 3. Fix it."),
        (HEAD + HEAD, "space.toml is not valid TOML in line 3. Fix it."),
        (b"\xff", "space.toml is not UTF-8"),
        (HEAD + "x = " + "[" * 9000, "space.toml is not valid TOML. Fix it."),
        (HEAD + "x = " + "9" * 9000, "space.toml is not valid TOML. Fix it."),
        ("a" + ".a" * 30000 + "=1", "space.toml: a line has more than 500 dots"),
        ("[a" + ".a" * 400 + "]\nx=1", "space.toml: the key 'a'"),
    ],
)
def test_what_is_wrong_in_a_manifest_is_named(text: str, says: str) -> None:
    assert complaint(space_toml=text).startswith(says)


@pytest.mark.rule("Z2")
def test_a_matcher_is_a_regular_expression_and_what_python_thinks_of_its_future_is_no_matter() -> None:
    hooks = f"{TOOL_HOOK}matcher = '[[a]|apply_.*'".encode()
    assert read_space({"space.toml": HEAD.encode(), "hooks/hooks.toml": hooks}).hooks[0].matcher == "[[a]|apply_.*"


@pytest.mark.rule("Z1", "Z2")
def test_a_file_takes_time_by_its_length_and_not_by_its_square() -> None:
    many = 900_000
    where = "the key 'mcpServers[...].command' has a wrong type or value"
    for text in ("a" * many + "\n", " " * many + "\n", " " * many):
        assert where in complaint(mcp=json.dumps({"mcpServers": {"a": {"command": text}}}))
    assert "is unknown; remove it" in complaint(mcp=json.dumps({"mcpServers": {}, " - at `$" * (many // 8): 1}))
    assert "line has more than 500 dots" in complaint(space_toml='"\u2028".'.join(["a." * 490] * 60) + "a=1")
    for head in (
        "a" + " " * many + "x",
        '"' * many + ":",
        "k: " + "'" * many + "x",
        "x: " * (many // 3),
        "- " * 99_999,
    ):
        assert "skills/s/SKILL.md" in complaint(skill=f"---\n{head}\n---\n")


@pytest.mark.rule("Z1")
def test_a_byte_order_mark_may_stand_before_each_file() -> None:
    files = {"space.toml": HEAD, "mcp/mcp.json": '{"mcpServers":{"a":{"command":"x"}}}', "hooks/hooks.toml": HOOK}
    read = read_space({path: f"\ufeff{text}".encode() for path, text in files.items()})
    assert (list(read.servers), len(read.hooks)) == (["a"], 1)


@pytest.mark.rule("Z1")
def test_a_directory_without_a_manifest_is_no_space() -> None:
    with pytest.raises(SpaceError, match=r"it has no space\.toml"):
        read_space({"AGENTS.md": b""})


@pytest.mark.rule("Z2")
@rows(
    ("text", "says"),
    [
        (HOOK.replace("stop", SECRET), "the key 'hook[0].event' has a wrong type or value"),
        (HOOK.replace('"h"', '"H"'), "the key 'hook[0].name' has a wrong type or value"),
        (HOOK.replace('"true"', '" "'), "the key 'hook[0].command' has a wrong type or value"),
        (HOOK.replace('"true"', '"a\\nb"'), "the key 'hook[0].command' has a wrong type or value"),
        (HOOK + "timeout = 0", "the key 'hook[0].timeout' has a wrong type or value"),
        (HOOK + "timeout = 601", "the key 'hook[0].timeout' has a wrong type or value"),
        (HOOK + "timeout = 1.5", "the key 'hook[0].timeout' has a wrong type or value"),
        (
            HOOK + 'matcher = "x"',
            "hook 'h' has the key 'matcher', which only tool events have. Remove the key.",
        ),
        (HOOK + "async = true", "the key 'hook[0].async' is unknown; remove it"),
        (HOOK + HOOK.removeprefix("schema = 1\n"), "there are two hooks 'h'. Rename one."),
        ("hook = []", "the key 'schema' is missing"),
        (TOOL_HOOK + f"matcher = '({SECRET}'", "hook 'h': the key 'matcher' is not a regular expression. Fix it."),
        (TOOL_HOOK + "matcher = 'a{99999999999}'", "hook 'h': the key 'matcher' is not a regular expression. Fix it."),
        (TOOL_HOOK + f"matcher = '{'a' * 1001}'", "the key 'hook[0].matcher' has a wrong type or value"),
    ],
)
def test_what_is_wrong_with_hooks_is_named(text: str, says: str) -> None:
    assert complaint(hooks=text) == f"hooks/hooks.toml: {says}"


@pytest.mark.rule("Z2")
@rows(
    ("servers", "says"),
    [
        ({"A": {"command": "x"}}, "a key in 'mcpServers' is not an allowed name"),
        ({"a-b": {"command": "x"}}, "a key in 'mcpServers' is not an allowed name"),
        ({"a": {}}, "server 'a' must have either the key 'command' or the key 'url'"),
        ({"a": {"command": "x", "url": "http://x"}}, "server 'a' must have either the key"),
        (
            {"a": {"url": "http://x", "env": {"A": SECRET}}},
            "server 'a' has the key 'url', so it must not have any other key. Remove the others.",
        ),
        ({"a": {"url": f"ftp://{SECRET}"}}, "the key 'mcpServers[...].url' has a wrong type or value"),
        ({"a": {"command": "x", "args": [1]}}, "the key 'mcpServers[...].args[0]' has a wrong type or value"),
        ({"a": {"command": "x", "env": {"A": f"{SECRET}\0"}}}, "the key 'mcpServers[...].env[...]' has a wrong"),
        ({"a": {"command": "x", "type": "stdio"}}, "the key 'mcpServers[...].type' is unknown; remove it"),
    ],
)
def test_what_is_wrong_with_servers_is_named(servers: dict[str, object], says: str) -> None:
    assert complaint(mcp=json.dumps({"mcpServers": servers})).startswith(f"mcp/mcp.json: {says}")


@pytest.mark.rule("Z1", "Z2")
@rows("text", ["", "[", "[" * 100_000, '{"mcpServers":{}}x', b"\xff", '{"mcpServers":{"\\ud800":{}}}'])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    assert complaint(mcp=text).startswith("mcp/mcp.json")


@pytest.mark.rule("Z1", "Z2")
def test_a_key_that_is_there_twice_in_json_is_refused() -> None:
    twice = '{"mcpServers":{"a":{"command":"x","env":{"A":"1","A":"1"}}}}'
    assert complaint(mcp=twice) == "mcp/mcp.json: the key 'A' occurs twice. Remove one."


@pytest.mark.rule("Z3")
def test_tags_have_names_and_versions() -> None:
    assert read_tags(b'schema = 1\n[tags]\nstable = "1.0.0"') == {"stable": "1.0.0"}
    with pytest.raises(SpaceError, match=r"^tags\.toml: the key 'tags\.stable' is not a version"):
        read_tags(b'schema = 1\n[tags]\nstable = "^1"')
    with pytest.raises(SpaceError, match=r"^tags\.toml: a key in 'tags' is not an allowed name"):
        read_tags(b'schema = 1\n[tags]\n"1" = "1.0.0"')


@pytest.mark.rule("Z4")
def test_targets_have_references_and_settings_by_harness() -> None:
    targets = read_targets(
        b"""schema = 1
[targets.web]
compose = ["space:a", "space:project:b"]
description = "The site"
[targets.web.harness.codex]
model = "openai/x"
permissions = "full"
[targets.docs]
compose = []
"""
    )
    assert targets["web"].compose == ("space:a", "space:project:b")
    assert targets["web"].harness["codex"].permissions == "full"
    assert targets["docs"].harness == {}


@pytest.mark.rule("Z4")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("schema = 1\n[targets.a]", "the key 'targets[...].compose' is missing"),
        ('schema = 1\n[targets.a]\ncompose = "space:a"', "the key 'targets[...].compose' has a wrong type or value"),
        ("schema = 1\n[targets.a]\ncompose = []\nenv = 1", "the key 'targets[...].env' is unknown; remove it"),
        ("schema = 1\n[target.a]\ncompose = []", "the key 'target' is unknown; remove it"),
        (f'schema = 1\n[targets.a]\ncompose = []\nharness.x.permissions = "{SECRET}"', "the key 'targets[...].harness"),
    ],
)
def test_what_is_wrong_with_targets_is_named(text: str, says: str) -> None:
    with pytest.raises(SpaceError) as caught:
        read_targets(text.encode())
    assert str(caught.value).startswith(f"asp-targets.toml: {says}")
    assert SECRET not in str(caught.value)
