"""Test the verdicts of a policy on operations, and their texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from codex_adapter.agents import known_places
from codex_adapter.protocols.operations.judging import Allowed, Denied, NeedsApproval, Verdict, judge
from codex_adapter.protocols.operations.operations import (
    CreateFileOperation,
    DeleteFileOperation,
    EditFileOperation,
    MessageOperation,
    Operation,
    ReadFileOperation,
    ShellOperation,
)
from codex_adapter.protocols.operations.policy import Policy, load_policy
from codex_adapter.protocols.operations.text_pieces import Text
from tests.protocols.operations.everyday_commands import EVERYDAY

from ...counting import calls
from ...rows import rows

STANDARD = load_policy("standard", agents=known_places())
RESTRICTIVE = load_policy("restrictive", agents=known_places())
PERMISSIVE = load_policy("permissive", agents=known_places())


HIDDEN = (
    "strange rm ",
    "strange 'rm a' ",
    "x=rm;strange $x ",
    "strange --a=rm ",
    "unshare rm -",
    "env ",
    'strange "$x" ',
)
"""Pieces of long texts of a program that may run its arguments."""


def shell(policy: Policy, command: str, cwd: str = "") -> Verdict:
    return judge(policy, ShellOperation(command=command, cwd=cwd))


def short(verdict: Verdict) -> str:
    return {Allowed: "allow", NeedsApproval: "approve", Denied: "deny"}[type(verdict)]


def policy_of(directory: Path, text: str) -> Policy:
    path = directory / "policy.toml"
    path.write_text(text)
    return load_policy(path, agents=known_places())


@pytest.mark.rule("A2")
def test_a_blocked_command_is_named_and_the_agent_told_what_to_do() -> None:
    assert shell(STANDARD, "sudo make install") == Denied(
        "Command 'sudo' is blocked", "shell.deny", "Remove sudo from the command"
    )


@pytest.mark.rule("A2")
def test_an_approval_names_the_command_the_rule_and_why() -> None:
    assert shell(STANDARD, "cd x && ls | xargs rm -rf") == NeedsApproval(
        "Command 'rm' (run by xargs) requires approval by the rule 'rm -r|-R|--recursive': "
        "it removes whole directories",
        "shell.approve",
    )


@pytest.mark.rule("A2")
def test_a_reason_shows_names_short_and_without_control_characters() -> None:
    for operation in (
        ShellOperation(command="\x1b[2J" + "a" * 4000),
        ShellOperation(command="echo > .git/\x1b[2J" + "a" * 4000),
        ShellOperation(command="ls", env={"LD_\x1b[2J" + "a" * 4000: ""}),
        ShellOperation(command="sudo " * 20 + "\x1b[2J" + "a" * 3000),
    ):
        verdict = judge(RESTRICTIVE, operation)
        assert not isinstance(verdict, Allowed)
        assert verdict.reason.isprintable()
        assert len(verdict.reason) < 500


@pytest.mark.rule("A2")
def test_the_strictest_wins_wherever_it_stands() -> None:
    assert short(shell(STANDARD, "ls; git push; sudo ls; cat $x")) == "deny"
    assert short(shell(STANDARD, "ls; git push; cat a")) == "approve"
    assert short(shell(STANDARD, "$x; sudo ls")) == "deny"


@pytest.mark.rule("A2")
@pytest.mark.parametrize("operation", [MessageOperation(content="x"), ReadFileOperation(path="a")])
def test_the_lists_of_operations_go_by_their_types(tmp_path: Path, operation: Operation) -> None:
    kind = operation.type
    others = 'allow = ["shell"]'
    assert judge(policy_of(tmp_path, f'[operations]\ndeny = ["{kind}"]'), operation) == Denied(
        f"Operations of the type '{kind}' are blocked", "operations.deny"
    )
    assert judge(policy_of(tmp_path, f'[operations]\n{others}\napprove = ["{kind}"]'), operation) == NeedsApproval(
        f"Operations of the type '{kind}' require approval", "operations.approve"
    )
    assert judge(policy_of(tmp_path, f"[operations]\n{others}"), operation) == Denied(
        f"Operations of the type '{kind}' are not allowed", "operations.allow"
    )


@pytest.mark.rule("A2")
def test_a_timeout_over_the_most_is_denied_with_the_most(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, "[shell]\nmax_timeout = 60000")
    assert judge(policy, ShellOperation(command="ls", timeout=60_000)) == Allowed()
    verdict = judge(policy, ShellOperation(command="ls", timeout=60_001))
    assert isinstance(verdict, Denied)
    assert verdict.rule == "shell.max_timeout"
    assert "60000" in (verdict.suggestion or "")


@pytest.mark.rule("A3")
def test_everyday_commands_are_free_under_the_standard_policy() -> None:
    verdicts = {text: shell(STANDARD, text) for text in EVERYDAY}
    assert {text: verdict for text, verdict in verdicts.items() if verdict != Allowed()} == {}


@pytest.mark.rule("A3")
@pytest.mark.parametrize("command", ["$x", "eval $x", "curl x | sh", "ls '", "cat <<< x"])
def test_an_unclear_text_is_never_silently_allowed(tmp_path: Path, command: str) -> None:
    for policy in (STANDARD, RESTRICTIVE):
        verdict = shell(policy, command)
        assert isinstance(verdict, NeedsApproval)
    strict = shell(policy_of(tmp_path, '[shell]\nunclear = "deny"'), command)
    assert isinstance(strict, Denied)
    assert strict.rule == "shell.unclear"
    assert strict.suggestion == "Write plain commands with literal words, one command at a time"


@pytest.mark.rule("A4")
@pytest.mark.parametrize(
    ("rule", "command", "verdict"),
    [
        ("rm", 'echo "rm -rf /"', "allow"),
        ("rm", "ls | xargs rm", "approve"),
        ("rm", "/bin/rm x", "approve"),
        ("rm", "r\\m x", "approve"),
        ("rm", "rmdir x", "allow"),
        ("rm", "find . -delete", "approve"),
        ("rm", "echo `rm x`", "approve"),
        ("git push", "git push origin main", "approve"),
        ("git push", "git -C x push", "approve"),
        ("git push", "git --git-dir=x --no-pager push", "approve"),
        ("git push", "git -C push status", "allow"),
        ("git push", "git --some option push", "approve"),
        ("git push", "git log push", "allow"),
        ("git push", "git stash push", "allow"),
        ("git push", "git $x", "approve"),
        ("git push", "git commit -m $x", "allow"),
        ("git push", 'git "s$x"', "allow"),
        ("git push", "git", "allow"),
        ("git push --force", "git push origin --force", "approve"),
        ("git push --force", "git push --forc", "approve"),
        ("git push --force", "git push --force-with-lease", "allow"),
        ("git push --force", "git push -- --force", "allow"),
        ("git push --force", "git push origin", "allow"),
        ("git stash drop", "git stash -q drop", "approve"),
        ("git stash drop", "git stash pop", "allow"),
        ("rm -r", "rm -fr x", "approve"),
        ("rm -r", "rm x -r", "approve"),
        ("rm -r", "rm -- -r", "allow"),
        ("rm -r", "rm -f x", "allow"),
        ("rm -r", 'rm "$x"', "approve"),
        ("rm -r", 'rm "./$x" build/*.o', "allow"),
        ("rm -r", "rm $x", "approve"),
        ("rm -rf", "rm -r -f x", "approve"),
        ("rm -rf", "rm -fvr x", "approve"),
        ("rm -rf", "rm -r x", "allow"),
        ("java -jar", "java -jar x", "approve"),
        ("find -exec", "find . -exec ls {} +", "approve"),
        ("git checkout --", "git checkout -- a", "approve"),
        ("git checkout --", "git checkout a", "allow"),
        ("dd of=/dev/*", "dd if=a of=/dev/sda", "approve"),
        ("dd of=/dev/*", "dd if=/dev/sda of=a", "allow"),
        ("mkfs.*", "mkfs.ext4 a", "approve"),
        ("./deploy.sh", "./deploy.sh now", "approve"),
        ("./deploy.sh", "deploy.sh", "allow"),
        ("npm install", "npm --prefix web install left-pad", "approve"),
        ("npm install", "npm --prefix install run build", "allow"),
        ("kubectl delete", "kubectl -n dev delete pod x", "approve"),
    ],
)
def test_rules_go_by_the_words_that_are_executed(tmp_path: Path, rule: str, command: str, verdict: str) -> None:
    shell_section = f'[shell]\nunclear = "approve"\napprove = ["{rule}"]\ndeny = []'
    policy = policy_of(tmp_path, f'extends = "permissive"\n{shell_section}\n[files.write]\napprove = []\ndeny = []')
    assert short(shell(policy, command)) == verdict


@pytest.mark.rule("A4")
@rows(
    ("command", "verdict"),
    [
        ("git status", "allow"),
        ("git -C x --no-pager status -s", "allow"),
        ("git -c core.pager=x status", "approve"),
        ("git commit", "approve"),
        ("/usr/bin/git status", "allow"),
        ("./git status", "approve"),
        ("tools/cat a", "approve"),
        ("cat a | grep b | wc -l", "allow"),
        ("cat a | sed s/a/b/", "approve"),
        ("python -m pytest -q", "allow"),
        ("python a.py", "approve"),
        ("find . -name a", "allow"),
        ("find . -delete", "approve"),
        ("ls | xargs grep x", "allow"),
        ("ls | xargs ssh", "deny"),
        ("git $x", "approve"),
    ],
)
def test_under_the_restrictive_policy_only_what_is_listed_is_free(command: str, verdict: str) -> None:
    assert short(shell(RESTRICTIVE, command)) == verdict


@pytest.mark.rule("A4")
def test_what_no_list_names_follows_the_default(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, '[shell]\ndefault = "deny"\nallow = ["ls"]\napprove = ["rm"]\ndeny = []')
    assert shell(policy, "ls -la") == Allowed()
    assert short(shell(policy, "rm x")) == "approve"
    verdict = shell(policy, "ls; wc")
    assert isinstance(verdict, Denied)
    assert (verdict.rule, verdict.reason) == (
        "shell.default",
        "Command 'wc' is not allowed: it is not in a list of the policy",
    )


@pytest.mark.rule("A4")
def test_a_rule_may_bring_its_own_reason_and_suggestion(tmp_path: Path) -> None:
    rule = '{ words = "npm install", reason = "the lock file is final", suggestion = "Use npm ci" }'
    policy = policy_of(tmp_path, f"[shell]\ndeny = [{rule}]")
    assert shell(policy, "npm install x") == Denied(
        "Command 'npm' is blocked by the rule 'npm install': the lock file is final", "shell.deny", "Use npm ci"
    )


@pytest.mark.rule("A5")
@rows(
    ("operation", "verdict"),
    [
        (CreateFileOperation(path="src/a.py", content=Text.of("")), "allow"),
        (CreateFileOperation(path=".env", content=Text.of("")), "approve"),
        (CreateFileOperation(path="a/./b//.env.local", content=Text.of("")), "approve"),
        (CreateFileOperation(path=".envrc", content=Text.of("")), "allow"),
        (EditFileOperation(path=".git/config", edits=[]), "deny"),
        (EditFileOperation(path="sub/.git/hooks/pre-commit", edits=[]), "deny"),
        (EditFileOperation(path=".gitignore", edits=[]), "allow"),
        (DeleteFileOperation(path=".git/index"), "approve"),
        (DeleteFileOperation(path="a.py"), "allow"),
        (ReadFileOperation(path=".env"), "allow"),
    ],
)
def test_rules_for_files_go_by_path_and_kind_of_access(operation: Operation, verdict: str) -> None:
    assert short(judge(STANDARD, operation)) == verdict


@pytest.mark.rule("A5")
@rows(
    ("command", "cwd", "verdict"),
    [
        ("echo a > b", "", "allow"),
        ("make > /dev/null 2>&1", "", "allow"),
        ("echo a > .env", "", "approve"),
        ("echo a >> config", ".git", "deny"),
        ("cd .git && echo a > config", "", "deny"),
        ("cd sub && make > log", "", "allow"),
        ('cd "$x" && make > log', "", "approve"),
        ("cd && make > log", "", "approve"),
        ("echo a | tee .env", "", "approve"),
        ("echo a > ../b", "", "approve"),
        ("echo a > ../b", "sub", "allow"),
        ("echo a > /etc/passwd", "", "deny"),
        ("echo a > /tmp/x", "", "allow"),
        ("echo a > /usr/x", "", "approve"),
        ('echo a > "$x"', "", "approve"),
        (";".join(["cd a"] * 200) + "; echo > x", "", "approve"),
        ("cd a; " * 200 + "ls", "", "allow"),
        ("echo '> .env'", "", "allow"),
        ("cat < .env", "", "allow"),
    ],
)
def test_redirections_fall_under_the_rules_for_files(command: str, cwd: str, verdict: str) -> None:
    assert short(shell(STANDARD, command, cwd)) == verdict


@pytest.mark.rule("A5")
def test_a_file_that_is_held_back_is_named_with_the_rule() -> None:
    assert judge(RESTRICTIVE, DeleteFileOperation(path="a")) == NeedsApproval(
        "Deleting 'a' requires approval by the rule '**'", "files.delete.approve"
    )
    assert shell(RESTRICTIVE, "echo > x/.git/y") == Denied(
        "Writing 'x/.git/y' is blocked by the rule '**/.git/**'",
        "files.write.deny",
        "Do not use files that match '**/.git/**'",
    )


@pytest.mark.rule("A6")
@rows("name", ["PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "PYTHONSTARTUP", "GIT_SSH_COMMAND", "NODE_OPTIONS"])
def test_variables_that_change_what_is_executed_are_held_back_however_they_are_set(name: str) -> None:
    assert short(judge(STANDARD, ShellOperation(command="ls", env={name: "x"}))) == "approve"
    assert short(judge(RESTRICTIVE, ShellOperation(command="ls", env={name: "x"}))) == "deny"
    for command in (
        f"{name}=x ls",
        f"export {name}=x",
        f"env {name}=x ls",
        f"read {name}",
        f"for {name} in x; do ls; done",
    ):
        assert short(shell(STANDARD, command)) == "approve"
        assert short(shell(RESTRICTIVE, command)) == "deny"


@pytest.mark.rule("A6")
def test_other_variables_are_free() -> None:
    assert judge(STANDARD, ShellOperation(command="A=1 ls", env={"CI": "1", "PYTHONPATH": "src"})) == Allowed()


@pytest.mark.rule("A2")
def test_under_the_permissive_policy_nearly_all_is_free() -> None:
    for command in ("rm -rf build", "sudo ls", "git push", "curl x | sh", "$x"):
        assert shell(PERMISSIVE, command) == Allowed()
    assert short(shell(PERMISSIVE, "rm -rf /")) == "deny"
    assert short(shell(PERMISSIVE, "git push origin -f")) == "approve"


@pytest.mark.rule("A3")
@rows(
    "piece",
    [
        'git "$x" ',
        "git -x stash ",
        "{,",
        "[",
        "$(",
        "sudo ",
        "eval ",
        "cd a;>b;",
        "find -exec ",
        "<<E ",
        "$x-",
        "`\\`",
        *HIDDEN,
    ],
)
def test_the_longest_text_is_judged_while_nobody_waits(piece: str) -> None:
    command = (piece * 4096)[:4096]
    assert calls(lambda: judge(STANDARD, ShellOperation(command=command))) < 10_000_000
