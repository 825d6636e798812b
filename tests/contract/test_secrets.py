"""Test that `run` never shows the words that were planted in everything a run touches."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from codex_adapter.testing import (
    Die,
    Exit,
    Hang,
    PrintBytes,
    PrintJson,
    PrintText,
    ReadPrompt,
    Step,
    WaitFor,
    WriteFacts,
    WriteStderr,
    read_facts,
)
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started
from tests.widths import crossed

from ..cli.command import NEW_INTERPRETER, Cli
from ..cli.slow_clock import SLOW_CLOCK, let_time_pass
from ..core.secret_forms import FORMS
from ..waiting import SOON
from .leaks import Canary, leaks
from .plants import PLANTS, stdout

FULL: Final = ("--tool-payloads", "full")
METADATA: Final = ("--tool-payloads", "metadata")


class Scene:
    """An agent that prints every plant, and a request with a word in each of its places."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        places = ("prompt", "variable", "inherited variable", "binary", "home", "directory", "other directory", "image")
        self.asked = {name: Canary(name) for name in (*places, "schema", "schema file")}
        self.printed = {name: Canary(name) for name in PLANTS}
        self.stderr, self.unfinished = Canary("standard error"), Canary("the line without an end")

    @property
    def agent(self) -> tuple[Step, ...]:
        """What the agent does until the test lets it end."""
        printed = stdout({name: canary.word for name, canary in self.printed.items()})
        errors = WriteStderr(f"error: {self.stderr.word}\n", size=200_000)
        unfinished = PrintText(f'{{"type":"{self.unfinished.word}', end="")
        return ReadPrompt(), errors, PrintBytes(printed), PrintJson(turn_completed()), unfinished

    def run(
        self, agent: tuple[Step, ...], *words: str, mode: int = 0o755, version: str = "0.163.0", limited: bool = False
    ) -> tuple[int, bytes]:
        """The status, and all that was written, the streams one after the other.

        A run that is `limited` reaches its time limit when the message of the agent was shown.
        """
        place, word = self.cli.directory, {name: canary.word for name, canary in self.asked.items()}
        for name in ("directory", "other directory", "home"):
            (place / word[name]).mkdir()
        (place / word["directory"] / f"{word['image']}.png").touch()
        (place / word["schema file"]).write_text(json.dumps({"title": word["schema"]}))
        binary = Path(self.cli.agent(*agent, version=version)).rename(place / word["binary"])
        binary.chmod(mode)
        self.cli.env["INHERITED"] = word["inherited variable"]
        options = {
            "--codex": str(binary),
            "--codex-home": word["home"],
            "--working-dir": word["directory"],
            "--add-dir": f"../{word['other directory']}",
            "--image": f"{word['image']}.png",
            "--env": f"A={word['variable']}",
            "--output-schema": word["schema file"],
        }
        given = [text for option in options.items() for text in option]
        asked = ("run", *words, *given, f"Look at {word['prompt']}.")
        if not limited:
            done = self.cli.run(*asked)
            return done.status, done.stdout + b"\n" + done.stderr.encode()
        with self.cli.start(*asked, program=SLOW_CLOCK, bufsize=0) as process:
            assert process.stdout is not None
            written = b""
            while self.printed["a message"].word.encode() not in written:  # only then may the limit pass
                block = process.stdout.read(65_536)
                assert block
                written += block
            let_time_pass(process)
            done = self.cli.finish(process)
        return done.status, written + done.stdout + b"\n" + done.stderr.encode()


@pytest.fixture
def scene(cli: Cli) -> Scene:
    return Scene(cli)


class Ending(NamedTuple):
    """A way for a run to end: what the agent does last, what is asked besides, and the exit status."""

    status: int
    steps: tuple[Step, ...] = ()
    words: tuple[str, ...] = ()
    agent: dict[str, Any] = {}
    prints: bool = True


ENDINGS: Final = {
    "exit 0": Ending(0),
    "exit 3": Ending(3, (Exit(3),)),
    "killed": Ending(137, (Die("SIGKILL"),)),
    "timeout": Ending(124, (Hang(),), ("--timeout", "5")),
    "another session": Ending(125, (Hang(),), ("--resume", "0199a213-81c0-7800-8aa1-000000000000"), prints=False),
    "not executable": Ending(126, agent={"mode": 0o644}, prints=False),
    "refused": Ending(2, words=("--timeout", "-1"), prints=False),
    "too old": Ending(125, words=("--fork", "0199a213"), agent={"version": "0.77.0"}, prints=False),
}


@pytest.mark.rule("X1", "X2", "X3", "M7", "T4", "S7", "Q3", "C7")
@pytest.mark.parametrize(("name", "form"), crossed(list(ENDINGS), ["jsonl", "pretty"]))
def test_what_must_not_be_shown_is_not_shown(scene: Scene, name: str, form: str) -> None:
    ending = ENDINGS[name]
    words = ("--format", form, *METADATA, *ending.words)
    status, written = scene.run((*scene.agent, *ending.steps), *words, limited=name == "timeout", **ending.agent)
    assert status == ending.status, written
    hidden = [canary for plant, canary in scene.printed.items() if PLANTS[plant][0] != "always"]
    assert leaks(written, [*scene.asked.values(), *hidden, scene.stderr, scene.unfinished]) == []
    assert bool(leaks(written, [scene.printed["a message"]])) is ending.prints


@pytest.mark.rule("M7")
@pytest.mark.parametrize("words", [METADATA, FULL])
def test_what_may_be_shown_is_shown(scene: Scene, words: tuple[str, ...]) -> None:
    """So that what is not shown is not missing by chance."""
    _, written = scene.run(scene.agent, *words)
    seen = {leak.partition(":")[0] for leak in leaks(written, scene.printed.values())}
    shown = ("always",) if words == METADATA else ("always", "payload")
    assert seen == {name for name, (who, _) in PLANTS.items() if who in shown}


@pytest.mark.rule("X5", "C6")
@pytest.mark.parametrize(("form", "status"), crossed(["jsonl", "pretty"], [0, 3]))
def test_secrets_of_the_environment_are_masked_wherever_they_stand(scene: Scene, form: str, status: int) -> None:
    inherited, given, named = (Canary(name) for name in ("inherited", "given", "named"))
    scene.cli.env["SOME_API_KEY"] = inherited.word
    words = ("--env", f"APP_PASSWORD={given.word}", "--env", f"INNOCENT={named.word}", "--mask", "INNOCENT")
    printed = b"".join(stdout(dict.fromkeys(PLANTS, canary.word)) for canary in (inherited, given, named))
    agent = (ReadPrompt(), PrintBytes(printed), PrintJson(turn_completed()), Exit(status))
    found, written = scene.run(agent, *words, *FULL, "--format", form)
    assert found == status
    assert leaks(written, [inherited, given, named]) == []
    assert written.count(b"***") > 40


@pytest.mark.rule("X5")
@pytest.mark.parametrize("ensure_ascii", [False, True])
def test_a_secret_is_masked_as_it_stands_in_json_too(scene: Scene, ensure_ascii: bool) -> None:
    canaries = [Canary(name) for name in ("before", "between", "after")]
    secret = '"'.join(f"{canary.word}\\\n\té/" for canary in canaries)
    raw = {name for name in PLANTS if isinstance(PLANTS[name][1](""), bytes)}
    lines = stdout(dict.fromkeys(PLANTS.keys() - raw, secret), ensure_ascii=ensure_ascii)
    _, written = scene.run((ReadPrompt(), PrintBytes(lines)), "--env", f"APP_TOKEN={secret}", *FULL)
    assert leaks(written, canaries) == []
    assert written.count(b"***") > 20


@pytest.mark.rule("X5", "X8")
@pytest.mark.parametrize("form", ["jsonl", "pretty"])
def test_secrets_are_masked_in_each_form_wherever_they_stand(scene: Scene, form: str) -> None:
    canary = Canary("encoded")
    places = [place for place in PLANTS if place != "too deep nesting"]  # megabytes of it
    lines = [stdout(dict.fromkeys(places, encode(canary.word))) for encode in FORMS.values()]
    end = (PrintJson(agent_message("item_9", "{}")), PrintJson(turn_completed()), WriteStderr(canary.word))
    agent = (ReadPrompt(), PrintBytes(b"".join(lines)), *end)
    status, written = scene.run(agent, "--env", f"APP_TOKEN={canary.word}", *FULL, "--format", form)
    assert status == 0
    assert leaks(written, [canary]) == []
    assert written.count(b"***") > 10 * len(FORMS)


@pytest.mark.rule("X6", "C7")
def test_a_value_that_is_no_secret_is_told_by_its_name_and_shown(cli: Cli) -> None:
    message = agent_message("item_0", "the password is changeme, for bob")
    agent = cli.agent(ReadPrompt(), *map(PrintJson, (turn_started(), message, turn_completed())))
    words = ("--env", "WHO=bob", "--env", "OTHER=changeme", "--env", "API_TOKEN=1")
    done = cli.run("run", "--codex", agent, *words, "--mask", "WHO", "--mask", "OTHER", "--mask", "sesame open", "x")
    assert done.status == 0
    assert done.records[-3]["text"] == "the password is changeme, for bob"
    assert sorted(line.partition("value of ")[2] for line in done.stderr.splitlines()) == [
        "OTHER is not masked: it is a common word",
        "WHO is not masked: it is shorter than 8 characters",
        "variable 3 in mask is not masked: it is not set. Pass the name of a variable, not its value",
    ]
    assert "changeme" not in done.stderr
    assert "sesame" not in done.stderr, "a value that was given for a name by mistake"


@pytest.mark.rule("X1", "C7")
@pytest.mark.fault(
    "environment", "Python shows all warnings", "Stderr contains no data of the run and no warning of the adapter"
)
@pytest.mark.parametrize("warnings", ["error", "always"])
def test_no_warning_tells_of_the_run(scene: Scene, warnings: str) -> None:
    """Warnings of what was left open quote it, and those that are errors come with a traceback."""
    scene.cli.env |= {"PYTHONWARNINGS": warnings, "PYTHONDEVMODE": "1", "PYTHONFAULTHANDLER": "1"}
    status, written = scene.run(scene.agent, *METADATA)
    assert status == 0
    hidden = [canary for plant, canary in scene.printed.items() if PLANTS[plant][0] != "always"]
    assert leaks(written, [*scene.asked.values(), *hidden, scene.stderr, scene.unfinished]) == []
    assert b"Warning" not in written
    assert b"Traceback" not in written


@pytest.mark.rule("S3", "X1")
def test_the_prompt_is_in_no_argument_no_environment_and_no_file_and_no_variable_is_in_an_argument(cli: Cli) -> None:
    canary, variable, temporary = Canary("prompt"), Canary("variable"), cli.directory / "temporary"
    temporary.mkdir()
    cli.env |= {"TMPDIR": str(temporary), "APP_TOKEN": variable.word}
    facts = cli.directory / "facts"
    turn = (PrintJson(turn_started()), PrintJson(agent_message("item_0", "{}")), PrintJson(turn_completed()))
    agent = cli.agent(ReadPrompt(), WriteFacts(str(facts)), PrintJson(thread_started()), WaitFor("go"), *turn)
    schema = 'backend.codex.output_schema={"type":"object"}'
    with cli.start("run", "--codex", agent, "--extension", schema, "-", program=NEW_INTERPRETER) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"Look at {canary.word}.".encode())
        process.stdin.close()
        process.stdin = None
        process.stdout.readline()
        processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
        seen = {path: _read(path, "cmdline", "environ") for path in processes}
        arguments = [_read(path, "cmdline") for path in processes]
        files = [path for path in temporary.rglob("*") if path.is_file()]
        assert {path.name for path in files} > {"output-schema.json"}
        assert leaks(b"\n".join(path.read_bytes() for path in files), [canary]) == []
        (cli.directory / "go").touch()
        assert process.wait(SOON) == 0
    assert read_facts(facts).prompt == f"Look at {canary.word}."
    # Known by its arguments: in a namespace of its own it has another pid than outside.
    assert any(f"{agent}\0--ask-for-approval".encode() in text for text in seen.values())
    assert b"codex_adapter" in seen[Path(f"/proc/{process.pid}")]
    assert [path for path, text in seen.items() if leaks(text, [canary])] == []
    assert leaks(b"\n".join(arguments), [canary, variable]) == []
    assert list(temporary.iterdir()) == []


def _read(process: Path, *names: str) -> bytes:
    found = b""
    for name in names:
        with suppress(OSError):  # the command's environment can be read by nobody but root
            found += (process / name).read_bytes() + b"\0"
    return found
