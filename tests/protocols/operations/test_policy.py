"""Test that a policy is read completely or refused, and that every rule of the presets can apply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.judging import Denied, NeedsApproval, judge
from codex_adapter.protocols.operations.operations import (
    CreateFileOperation,
    DeleteFileOperation,
    Operation,
    ReadFileOperation,
    ShellOperation,
)
from codex_adapter.protocols.operations.policy import PRESETS, FileRules, Policy, PolicyError, load_policy
from codex_adapter.protocols.operations.text_pieces import Text

SECRET = "hunter2"


@pytest.mark.rule("A1")
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_found_by_its_name(name: str) -> None:
    assert isinstance(load_policy(name, agents=known_places()), Policy)


@pytest.mark.rule("A1")
def test_a_file_overrides_the_standard_key_by_key(tmp_path: Path) -> None:
    policy = load_policy(
        written(tmp_path, '[shell]\ndefault = "deny"\n[files.write]\ndeny = ["x"]\n'), agents=known_places()
    )
    standard = load_policy("standard", agents=known_places())
    assert policy.shell.default == "deny"
    assert policy.shell.deny == standard.shell.deny
    assert policy.files.write == FileRules(approve=standard.files.write.approve, deny=("x",))
    assert policy.files.delete == standard.files.delete


@pytest.mark.rule("A1")
@pytest.mark.parametrize("name", PRESETS)
def test_a_file_may_extend_any_preset(tmp_path: Path, name: str) -> None:
    assert load_policy(str(written(tmp_path, f'extends = "{name}"')), agents=known_places()) == load_policy(
        name, agents=known_places()
    )


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f'{SECRET} = "x"', f"'{SECRET}'"),
        (f'[shell]\ndefualt = "{SECRET}"', "'shell.defualt'"),
        (f'[shell]\ndefault = "{SECRET}"', "'shell.default'"),
        (f'[shell]\nallow = "{SECRET}"', "'shell.allow'"),
        ("[shell]\nallow = [1]", "'shell.allow[0]'"),
        (f'[shell]\ndeny = [{{ words = "a", why = "{SECRET}" }}]', "'shell.deny[0].why'"),
        (f'[shell]\ndeny = [{{ reason = "{SECRET}" }}]', "'shell.deny[0].words'"),
        ('[shell]\napprove = [" "]', "'shell.approve[0].words'"),
        ("[shell]\nmax_timeout = 999", "'shell.max_timeout'"),
        ("[shell]\nmax_timeout = 99999999999999999999", "'shell.max_timeout'"),
        ("[shell]\nkeep = true", "'shell.keep'"),
        ('[files]\nwrite = ["x"]', "'files.write'"),
        (f'[files.read]\nblock = ["{SECRET}"]', "'files.read.block'"),
        ("[limits]\nfile_bytes = 10485761", "'limits.file_bytes'"),
        ("[limits]\noperations = 0", "'limits.operations'"),
        (f'[operations]\nallow = ["{SECRET}"]', "'operations.allow[0]'"),
        (f'[network]\nallow = "{SECRET}"', "'network.allow'"),
        ("[sandbox]\nrequire = 1", "'sandbox.require'"),
        ("shell = 1", "'shell'"),
        (f'extends = "{SECRET}"', "'extends'"),
        ("extends = []", "'extends'"),
    ],
)
def test_what_is_wrong_is_refused_by_the_name_of_its_key(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(written(tmp_path, text), agents=known_places())
    assert key in str(caught.value)
    assert SECRET not in str(caught.value).replace(key, "")
    assert caught.value.__cause__ is None


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (f"[shell]\n{SECRET} = {SECRET}".encode(), "not TOML in line 2"),
        (b"\xff", "not UTF-8"),
        (b"#" * 2_000_000, "bytes"),
        (b"a = " + b"[" * 100_000, "not TOML"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    with pytest.raises(PolicyError, match=complaint) as caught:
        load_policy(path, agents=known_places())
    assert SECRET not in str(caught.value)


@pytest.mark.rule("A1")
@pytest.mark.parametrize("source", ["strict", "", "a\0b"])
def test_a_source_that_is_neither_a_preset_nor_a_file_is_refused_with_the_presets(source: str) -> None:
    with pytest.raises(PolicyError, match="restrictive, standard, permissive"):
        load_policy(source, agents=known_places())


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    "way",
    ["here", "below/here", "link in", "link out", "through", "link/../here", "below/../..", "chain", "other name"],
)
def test_a_policy_that_an_agent_could_replace_is_refused(tmp_path: Path, way: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for directory in (root / "below", outside):
        directory.mkdir(parents=True)
    text = 'extends = "restrictive"'
    written(outside, text)
    paths = {
        "here": written(root, text),
        "below/here": written(root / "below", text),
        "link in": linked(outside / "in.toml", root / "policy.toml"),
        "link out": linked(root / "out.toml", outside / "policy.toml"),
        "through": linked(root / "through", outside) / "policy.toml",
        "link/../here": linked(outside / "link", root / "below") / ".." / "policy.toml",
        "below/../..": root / "below" / ".." / ".." / "outside" / "policy.toml",
        "chain": linked(outside / "chain.toml", root / "out.toml"),
        "other name": outside / "other.toml",
    }
    (outside / "other.toml").write_text(text)
    (root / "other.toml").hardlink_to(outside / "other.toml")
    for workspace in (root, linked(tmp_path / "alias", root)):
        with pytest.raises(PolicyError, match="is in the workspace, where an agent can change it"):
            load_policy(paths[way], workspace=workspace, agents=known_places())


@pytest.mark.rule("A1")
def test_a_policy_that_does_not_exist_is_not_read_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_adapter.protocols.operations.policy._read", lambda path: b"")
    with pytest.raises(PolicyError, match="not one of"):
        load_policy(tmp_path / "none.toml", workspace=tmp_path, agents=known_places())


@pytest.mark.rule("A1")
def test_a_policy_beside_the_workspace_is_read(tmp_path: Path) -> None:
    root, beside = tmp_path / "root", tmp_path / "root beside"
    for directory in (root, beside):
        directory.mkdir()
    policy = written(beside, 'extends = "permissive"')
    for path in (policy, linked(beside / "link", policy), root / ".." / beside.name / policy.name):
        assert load_policy(path, workspace=root, agents=known_places()) == load_policy(
            "permissive", agents=known_places()
        )
    with pytest.raises(PolicyError, match="not one of"):
        load_policy(linked(beside / "loop", beside / "loop"), workspace=root, agents=known_places())


def linked(path: Path, target: Path) -> Path:
    if not path.is_symlink():
        path.symlink_to(target)
    return path


def written(directory: Path, text: str) -> Path:
    path = directory / "policy.toml"
    path.write_text(text)
    return path


def examples(policy: Policy) -> Iterator[tuple[str, str, Operation]]:
    """For each entry of a policy that holds back: the key, what the reason names, an operation that it must hit."""
    for shell_key, rules in (("shell.approve", policy.shell.approve), ("shell.deny", policy.shell.deny)):
        for rule in rules:
            name = rule.words.replace("*", "x") if " " not in rule.words else rule.words
            for words in product(*(word.split("|") for word in rule.words.replace("*", "x").split())):
                yield shell_key, f"'{name}'", ShellOperation(command=" ".join(words))
    for access, files in (("read", policy.files.read), ("write", policy.files.write), ("delete", policy.files.delete)):
        for effect, patterns in (("approve", files.approve), ("deny", files.deny)):
            for pattern in patterns:
                yield f"files.{access}.{effect}", f"'{pattern}'", on_path(access, concrete(pattern))
    for effect, patterns in (("approve", policy.variables.approve), ("deny", policy.variables.deny)):
        for pattern in patterns:
            name = pattern.replace("*", "X")
            yield f"variables.{effect}", f"'{name}'", ShellOperation(command="true", env={name: ""})


def concrete(pattern: str) -> str:
    return re.sub(r"\*+", "x", pattern.replace("**/", ""))


def on_path(access: str, path: str) -> Operation:
    if path.startswith(("/", "..")):
        return ShellOperation(command=f"true {'<' if access == 'read' else '>'}{path}")
    if access == "read":
        return ReadFileOperation(path=path)
    return CreateFileOperation(path=path, content=Text.of("")) if access == "write" else DeleteFileOperation(path=path)


@pytest.mark.rule("A2", "A4", "A5", "A6")
@pytest.mark.parametrize("preset", PRESETS)
def test_every_rule_of_a_preset_fires(preset: str) -> None:
    policy = load_policy(preset, agents=known_places())
    table = list(examples(policy))
    assert {"shell.approve", "shell.deny", "files.write.approve", "files.write.deny"} <= {key for key, _, _ in table}
    for key, named, operation in table:
        verdict = judge(policy, operation)
        assert isinstance(verdict, Denied if key.endswith("deny") else NeedsApproval), (key, named, verdict)
        assert verdict.rule == key, (key, named, verdict)
        assert named in verdict.reason, (key, named, verdict)
        if isinstance(verdict, Denied):
            assert verdict.suggestion


@pytest.mark.rule("A5")
@pytest.mark.parametrize("preset", PRESETS)
def test_no_preset_follows_mounts_or_hard_links(preset: str) -> None:
    files = load_policy(preset, agents=known_places()).files
    assert (files.mounts, files.hard_links) == (False, False)


@pytest.mark.rule("A2")
def test_the_presets_differ_as_their_names_say() -> None:
    restrictive, standard, permissive = (load_policy(name, agents=known_places()) for name in PRESETS)
    assert (restrictive.shell.default, standard.shell.default, permissive.shell.default) == (
        "approve",
        "allow",
        "allow",
    )
    assert (restrictive.shell.unclear, standard.shell.unclear, permissive.shell.unclear) == (
        "approve",
        "approve",
        "allow",
    )
    assert (restrictive.sandbox.require, standard.sandbox.require) == (True, False)
    assert (restrictive.network.allow, standard.network.allow, permissive.network.allow) == (False, False, True)
