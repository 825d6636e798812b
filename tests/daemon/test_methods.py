"""Test the parameters and results of each method."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from codex_adapter.testing import PrintJson, ReadPrompt, WriteFacts, read_facts
from codex_adapter.testing.thread_lines import turn_completed
from tests.widths import thinned

from ..cli.command import Cli
from ..waiting import SOON
from .agents import BRIEF, HANGING, HELD, messages
from .messages import CANCELLED, run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J3")

RULES = Path(__file__).parents[2] / "specs" / "request.md"
LEVELS = ("cgroup", "pid_namespace", "guard", "process_group")
CAPABILITIES = {
    "agent_api.run",
    "agent_api.events",
    "agent_api.events.live",
    "agent_api.control.cancel.v1",
    "agent_api.tools.structured.v1",
    "agent_api.session.handle.v1",
    "backend.codex.exec_stream",
}


def test_initialize_tells_what_there_is(workshop: Workshop) -> None:
    daemon = workshop.daemon(initialize=False)
    told = daemon.call("initialize", protocolVersion="1.0", clientInfo={"name": "me", "any": [1, {"thing": None}]})
    assert list(told) == [
        "protocolVersion", "serverInfo", "capabilities", "limits", "containment", "journal"
    ]  # fmt: skip
    assert told["protocolVersion"] == "1.0"
    assert told["serverInfo"] == {"name": "codex-adapter", "version": version("codex-adapter")}
    keys = re.findall(r"^\| `([a-z_.0-9]+)` \|", RULES.read_text(), re.MULTILINE)
    assert set(told["capabilities"]) == {"codex"}
    assert sorted(told["capabilities"]["codex"]) == sorted([*keys, *CAPABILITIES])
    limits = {"maxRuns": 32, "queue": True, "maxMessageBytes": 16 * 1024 * 1024, "maxBatch": 100}
    limits["maxTextBytes"] = 64 * 1024
    assert told["limits"] == limits
    assert told["containment"] in LEVELS
    assert told["journal"] is False


def test_initialize_takes_members_that_nobody_knows(workshop: Workshop) -> None:
    daemon = workshop.daemon(initialize=False)
    assert daemon.call("initialize", protocolVersion="1.0", capabilities={}, trace="off")["protocolVersion"] == "1.0"


@pytest.mark.rule("C9")
def test_initialize_tells_what_the_options_say(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "3", "--no-queue", initialize=False)
    limits = daemon.initialize()["limits"]
    assert (limits["maxRuns"], limits["queue"]) == (3, False)


@pytest.mark.rule("N3")
def test_a_level_that_is_not_to_be_had_is_null(workshop: Workshop) -> None:
    best = workshop.daemon(initialize=False).initialize()["containment"]
    for level in LEVELS:
        told = workshop.daemon("--containment", level, initialize=False).initialize()["containment"]
        assert told == (best if LEVELS.index(best) <= LEVELS.index(level) else None)


def test_a_run_has_the_id_that_it_was_given(shared: Supervisor) -> None:
    for run_id in ("a", "Z", "0", "x" * 128, "a.b_c-d", "0..", "9-"):
        assert shared.start(run_id) == run_id
        assert shared.completion(run_id)["outcome"] == "completed"


def test_the_daemon_makes_ids_that_it_never_used(shared: Supervisor) -> None:
    made = [shared.start() for _ in range(5)]
    for run_id in made:
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", run_id)
        shared.completion(run_id)
    assert len(set(made)) == 5


def test_the_daemon_makes_no_id_that_somebody_gave_before(workshop: Workshop) -> None:
    made = workshop.daemon()
    first = made.start()
    made.completion(first)
    # Whatever it counts or draws: what it would make is taken already.
    daemon = workshop.daemon()
    daemon.start(first)
    daemon.completion(first)
    second = daemon.start()
    daemon.completion(second)
    assert second != first


def test_an_id_that_a_live_run_has_is_refused_and_is_free_afterwards(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting")
    for run_id in ("live", "waiting"):
        refused = daemon.refusal("run/start", run(run_id))
        assert refused.code == -32602
        assert "runId" in refused.message
    daemon.call("run/cancel", runId="live")
    daemon.completion("live")
    assert daemon.completion("waiting")["outcome"] == "completed"
    daemon.start("live")
    daemon.start("waiting")


@pytest.mark.parametrize("method", ["run/cancel", "run/detach", "run/credit"])
def test_a_run_that_is_not_live_is_not_known(shared: Supervisor, method: str) -> None:
    over = shared.start()
    shared.completion(over)
    more = {"events": 1} if method == "run/credit" else {}
    for run_id in (over, "never"):
        assert shared.call(method, {"runId": run_id, **more}) == {"known": False}


@pytest.mark.rule("D3")
def test_a_detached_run_goes_on_unheard_to_its_completion(workshop: Workshop) -> None:
    daemon, place = workshop.daemon(), workshop.place("work")
    env = workshop.agent("held", *HELD[:3], *messages(20)[2:], PrintJson(turn_completed()))
    daemon.start("r", env=env, working_dir=str(place))
    daemon.event("r")
    assert daemon.live("r")["detached"] is False
    assert daemon.call("run/detach", runId="r") == {}
    assert daemon.call("run/detach", runId="r") == {}
    assert daemon.live("r")["detached"] is True
    heard = len(daemon.events("r"))
    (place / "go").touch()
    assert daemon.completion("r")["final_text"] == "Message 19."
    assert len(daemon.events("r")) == heard


@pytest.mark.rule("D3")
def test_a_run_may_be_detached_while_it_waits(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting", env=workshop.agent("brief", *BRIEF))
    assert daemon.call("run/detach", runId="waiting") == {}
    daemon.call("run/cancel", runId="live")
    assert daemon.completion("waiting")["turn"] == "completed"
    assert daemon.events("waiting") == []


def test_a_detached_run_can_be_cancelled(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    daemon.start("r", env=workshop.agent("hanging", *HANGING))
    daemon.call("run/detach", runId="r")
    assert daemon.call("run/cancel", runId="r") == {}
    assert daemon.completion("r") == CANCELLED


@pytest.mark.rule("C9")
def test_the_options_configure_all_runs_and_a_requests_own_fields_win(workshop: Workshop) -> None:
    home = workshop.place("home")
    words = ["--model", "m1", "--env", "ONE=1", "--env", "TWO=2", "--codex-home", str(home)]
    daemon = workshop.daemon(*words)
    env = workshop.agent("facts", ReadPrompt(), WriteFacts("facts"))
    own = {"agent_api.config.model.v1": "m2"}
    for name in ("plain", "own"):
        place = str(workshop.place(name))
        more: dict[str, Any] = {"env": {**env, "ONE": "own"}, "extensions": own} if name == "own" else {"env": env}
        daemon.start(name, working_dir=place, **more)
        daemon.completion(name)
    plain, own_facts = (read_facts(workshop.directory / name / "facts") for name in ("plain", "own"))
    assert (plain.env["ONE"], plain.env["TWO"], plain.env["CODEX_HOME"]) == ("1", "2", str(home))
    assert (own_facts.env["ONE"], own_facts.env["TWO"]) == ("own", "2")
    assert "m1" in plain.argv
    assert "m2" in own_facts.argv
    assert "m1" not in own_facts.argv
    assert plain.prompt == "Hi."


@pytest.mark.rule("C9", "K1")
def test_a_time_limit_of_the_options_holds_unless_a_request_has_its_own(workshop: Workshop) -> None:
    daemon, place = workshop.daemon("--timeout", "0.3"), workshop.place("work")
    daemon.start("limited", env=workshop.agent("hanging", *HANGING))
    daemon.start("own", env=workshop.agent("held", *HELD), working_dir=str(place), timeout=1000)
    assert daemon.completion("limited")["error"]["message"] == (
        "codex backend error: timeout (details redacted when unsafe)"
    )
    assert daemon.live("own")["runId"] == "own"
    (place / "go").touch()
    assert daemon.completion("own")["turn"] == "completed"


@pytest.mark.rule("C9", "E5")
@pytest.mark.parametrize(
    "words",
    thinned(
        [
            ["--max-runs", "0"],
            ["--max-runs", "-1"],
            ["--max-runs", "many"],
            ["--on-eof", "wait"],
            ["--on-eof"],
            ["--containment", "none"],
            ["--no-such-option"],
            ["a prompt"],
            ["--timeout", "soon"],
        ],
        4,
    ),
)
def test_a_command_line_that_is_none_is_a_usage_error(tmp_path: Path, words: list[str]) -> None:
    done = Cli(tmp_path).run("serve", *words)
    assert (done.status, done.stdout) == (2, b"")
    assert done.complaint


@pytest.mark.rule("J4", "W1", "W2")
def test_what_is_told_of_a_run_is_letter_for_letter_what_the_command_prints(workshop: Workshop) -> None:
    env = workshop.agent("brief", *BRIEF)
    cli = Cli(workshop.directory)
    cli.env |= workshop.env
    words = ["run", "--format", "jsonl", "--codex", workshop.binary, "--env", f"AGENT={env['AGENT']}", "Hi."]
    with cli.start(*words) as process:
        stdout, _ = process.communicate(timeout=SOON)
    daemon = workshop.daemon()
    daemon.start("r", env=env)
    daemon.completion("r")
    told = [line.data for line in daemon.log if not line.sent and b'"method":"run/' in line.data]
    *events, completion = stdout.split(b"\n")[:-1]
    assert len(events) >= 5
    for seq, (record, line) in enumerate(zip([*events, completion], told, strict=True)):
        name = b"event" if seq < len(events) else b"completion"
        method = b"run/event" if seq < len(events) else b"run/completed"
        assert json.loads(line) == {
            "jsonrpc": "2.0",
            "method": method.decode(),
            "params": {"runId": "r", "seq": seq, name.decode(): json.loads(record)},
        }
        assert b'"%s":%s}' % (name, record) in line


@pytest.mark.rule("J4")
def test_runs_side_by_side_are_told_of_each_by_itself(workshop: Workshop) -> None:
    daemon = workshop.daemon()
    env = workshop.agent("brief", *BRIEF)
    ids = [daemon.start(f"r{number}", env=env) for number in range(8)]
    for run_id in ids:
        assert daemon.completion(run_id)["turn"] == "completed"
        assert [event["seq"] for event in daemon.events(run_id)] == list(range(len(daemon.events(run_id))))
        assert len(daemon.events(run_id)) >= 5
