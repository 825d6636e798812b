"""Test the hooks that the CLI receives and the digests by which it trusts them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_adapter.agents.codex.harness.hooks import hooks_file, trusted_hooks
from codex_adapter.spaces import Hook
from codex_adapter.turn_errors import TurnError

from ....harness.environments import a_hook
from ....rows import rows

pytestmark = pytest.mark.rule("U10")

FILE = Path("/home/user/codex/hooks.json")
TOLD_BY_THE_CLI = {
    "pre_tool_use:0:0": "ab790c93400174ad8cf52b326123c6fb6439f9399c4c3b721bce5093f8d5484c",
    "pre_tool_use:1:0": "8091a255399822ce7f06a458d89f7fb7fb1ef60a4c32a9f47202cf1b5c5a7b85",
    "post_tool_use:0:0": "1620955780c52324556805e36be93505fad36104ee4b4ceef6a297a8d2b47f49",
    "session_start:0:0": "f8e36d72e520bcd538a59fe93b23a430a7eb854c8369485586a062aca83211a4",
    "user_prompt_submit:0:0": "a523eb2ababea71525ae120f16f86d243e397f965ad914c631d2bfb6ee025770",
    "stop:0:0": "66708dc4368b27b906811a817f0393e08bcf63ce2e980bff701989320555adfc",
}
"""What release 0.163.0 says of the hooks below, by its `hooks/list`."""
HOOKS = (
    a_hook("before_tool", 'echo "é" \\ 1', "^Bash$|mcp__.*", 7),
    a_hook("before_tool"),
    a_hook("stop", "echo\t1\n2", None, 600),
    a_hook("prompt", "x", None, 1),
    a_hook("session_start", "x\u2028\x7f", None, 1),
    a_hook("after_tool", "x", "", 1),
)
some_hooks = st.lists(
    st.builds(
        Hook,
        name=st.just("note"),
        event=st.sampled_from(["session_start", "prompt", "before_tool", "after_tool", "stop"]),
        command=st.text(),
        matcher=st.none() | st.sampled_from(["", "Bash", "mcp__.*", r"\(\?=x"]),
        timeout=st.integers(1, 600),
        space=st.just("one"),
    )
)


def test_the_digests_are_those_that_the_cli_itself_tells() -> None:
    expected = {f"{FILE}:{key}": {"trusted_hash": f"sha256:{digest}"} for key, digest in TOLD_BY_THE_CLI.items()}
    assert trusted_hooks(HOOKS, FILE) == expected


@given(some_hooks)
def test_each_hook_is_in_the_file_once_and_is_trusted_there(hooks: list[Hook]) -> None:
    events = hooks_file(hooks)["hooks"]
    written = [(name, number) for name, groups in events.items() for number in range(len(groups))]
    commands = [group["hooks"][0]["command"] for groups in events.values() for group in groups]
    assert sorted(commands) == sorted(hook.command for hook in hooks)
    trusted = trusted_hooks(hooks, FILE)
    assert len(trusted) == len(written) == len(hooks)
    assert all(key.startswith(f"{FILE}:") and key.endswith(":0") for key in trusted)
    assert json.loads(json.dumps(hooks_file(hooks))) == hooks_file(hooks)


def test_a_matcher_is_for_events_of_tools_alone() -> None:
    events = hooks_file([a_hook("before_tool", matcher="Bash"), a_hook("stop", matcher="Bash")])["hooks"]
    assert [group.get("matcher") for groups in events.values() for group in groups] == ["Bash", None]


@rows(
    "matcher",
    ["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", "(?P<x>a)(?P=x)", "(?>a)", r"a\Z", "(x", "*", "a{2,1}"],
)
@pytest.mark.fault(
    "turns",
    "The CLI cannot parse the matcher of a hook",
    "The turn is refused with the hook's name, because the hook would never fire",
)
def test_a_matcher_that_the_cli_would_drop_is_refused(matcher: str) -> None:
    with pytest.raises(TurnError, match="The matcher of hook note "):
        hooks_file([a_hook(matcher=matcher)])


@rows("matcher", ["(?P<x>a)", "(?:a)|b", "(?i)bash", r"\(\?=a\)", r"\\a", "[*+]+"])
def test_any_other_matcher_is_taken_as_it_is(matcher: str) -> None:
    assert hooks_file([a_hook(matcher=matcher)])["hooks"]["PreToolUse"][0]["matcher"] == matcher
