"""Test wrong command lines and requests: one line with the reason, status 2, and no echo of a value."""

from __future__ import annotations

import json
import os
import pty
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_adapter.cli import main
from codex_adapter.testing import ReadPrompt, WriteFile
from tests.widths import thinned

from ..rows import rows
from .command import ADAPTER, Cli, Done

SECRET = "hunter2-hunter2"
FILES = {
    "broken.json": "{",
    "list.json": "[]",
    "no_prompt.json": "{}",
    "prompt.json": '{"prompt": "Hi."}',
    "stranger.json": json.dumps({"prompt": "Hi.", SECRET: SECRET}),
    "timeout.json": json.dumps({"prompt": "Hi.", "timeout": SECRET}),
    "env.json": json.dumps({"prompt": "Hi.", "env": {"A": [SECRET]}}),
    "env_null.json": json.dumps({"prompt": "Hi.", "env": None}),
    "extensions.json": json.dumps({"prompt": "Hi.", "extensions": SECRET}),
    "dirs.json": json.dumps({"prompt": "Hi.", "extensions": {"agent_api.exec.add_dirs.v1": SECRET}}),
    "images.json": json.dumps({"prompt": "Hi.", "extensions": {"backend.codex.images": SECRET}}),
    "surrogate.json": '{"prompt": "\\ud800"}',
    "deep.json": "[" * 100_000,
    "twice.json": json.dumps({"prompt": "Hi.", "extensions": {"agent_api.session.fork.v1": {"selector": "last"}}}),
    "not_utf8.json": "\udcff",
}

Try = Callable[..., Done]


@pytest.fixture
def attempt(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Try:
    """A command line in this process, for speed; the agent would leave a mark."""
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CODEX_BINARY", Cli(tmp_path).agent(ReadPrompt(), WriteFile(f"{tmp_path}/started")))

    def attempt(*words: str) -> Done:
        status = main(words)
        stdout, stderr = capfd.readouterr()
        assert SECRET not in stdout + stderr
        assert "hunter2" not in stdout + stderr
        assert not (tmp_path / "started").exists()
        return Done(status, stdout.encode(), stderr)

    return attempt


@pytest.mark.rule("E5", "C6")
@rows(
    ("words", "named"),
    [
        ([], "The command is missing"),
        ([SECRET], "run, replay, view, serve, operations, mailbox, turn, space, demo, login, doctor, schema or help"),
        (
            ["--format", "jsonl", "run"],
            "run, replay, view, serve, operations, mailbox, turn, space, demo, login, doctor, schema or help",
        ),
        (["operations"], "--workspace is missing. Specify the directory to work in"),
        (["operations", "--workspace", SECRET], "--workspace: the directory does not exist. Create it first"),
        (["operations", "--workspace", ".", "--policy", SECRET], "--policy: the policy is not one of restrictive"),
        (["operations", "--workspace", "bin", "--policy", "broken.json"], "--policy: the policy file is not TOML"),
        (["operations", "--workspace", ".", "--approve", SECRET], "--approve must be ask"),
        (["operations", "--audit"], "--state is missing. Specify the file that has the log"),
        (["mailbox"], "The first argument must be start, resume, once, status or end"),
        (["mailbox", SECRET], "The first argument must be start, resume, once, status or end"),
        (["mailbox", "--mailbox", ".", "status"], "The first argument must be start, resume, once, status or end"),
        (["mailbox", "status"], "--mailbox is missing. Specify the directory of the mailbox"),
        (["mailbox", "status", "--mailbox", ""], "--mailbox is missing"),
        (["mailbox", "status", "--mailbox", "a\0b"], "--mailbox must be a path"),
        (["mailbox", "status", "--mailbox", "m", SECRET], "status takes only options. Remove the other arguments"),
        (["mailbox", "once", "--mailbox", "m", SECRET], "once takes only options. Remove the other arguments"),
        (["mailbox", "once", "--mailbox", "m", "--no-wait"], "--no-wait works only with start. Remove it"),
        (["mailbox", "end", "--mailbox", "m", "--workspace", "."], "--workspace works only with start"),
        (["mailbox", "end", "--mailbox", "m", "--answer", SECRET], "--answer works only with start, resume and once"),
        (["mailbox", "status", "--mailbox", "m", "--network"], "--network works only with start, resume and once"),
        (["mailbox", "resume", "--mailbox", "m", "--format", SECRET], "--format must be jsonl"),
        (["mailbox", "resume", "--mailbox", "m", "--workspace", ""], "--workspace must be a path"),
        (
            ["mailbox", "resume", "--mailbox", "m", "--answer", " "],
            "--answer must be the kind of an agent, such as codex, or a shell command",
        ),
        (
            ["mailbox", "resume", "--mailbox", "m", "--model", SECRET],
            "--model needs --answer codex. Specify both",
        ),
        (
            ["mailbox", "resume", "--mailbox", "m", "--timeout", "3"],
            "--timeout needs --answer. Specify both",
        ),
        (
            ["mailbox", "once", "--mailbox", "m", "--answer", SECRET, "--codex", SECRET],
            "--codex needs --answer codex",
        ),
        (["mailbox", "once", "--mailbox", "m", "--answer", SECRET, "--timeout", "nan"], "--timeout must be a finite"),
        (["mailbox", "start", "--mailbox", "m", "Hi."], "--workspace is missing. Specify the directory to work in"),
        (
            ["mailbox", "start", "--mailbox", "m", "--workspace", SECRET, "Hi."],
            "--workspace: the directory does not exist. Create it first",
        ),
        (["mailbox", "start", "--mailbox", "m", "--workspace", "a\0b", "Hi."], "--workspace must be a path"),
        (["mailbox", "start", "--mailbox", "m", "--workspace", ".", " "], "The task must be a non-empty text"),
        (["mailbox", "start", "--mailbox", "m", "--workspace", ".", "\udcff"], "The task must be UTF-8"),
        (["mailbox", "start", "--mailbox", "m", "--workspace", ".", "Hi.", SECRET], "There are too many arguments"),
        (
            ["mailbox", "start", "--mailbox", "m", "--workspace", ".", "--no-wait", "--answer", SECRET, "Hi."],
            "--no-wait and --answer exclude each other. Use one of them",
        ),
        (["run", "--modle", SECRET], "The option --modle is unknown. Did you mean --model?"),
        (["run", f"--modle={SECRET}"], "The option --modle is unknown. Did you mean --model?"),
        (["run", "--working_dir", SECRET], "The option --working_dir is unknown. Did you mean --working-dir?"),
        (["run", f"--working_{SECRET}"], "An option is unknown"),
        (["run", "--unheard-of", "Hi."], "The option --unheard-of is unknown"),
        (["run", f"--{SECRET}"], "An option is unknown"),
        (["run", "-x"], "The option -x is unknown"),
        (["run", f"-x{SECRET}"], "An option is unknown"),
        (["run", "--agent", "claude_code", "-c", f"{SECRET}=1", "Hi."], "The option -c is unknown"),
        (["run", "--agent", "pi", "-c", f"{SECRET}=1", "Hi."], "The option -c is unknown"),
        (["run", "--tim", "3", "Hi."], "The option --tim is unknown"),
        (["run", "Hi.", SECRET], "There are too many arguments"),
        (["run", "--model"], "--model needs a value"),
        (["run", "--model", "--resume", "last", "Hi."], "--model needs a value"),
        (["run", "--model", "a", "--model", SECRET, "Hi."], "--model occurs twice"),
        (["run", f"--interactive={SECRET}", "Hi."], "--interactive takes no value"),
        (["run", "--timeout", SECRET, "Hi."], "--timeout must be a number of seconds"),
        (["run", "--idle-timeout", SECRET, "Hi."], "--idle-timeout must be a number of seconds"),
        (["run", "--tool-timeout", "", "Hi."], "--tool-timeout must be a number of seconds"),
        (["run", "--format", SECRET, "Hi."], "--format must be jsonl"),
        (["run", "--env", "NOT_SET_ANYWHERE", "Hi."], "--env: number 1 is not set here"),
        (["run", "--env", "A=1", "--env", f"A={SECRET}", "Hi."], "--env: number 2 sets a variable again"),
        (["run", "--extension", SECRET, "Hi."], "--extension: number 1 must be KEY=JSON"),
        (["run", "--extension", f"={SECRET}", "Hi."], "--extension: number 1 must be KEY=JSON"),
        (["run", "--extension", f"a.b={SECRET}", "Hi."], "--extension: the value of number 1 is not JSON"),
        (["run", "--extension", "a.b=\udcff", "Hi."], "--extension: the value of number 1 is not JSON"),
        (["run", "--extension", "a.b=" + "[" * 9999, "Hi."], "--extension: the value of number 1 is not JSON"),
        (["run", "--extension", "a=1", "--extension", "a=2", "Hi."], "--extension: number 2 sets a key again"),
        (
            ["run", "--model", SECRET, "--extension", f'agent_api.config.model.v1="{SECRET}"', "Hi."],
            "--model and --extension agent_api.config.model.v1 set the same value",
        ),
        (
            ["run", "--interactive", "--extension", "agent_api.exec.non_interactive=true", "Hi."],
            "--interactive and --extension agent_api.exec.non_interactive set the same value",
        ),
        (
            ["run", "--output-schema", "no_prompt.json", "--extension", "backend.codex.output_schema={}", "Hi."],
            "--output-schema and --extension backend.codex.output_schema set the same value",
        ),
        (["run", "--request", f"{SECRET}.json"], "--request: the file cannot be read"),
        (["run", "--request", "."], "--request: the file cannot be read"),
        (["run", "--request", "a\0b"], "--request: the file cannot be read"),
        (["run", "--request", "prompt.json", SECRET], "The file of --request has a prompt, too"),
        (["run", "--request", "prompt.json", "-"], "The file of --request has a prompt, too"),
        (["run", "--request", "-", "-"], "--request and the prompt cannot both read standard input"),
        (["run", "--output-schema", f"{SECRET}.json", "Hi."], "--output-schema: the file cannot be read"),
        (["turn", "Hi."], "Specify either --space, once or more, or --target"),
        (["turn", "--space", SECRET, "--target", SECRET, "Hi."], "Specify either --space, once or more, or --target"),
        (["turn", "--space", SECRET, "--target-dir", SECRET, "Hi."], "--target-dir needs --target. Specify both"),
        (["turn", "--space", "", "Hi."], "--space must not be empty"),
        (["turn", "--space", f"{SECRET}\0", "Hi."], "--space must be UTF-8, without NUL"),
        (["turn", "--space", "a", "--harness", SECRET, "Hi."], "--harness must be agent-sdk, codex or pi-sdk"),
        (["turn", "--space", "a", "--model", SECRET, "--model", SECRET, "Hi."], "--model occurs twice"),
        (["turn", "--space", "a", "--format", SECRET, "Hi."], "--format must be jsonl"),
        (["turn", "--space", "a", "--cwd", SECRET, "Hi."], "--cwd: the directory does not exist. Create it first"),
        (["turn", "--space", "a", "--cwd", "", "Hi."], "--cwd must not be empty"),
        (["turn", "--space", "a", "--asp-home", f"{SECRET}\udcff", "Hi."], "--asp-home must be UTF-8, without NUL"),
        (["turn", "--space", "a", "--codex", "", "Hi."], "--codex must not be empty"),
        (["turn", "--space", "a", "--attach", "", "Hi."], "--attach must not be empty"),
        (["turn", "--space", "a", "--env", f"={SECRET}", "Hi."], "--env must be NAME=VALUE or NAME, in UTF-8"),
        (["turn", "--space", "a", "--env", SECRET, "Hi."], "--env: number 1 is not set here"),
        (["turn", "--space", "a", "--env", f"A={SECRET}", "--env", "A=", "Hi."], "--env: number 2 sets a variable"),
        (["turn", "--space", "a", " \n"], "The prompt must be a non-empty text"),
        (["turn", "--space", "a", "Hi.\0"], "the prompt must be UTF-8, without NUL"),
        (["turn", "--space", "a", "--sandbox", SECRET, "Hi."], "The option --sandbox is unknown"),
        (["turn", "--space", "a", "--mask", "", "Hi."], "--mask must not be empty"),
        (["turn", "--space", "a", "--timeout", SECRET, "Hi."], "--timeout must be"),
        (["turn", "--space", "a", "--containment", SECRET, "Hi."], "--containment must be one of"),
        (
            ["turn", "--space", "a", "--env", f"CODEX_HOME={SECRET}", "Hi."],
            "--env: CODEX_HOME is reserved for the conversation",
        ),
        (["turn", "--space", "a", "Hi.", SECRET], "There are too many arguments"),
        (["space"], "ACTION and DIR must be specified"),
        (["space", SECRET, "."], "ACTION must be check or describe"),
        (["space", "check"], "DIR"),
        (["space", "check", ""], "the directory must not be empty"),
        (["space", "check", f"{SECRET}\0"], "the directory must be UTF-8, without NUL"),
        (["space", "check", ".", SECRET], "There are too many arguments"),
        (["space", "describe", ".", "--asp-home", ""], "--asp-home must not be empty"),
        (["replay"], "FILE"),
        (["replay", "--interval", SECRET, "x"], "--interval must be a number of seconds"),
        (["replay", "--exit-status", SECRET, "x"], "--exit-status must be a number from 0 to 255, or the name"),
        (["replay", "--exit-status", "256", "x"], "--exit-status must be a number from 0 to 255"),
        (["replay", "--exit-status", "-1", "x"], "--exit-status must be a number from 0 to 255"),
        (["replay", "--exit-status", "SIGNIFICANT", "x"], "--exit-status must be a number from 0 to 255"),
        (["replay", "--tool-payloads", SECRET, "x"], "--tool-payloads must be metadata or full"),
        (["replay", "-", "-"], "Standard input can be replayed only once"),
        (["doctor", SECRET], "There are too many arguments"),
        (["demo", f"--keep={SECRET}"], "--keep takes no value"),
        (["schema", "--pretty"], "The option --pretty is unknown"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong_on_standard_error_alone(
    attempt: Try, words: list[str], named: str
) -> None:
    done = attempt(*words)
    assert done.status == 2
    assert done.stdout == b""
    assert named in done.complaint
    assert "--help" in done.complaint


@pytest.mark.rule("E5")
@pytest.mark.parametrize(
    ("words", "record", "complaint"),
    [
        (
            ["--sandbox", "x"],
            "backend.codex.exec.sandbox_mode must be one of 'read-only', 'workspace-write', 'danger-full-access'",
            "--sandbox must be one of 'read-only', 'workspace-write', 'danger-full-access'",
        ),
        (
            ["--extension", 'backend.codex.exec.sandbox_mode="x"'],
            "backend.codex.exec.sandbox_mode must be one of 'read-only', 'workspace-write', 'danger-full-access'",
            "backend.codex.exec.sandbox_mode must be one of 'read-only', 'workspace-write', 'danger-full-access'",
        ),
        (
            ["-c", "approval_policy=never"],
            "backend.codex.settings: approval_policy cannot be passed. Use backend.codex.exec.approval_policy",
            "--config: approval_policy cannot be passed. Use --ask-for-approval",
        ),
    ],
)
def test_a_person_reads_options_and_a_program_keys(attempt: Try, words: list[str], record: str, complaint: str) -> None:
    done = attempt("run", *words, "Hi.")
    assert done.completion["error"]["message"] == record
    assert done.complaint == complaint
    shown = attempt("run", "--format", "pretty", *words, "Hi.")
    assert complaint in shown.stdout.decode()
    assert shown.complaint == complaint


@pytest.mark.rule("E5", "C6", "W3", "E1", "Q3")
@rows(
    ("words", "kind", "named"),
    [
        ([" \n"], "invalid_request", "No prompt was passed"),
        (["\udcff"], "invalid_request", "prompt must be"),
        (["--sandbox", SECRET, "Hi."], "invalid_request", "--sandbox must be one of"),
        (["--ask-for-approval", SECRET, "Hi."], "invalid_request", "--ask-for-approval must be one of"),
        (
            ["--ask-for-approval", "untrusted", "Hi."],
            "invalid_request",
            "--ask-for-approval must be 'never' or absent unless --interactive is set",
        ),
        (["--tool-payloads", SECRET, "Hi."], "invalid_request", "--tool-payloads must be one of"),
        (["--model", " ", "Hi."], "invalid_request", "--model must be"),
        (["--model=-x", "Hi."], "invalid_request", "--model must be"),
        (["--resume=--last", "Hi."], "invalid_request", "--resume must be"),
        (["--resume", "last", "--fork", "x", "Hi."], "invalid_request", "--resume and --fork contradict each other"),
        (["--add-dir", SECRET, "Hi."], "invalid_request", "--add-dir: number 1 must be"),
        (["--image", "list.json", "--image", SECRET, "Hi."], "invalid_request", "--image: number 2 must be"),
        (["--working-dir", SECRET, "Hi."], "invalid_request", "--working-dir must be an existing directory"),
        (["--working-dir", "\udcff", "Hi."], "invalid_request", "--working-dir must be"),
        (["--timeout", "-1", "Hi."], "invalid_request", "--timeout must be"),
        (["--timeout", "nan", "Hi."], "invalid_request", "--timeout must be"),
        (["--timeout", "inf", "Hi."], "invalid_request", "--timeout must be"),
        (["--idle-timeout", "-1", "Hi."], "invalid_request", "--idle-timeout must be"),
        (["--containment", SECRET, "Hi."], "invalid_request", "--containment must be one of cgroup, pid_namespace,"),
        (["--tool-timeout=-1", "Hi."], "invalid_request", "--tool-timeout must be"),
        (["--env", f"={SECRET}", "Hi."], "invalid_request", "--env: every name must be"),
        (["--env", "A=\udcff", "Hi."], "invalid_request", "--env: every value must be"),
        (["--mask", "", "Hi."], "invalid_request", "--mask must be"),
        (["--codex", "", "Hi."], "invalid_request", "--codex must be"),
        (["--codex-home", "", "Hi."], "invalid_request", "--codex-home must be"),
        (["--extension", "un.known=1", "Hi."], "unsupported_capability", "'un.known'"),
        (["--extension", "backend.codex.images=1", "Hi."], "invalid_request", "backend.codex.images must be a list"),
        (
            ["--config", f"sandbox_mode={SECRET}", "Hi."],
            "invalid_request",
            "--config: sandbox_mode cannot be passed. Use --sandbox",
        ),
        (
            ["-c", f"notify=['{SECRET}']", "Hi."],
            "invalid_request",
            "--config: notify cannot be passed. Set it in the config",
        ),
        (["-c", f"{SECRET}=1", "Hi."], "invalid_request", "--config: number 1 cannot be passed"),
        (["-c", "'projects'={}", "Hi."], "invalid_request", "--config: the key of number 1 must be names"),
        (["--extension", "agent_api.exec.add_dirs.v1=1", "--add-dir", ".", "Hi."], "usage", ""),
        (["--output-schema", "broken.json", "Hi."], "invalid_request", "--output-schema must be JSON"),
        (["--output-schema", "list.json", "Hi."], "invalid_request", "--output-schema must be"),
        (["--output-schema", "not_utf8.json", "Hi."], "invalid_request", "--output-schema must be JSON"),
        (["--request", "broken.json"], "invalid_request", "the request must be JSON"),
        (["--request", "deep.json"], "invalid_request", "the request must be JSON"),
        (["--request", "list.json"], "invalid_request", "the request must be a JSON object"),
        (["--request", "stranger.json"], "invalid_request", "with only the fields env, extensions, labels"),
        (["--request", "no_prompt.json"], "invalid_request", "No prompt was passed"),
        (["--request", "surrogate.json"], "invalid_request", ""),
        (["--request", "timeout.json"], "invalid_request", "timeout must be"),
        (["--request", "env.json"], "invalid_request", "env: every value must be"),
        (["--request", "env_null.json", "--env", "A=1"], "invalid_request", "env must be"),
        (["--request", "extensions.json", "--model", "m"], "invalid_request", "extensions must be"),
        (["--request", "prompt.json", "--sandbox", SECRET], "invalid_request", "--sandbox must be one of"),
        (["--request", "dirs.json", "--add-dir", "."], "invalid_request", "agent_api.exec.add_dirs.v1 must be"),
        (["--request", "images.json", "--image", "list.json"], "invalid_request", "backend.codex.images must be"),
        (["--request", "twice.json", "--resume", "last"], "invalid_request", "--resume and agent_api.session.fork.v1"),
    ],
)
def test_a_refused_request_gives_its_completion_alone(attempt: Try, words: list[str], kind: str, named: str) -> None:
    done = attempt("run", *words)
    assert done.status == 2
    assert named in done.complaint
    if kind == "usage":
        assert done.stdout == b""
        return
    assert list(done.completion) == ["outcome", "ok", "error"]
    assert (done.completion["outcome"], done.completion["error"]["kind"]) == ("failed", kind)
    if "--" not in named:
        assert done.completion["error"]["message"] == done.complaint
    assert done.records[0]["seq"] == 0


@pytest.mark.rule("E5")
@rows(
    "command",
    [
        ["operations", "--workspace", "work", "--format", "jsonl", "--agent", "codex", "--task", "Hi."],
        ["mailbox", "start", "--workspace", "work", "--mailbox", "m", "--answer", "codex", "Hi."],
        ["turn", "--space", "space:path:bin", "Hi."],
        ["run", "Hi."],
        ["serve"],
    ],
)
@rows(
    ("words", "named"),
    [
        (["--timeout", "-1"], "--timeout must be"),
        (["--idle-timeout", "-1"], "--idle-timeout must be"),
        (["--tool-timeout", "0"], "--tool-timeout must be"),
        (["--env", "="], "--env"),
        (["--containment", SECRET], "--containment must be"),
        (["--containment", "guard", "--containment-max", "process_group"], "--containment-max must be"),
        (["--model", "a" * 1000], "--model must be"),
        (["-c", "model=x"], "--config: model cannot be passed"),
    ],
)
def test_an_error_names_options_whatever_the_command(
    attempt: Try, command: list[str], words: list[str], named: str
) -> None:
    if command[0] == "turn" and words[0] == "--model":
        return
    Path("work").mkdir(exist_ok=True)
    done = attempt(*command, *words)
    assert done.status == 2
    assert done.complaint.startswith(named)


@pytest.mark.rule("E5", "C2")
def test_a_replay_names_its_option(attempt: Try) -> None:
    done = attempt("replay", "--interval", "-1", "list.json")
    assert (done.status, done.completion["error"]["message"]) == (
        2,
        "interval" + done.complaint.removeprefix("--interval"),
    )


@pytest.mark.rule("E5")
def test_a_value_of_an_extension_is_named_by_its_key(attempt: Try) -> None:
    done = attempt("run", "--extension", "agent_api.config.model.v1=5", "Hi.")
    assert done.complaint.startswith("agent_api.config.model.v1 must be")


@pytest.mark.rule("C1", "E5")
@pytest.mark.parametrize("stdin", thinned([b"", b" \n\t", b"before \xff after", b"\xed\xa0\x80"], 2))
@pytest.mark.fault(
    "environment",
    "The prompt on standard input is empty, blank or not UTF-8",
    "The command refuses the request with status 2",
)
def test_a_prompt_on_standard_input_that_is_no_text_is_refused(cli: Cli, stdin: bytes) -> None:
    done = cli.run("run", stdin=stdin)
    assert done.status == 2
    assert done.completion["error"]["kind"] == "invalid_request"
    assert done.complaint.startswith("prompt must be" if stdin.strip() else "No prompt was passed")


@pytest.mark.rule("C1", "E5")
@pytest.mark.fault("environment", "Standard input is not readable", "The command refuses the request with status 2")
def test_standard_input_that_cannot_be_read_is_refused(cli: Cli) -> None:
    with cli.directory.joinpath("write_only").open("wb") as stdin:
        done = cli.finish(cli.start("run", stdin=stdin))
    assert done.status == 2
    message = "The prompt cannot be read: standard input returns an error. Pass the prompt as an argument."
    assert done.completion["error"]["message"] == message


@pytest.mark.rule("C1", "E5")
@pytest.mark.fault("environment", "Standard input is closed", "The command refuses the empty prompt with status 2")
def test_a_closed_standard_input_is_an_empty_prompt(cli: Cli) -> None:
    done = cli.run("-c", 'exec "$@" <&-', "sh", *ADAPTER, "run", program=("/bin/sh",))
    assert done.status == 2
    assert done.completion["error"]["kind"] == "invalid_request"


@pytest.mark.rule("C1", "E5")
def test_without_a_prompt_on_a_terminal_it_is_said_how_to_give_one(cli: Cli) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "rb") as stdin:
        done = cli.finish(cli.start("run", stdin=stdin))
    assert (done.status, done.stdout) == (2, b"")
    assert "Specify it as an argument, or pipe it" in done.complaint
