"""Test the command `turn`: events, text for people, refusals, signals, and a reader that leaves."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from codex_adapter.testing import (
    Hang,
    IgnoreSignals,
    PrintJson,
    ReadPrompt,
    StartDescendant,
    Step,
    WaitFor,
    WriteFacts,
    WriteFile,
    demo_script,
    read_facts,
)
from codex_adapter.testing.thread_lines import (
    THREAD_ID,
    agent_message,
    thread_started,
    turn_completed,
    turn_failed,
    turn_started,
)
from tests.widths import crossed, thinned

from ..protocols.turns.event_rules import check_events
from ..runtime.survivors import Survivors
from ..waiting import SOON, until
from .command import Cli, Done, only_the_workspace, until_listening

pytestmark = pytest.mark.rule("C13")
WITHOUT = """
import sys
sys.modules[{package!r}] = None
from codex_adapter.cli import main
sys.exit(main())
"""
BEGIN: Sequence[Step] = (ReadPrompt(), PrintJson(thread_started(THREAD_ID)), PrintJson(turn_started()))


class Place:
    """A space, an `aspHome`, and the command."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.space = cli.directory / "house"
        self.space.mkdir()
        (self.space / "space.toml").write_text('schema = 1\nid = "house"\nsettings.env.FROM = "space"\n')
        (self.space / "AGENTS.md").write_text("Be brief.\n")
        only_the_workspace(cli)
        self.home = cli.directory.with_name(f"{cli.directory.name}-asp")
        self.cli.env["ASP_HOME"] = str(self.home)

    def words(self, *more: str) -> list[str]:
        """A command line."""
        return ["turn", "--space", "space:path:house", *more]

    def agent(self, *steps: Step) -> None:
        """Have this agent."""
        self.cli.env["CODEX_BINARY"] = self.cli.agent(*steps)

    def run(self, *more: str, stdin: bytes = b"") -> Done:
        """The command from its start to its end."""
        return self.cli.run(*self.words(*more), stdin=stdin)

    def under_way(self, *steps: Step, until_there: str) -> subprocess.Popen[bytes]:
        """The command while its agent is behind a step that makes a file."""
        self.agent(*BEGIN, *steps)
        process = self.cli.start(*self.words("Hi."), bufsize=0)
        until((self.cli.directory / until_there).exists)
        return process


@pytest.fixture
def place(cli: Cli) -> Place:
    return Place(cli)


def kinds(records: list[dict[str, Any]]) -> list[str]:
    """What happened, without what is logged."""
    return [
        record.get("state") or record.get("role") or record["type"] for record in records if record["type"] != "log"
    ]


@pytest.mark.rule("U2", "U4")
def test_a_turn_tells_its_events_as_lines(place: Place) -> None:
    place.agent(*demo_script(path=str(place.cli.directory / "hello.txt")))
    done = place.run("Do it.")
    assert (done.status, done.stderr) == (0, "")
    run = done.records[0]["externalRunId"]
    check_events(done.records, run, run)
    assert kinds(done.records) == [
        *("running", "user"),
        *("tool_call", "tool_result") * 3,
        *("assistant", "complete", "complete"),
    ]
    assert done.records[1]["content"] == "Do it."
    assert done.records[-1]["harnessSessionId"] == THREAD_ID
    assert done.records[-1]["result"]["success"] is True
    assert [path.name for path in place.home.iterdir()] == ["state"]


def test_paths_are_from_here_on_and_variables_reach_the_agent(place: Place) -> None:
    directory = place.cli.directory
    (directory / "work").mkdir()
    (directory / "notes.txt").write_text("Notes.")
    place.agent(ReadPrompt(), WriteFacts(str(directory / "facts")))
    words = ("--cwd", "work", "--attach", "notes.txt", "--env", "A=1", "--env", "B", "--asp-home", "other", "-")
    place.cli.env["B"] = "2"
    place.run(*words, stdin="Ünd\nso on.\n".encode())
    facts = read_facts(directory / "facts")
    assert facts.cwd == str(directory / "work")
    assert [facts.env[name] for name in ("A", "B", "FROM")] == ["1", "2", "space"]
    assert facts.prompt is not None
    assert facts.prompt.startswith("Ünd\nso on.\n")
    assert str(directory / "notes.txt") in facts.prompt
    assert (directory / "other" / "state").is_dir()
    assert not place.home.exists()


def test_a_target_is_one_of_the_file_that_is_here(place: Place) -> None:
    (place.cli.directory / "asp-targets.toml").write_text(
        'schema = 1\n[targets.review]\ncompose = ["space:path:house"]\n'
    )
    place.agent(ReadPrompt(), WriteFacts("facts"))
    place.cli.run("turn", "--target", "review", "Hi.")
    assert read_facts(place.cli.directory / "facts").env["FROM"] == "space"
    done = place.cli.run("turn", "--target", "review", "--target-dir", "house", "Hi.")
    problem = "the target's directory has no asp-targets.toml. Create it, or choose another directory."
    assert (done.status, done.complaint) == (2, problem)


@pytest.mark.rule("C7")
def test_a_person_is_told_of_it_in_safe_text_and_how_to_go_on(place: Place) -> None:
    place.agent(*demo_script(path=str(place.cli.directory / "hello.txt"), text="x"))
    done = place.run("--format", "pretty", "Do it.")
    assert (done.status, done.stderr) == (0, "")
    *told, way = done.stdout.decode().splitlines()
    assert told[:4] == ["> $ ls", "+ $ ls (exit 0)", *told[2:4]]
    assert told[3].startswith("x $ test -e ")
    assert told[-2:] == [f"I wrote {place.cli.directory}/hello.txt.", "+ the turn is complete"]
    assert way.startswith(
        f"# to continue: codex-adapter turn --session {THREAD_ID} --space space:path:{place.space} --asp-home"
    )
    place.agent(*BEGIN, PrintJson(agent_message("item_0", "One.\x1b[2J\nTwo.")), PrintJson(turn_completed()))
    done = place.run("--format", "pretty", "Do it.")
    assert done.stdout.decode().startswith("One.␛[2J\nTwo.\n+ the turn is complete\n# to continue: ")


@pytest.mark.rule("U6")
@pytest.mark.parametrize("form", ["jsonl", "pretty"])
def test_a_turn_that_fails_says_why_on_standard_error(place: Place, form: str) -> None:
    place.agent(*BEGIN, PrintJson(turn_failed("It is hunter2-hunter2.")))
    done = place.run("--format", form, "Do it.")
    assert (done.status, "hunter2" in done.complaint) == (1, False)
    if form == "jsonl":
        assert kinds(done.records)[-2:] == ["error", "complete"]
        assert done.records[-1]["result"]["error"]["message"] == done.complaint
    else:
        assert "x the turn failed\n" in done.stdout.decode()


@pytest.mark.rule("U5", "U6", "U8")
@pytest.mark.parametrize(
    ("words", "status", "code", "told"),
    thinned(
        [
            (
                ["--space", "space:path:nowhere"],
                2,
                "resolve_failed",
                "/nowhere: its directory does not exist. Create it, or change the reference.",
            ),
            (["--space", "house"], 2, "resolve_failed", "house: a reference must begin with 'space:'"),
            (
                ["--model", "no/such"],
                1,
                "model_not_supported",
                "codex does not have this model. Its release lists no models.",
            ),
            (
                ["--session", "0199a213-81c0-7800-8aa1-bbab2a035a54"],
                1,
                "harness_session_not_found",
                "the session does not exist. Begin a new one, without --session.",
            ),
            (["--attach", "a", "--attach", "b"], 1, None, "--attach: number 2 does not exist or cannot be read"),
        ],
        2,
    ),
)
def test_what_is_refused_is_told_in_the_words_of_the_command_line(
    place: Place, words: list[str], status: int, code: str | None, told: str
) -> None:
    place.agent(ReadPrompt(), WriteFile("started"))
    (place.cli.directory / "a").write_text("A.")
    done = place.run(*words, "Do it.")
    assert done.status == status
    assert done.complaint.endswith(told)
    assert kinds(done.records)[-2:] == ["error", "complete"]
    assert done.records[-1]["result"]["error"].get("code") == code
    assert not (place.cli.directory / "started").exists()


def test_without_a_cli_the_turn_fails(place: Place) -> None:
    place.cli.env["CODEX_BINARY"] = "/no/such/codex"
    done = place.run("Do it.")
    assert done.status == 1
    assert done.complaint.startswith(
        "The Codex CLI is not installed or does not work. Run `codex-adapter doctor --agent codex`"
    )


@pytest.mark.parametrize("stdin", thinned([b"", b" \n", b"a\xff", b"a\0b"], 2))
def test_a_prompt_that_is_none_is_refused(place: Place, stdin: bytes) -> None:
    done = place.run(stdin=stdin)
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith("The prompt must be")
    assert not place.home.exists()


def test_without_a_prompt_on_a_terminal_it_is_said_how_to_give_one(place: Place) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "rb") as stdin:
        done = place.cli.finish(place.cli.start(*place.words(), stdin=stdin))
    assert (done.status, done.stdout) == (2, b"")
    assert "Specify it as an argument, or pipe it" in done.complaint


@pytest.mark.parametrize(
    ("package", "words"),
    crossed(
        ["httpx2", "semantic_version", "tomli_w", "yaml"],
        {"turn": ["turn", "--space", "space:path:house", "Hi."], "space": ["space", "check", "house"]},
    ),
)
def test_without_the_packages_of_turns_it_says_what_to_install(place: Place, package: str, words: list[str]) -> None:
    place.agent(ReadPrompt())
    program = (sys.executable, "-c", WITHOUT.format(package=package))
    done = place.cli.run(*words, program=program)
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint.startswith("Packages for turns are missing. Install them: pip install 'httpx2>=")
    assert place.cli.run(words[0], "--help", program=program).status == 0


@pytest.mark.rule("E4", "U2")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.fault(
    "signals", "The command receives a signal during a turn", "It writes no further event and no process survives"
)
def test_a_signal_ends_a_turn_without_another_event(place: Place, number: int, status: int) -> None:
    stubborn: list[Step] = [IgnoreSignals(("SIGTERM", "SIGINT"))] if number == signal.SIGTERM else []
    steps: tuple[Step, ...] = (*stubborn, StartDescendant("pid", session=True), WriteFile("there"), Hang())
    with place.under_way(*steps, until_there="there") as process:
        process.send_signal(number)
        done = place.cli.finish(process)
    assert (done.status, done.stderr) == (status, "")
    assert kinds(done.records) == ["running", "user"]
    assert Survivors(place.cli.directory).now() == []


@pytest.mark.rule("E4")
def test_a_signal_before_there_is_a_prompt_begins_no_turn(place: Place) -> None:
    place.agent(ReadPrompt(), WriteFile("started"))
    with place.cli.start(*place.words(), stdin=subprocess.PIPE) as process:  # it waits for the prompt
        until_listening(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 143
        assert process.stdout is not None
        assert process.stdout.read() == b""
    assert not (place.cli.directory / "started").exists()
    assert not place.home.exists()


@pytest.mark.rule("E2")
def test_a_reader_that_leaves_does_not_end_a_turn(place: Place) -> None:
    go = place.cli.directory / "go"
    steps = (WriteFile("there"), WaitFor(str(go)), PrintJson(agent_message("item_0", "Hi.")), WriteFile("end"))
    with place.under_way(*steps, PrintJson(turn_completed()), until_there="there") as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        go.touch()
        done = place.cli.finish(process)
    assert (done.status, done.stderr) == (0, "")
    assert (place.cli.directory / "end").exists()


@pytest.mark.rule("Z11", "U6")
def test_a_space_that_an_agent_changed_is_refused_by_turn_and_space_until_it_is_accepted(place: Place) -> None:
    change = WriteFile(str(place.space / "AGENTS.md"), "Be bold.\n")
    place.agent(*BEGIN, change, PrintJson(agent_message("item_0", "Made.")), PrintJson(turn_completed()))
    assert place.run("Hi.").status == 0
    refused = place.run("Hi.")
    assert (refused.status, refused.records[-1]["result"]["error"]["code"]) == (2, "resolve_failed")
    assert refused.complaint == (
        f"space:path:{place.space}: agents may write there, and it changed after it was accepted. "
        "Check it, then accept it with --accept-changed-spaces."
    )
    for action in ("check", "describe"):
        looked = place.cli.run("space", action, "house", "--format", "jsonl")
        assert (looked.status, looked.records[0]["error"]["message"]) == (
            1,
            refused.records[-1]["result"]["error"]["message"],
        )
        assert place.cli.run("space", action, "house", "--accept-changed-spaces").status == 0
    assert place.run("Hi.").status == 2
    assert place.run("--accept-changed-spaces", "Hi.").status == 0
    assert place.run("Hi.").status == 0
