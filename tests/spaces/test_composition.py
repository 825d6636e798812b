"""Test the composition of spaces: the last one wins for each name."""

from __future__ import annotations

import pytest

from codex_adapter.spaces import TargetSpec, prepare, resolve

from .spaces_stage import Home, make_space

pytestmark = pytest.mark.rule("Z6")

SKILL = "---\ndescription: of {}\n---\n"
HOOK = '[[hook]]\nname = "{}"\nevent = "stop"\ncommand = "${{SPACE}}/{}"\n'


def test_later_ones_win_name_by_name(home: Home) -> None:
    home.publish(
        "a",
        "1.0.0",
        more='[settings]\nmodel = "m/a"\npermissions = "full"\n[settings.env]\nA = "a"\nB = "a"',
        files={
            "AGENTS.md": "\nBe brief.\n\n",
            "skills/one/SKILL.md": SKILL.format("a"),
            "skills/two/SKILL.md": SKILL.format("a"),
            "skills/notes/README": "no skill",
            "hooks/hooks.toml": "schema = 1\n" + HOOK.format("x", "a") + HOOK.format("y", "a"),
            "mcp/mcp.json": '{"mcpServers":{"s":{"command":"${SPACE}/s","args":["${SPACE}"],"env":{"D":"${SPACE}:"},"cwd":"${SPACE}"},"t":{"url":"http://t"}}}',
        },
    )
    home.publish(
        "b",
        "1.0.0",
        ["space:a"],
        more='[settings]\nmodel = "m/b"\n[settings.env]\nB = "b"',
        files={
            "AGENTS.md": " \n",
            "skills/one/SKILL.md": SKILL.format("b"),
            "hooks/hooks.toml": "schema = 1\n" + HOOK.format("x", "b"),
            "mcp/mcp.json": '{"mcpServers":{"t":{"url":"http://u"}}}',
        },
    )
    home.publish("c", "1.0.0", files={"AGENTS.md": "Test."})
    found = resolve(home.path, ["space:b", "space:c"])
    a, b = str(home.registry / "a" / "1.0.0"), str(home.registry / "b" / "1.0.0")
    assert found.instructions == "# a\n\nBe brief.\n\n# c\n\nTest.\n"
    assert [(skill.name, skill.description, skill.space) for skill in found.skills] == [
        *(("two", "of a", "a"), ("one", "of b", "b"))
    ]
    assert found.skills[1].directory == f"{b}/skills/one"
    assert [(hook.name, hook.command, hook.space) for hook in found.hooks] == [
        ("y", f"{a}/a", "a"),
        ("x", f"{b}/b", "b"),
    ]
    s, t = found.servers
    assert (s.name, s.command, s.args, s.env, s.cwd, s.url) == ("s", f"{a}/s", (a,), {"D": f"{a}:"}, a, None)
    assert (t.name, t.url, t.space, t.command) == ("t", "http://u", "b", None)
    assert found.env == {"A": "a", "B": "b"}
    assert (found.model, found.permissions) == ("m/b", "full")


@pytest.mark.rule("Z4")
def test_what_a_target_says_of_a_harness_wins_over_all_spaces(home: Home) -> None:
    make_space(home.project / "spaces" / "a", "a", more='[settings]\nmodel = "m/a"\npermissions = "full"')
    home.targets(
        '[targets.t]\ncompose = ["space:project:a"]\n'
        '[targets.t.harness.codex]\npermissions = "read-only"\n[targets.t.harness.other]\nmodel = "m/other"'
    )
    spec = TargetSpec(name="t", directory=str(home.project))
    got = {harness: resolve(home.path, spec, harness) for harness in (None, "codex", "other", "third")}
    assert {harness: (it.model, it.permissions) for harness, it in got.items()} == {
        None: ("m/a", "full"),
        "codex": ("m/a", "read-only"),
        "other": ("m/other", "full"),
        "third": ("m/a", "full"),
    }


@pytest.mark.rule("Z2", "Z7")
def test_for_a_turn_a_spaces_directory_is_its_copy(home: Home) -> None:
    home.publish("a", "1.0.0", files={"hooks/hooks.toml": "schema = 1\n" + HOOK.format("x", "run"), "run": "#!/bin/sh"})
    found = prepare(home.path, ["space:a"])
    place = home.store / found.spaces[0].digest
    assert found.spaces[0].directory == str(place)
    assert found.hooks[0].command == f"{place}/run"
    assert (place / "run").read_text() == "#!/bin/sh"


def test_nothing_comes_to_nothing(home: Home) -> None:
    found = resolve(home.path, [])
    assert found == prepare(home.path, [])
    assert (found.spaces, found.instructions, found.env, found.model) == ((), "", {}, None)
    assert list(home.path.iterdir()) == []
