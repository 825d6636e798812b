"""Test which runs are refused, and which failures appear in a completion."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..rows import rows
from .agents import HANGING
from .messages import CANCELLED, run
from .supervisor import Supervisor
from .workshop import Workshop

pytestmark = pytest.mark.rule("J8")


def failed(kind: str) -> dict[str, Any]:
    message = f"codex backend error: {kind} (details redacted when unsafe)"
    error = {"kind": "backend", "message": message, "failure": kind}
    return {"outcome": "failed", "ok": False, "error": error}


@pytest.mark.rule("J5")
@rows(
    ("kind", "params"),
    [
        ("invalid_request", run(prompt="")),
        ("invalid_request", run(prompt=" \n\t")),
        ("unsupported_capability", run(extensions={"backend.codex.no.such": 1})),
        ("unsupported_capability", run(extensions={"": None})),
        ("invalid_request", run(extensions={"backend.codex.exec.sandbox_mode": "none"})),
        ("invalid_request", run(extensions={"backend.codex.exec.approval_policy": "untrusted"})),
        ("invalid_request", run(working_dir="/no/such/directory")),
        ("invalid_request", run(working_dir="/dev/null")),
        ("invalid_request", run(timeout=-1)),
        ("invalid_request", run(env={"": "x"})),
        ("invalid_request", run(env={"A=B": "x"})),
        ("invalid_request", run(env={"A": "\0"})),
        ("unknown_backend", {**run(prompt=""), "agentKind": "other"}),
        ("invalid_agent_kind", {**run(), "agentKind": "Codex"}),
        ("invalid_agent_kind", {**run(), "agentKind": ""}),
        ("invalid_agent_kind", {**run(), "agentKind": "codex "}),
    ],
)
def test_a_request_that_fails_its_checks_is_refused(shared: Supervisor, kind: str, params: dict[str, Any]) -> None:
    refused = shared.refusal("run/start", {"runId": "refused", **params})
    assert (refused.code, refused.data["kind"]) == (-32010, kind)
    assert refused.message
    assert shared.call("run/list") == {"runs": []}


@pytest.mark.rule("J5")
@rows(
    "request_",
    [
        {},
        {"prompt": None},
        {"prompt": 1},
        {"prompt": "x", "more": 1},
        {"prompt": "x", "timeout": "1"},
        {"prompt": "x", "env": []},
        {"prompt": "x", "env": {"A": 1}},
        {"prompt": "x", "extensions": 1},
        {"prompt": "x", "working_dir": 1},
    ],
    ids=str,
)
def test_a_request_of_another_shape_is_refused(shared: Supervisor, request_: dict[str, Any]) -> None:
    refused = shared.refusal("run/start", agentKind="codex", request=request_)
    assert refused.code == -32602 or (refused.code, refused.data["kind"]) == (-32010, "invalid_request")
    named = next(iter(request_.keys() - {"prompt"}), "prompt")
    assert named in refused.message or named == "more"


def test_a_request_is_checked_before_it_waits(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    refused = daemon.refusal("run/start", run("r", prompt=""))
    assert (refused.code, refused.data["kind"]) == (-32010, "invalid_request")
    daemon.start("r")
    assert daemon.live("r")["waitsFor"] == "slot"


@pytest.mark.rule("J5")
@pytest.mark.fault("daemon", "The agent's binary does not exist or is not executable", "The daemon refuses the run")
@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda path: path.chmod(0o644), lambda path: path.write_text("#!/no\n")]
)
def test_an_agent_that_cannot_be_started_is_a_refusal(workshop: Workshop, spoil: Callable[[Path], None]) -> None:
    daemon = workshop.daemon()
    spoil(Path(workshop.binary))
    refused = daemon.refusal("run/start", run("r"))
    assert (refused.code, refused.data["kind"]) == (-32010, "backend")
    assert refused.message == failed("spawn")["error"]["message"]
    assert refused.data["advice"]
    assert refused.data["failure"] == "spawn"
    assert workshop.binary not in str(refused.data)
    assert daemon.call("run/list") == {"runs": []}


@pytest.mark.fault("daemon", "The agent's binary is removed while its run is queued", "The completion reports this")
def test_an_agent_that_cannot_be_started_from_the_queue_is_its_completion(workshop: Workshop) -> None:
    daemon = workshop.daemon("--max-runs", "1")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.event("live")
    daemon.start("waiting")
    Path(workshop.binary).unlink()
    daemon.call("run/cancel", runId="live")
    completion = daemon.completion("waiting")
    assert completion.pop("hint") == completion["error"].pop("hint") == "cli_not_found"
    advice = completion.pop("advice")
    assert advice == completion["error"].pop("advice")
    assert workshop.binary not in advice
    assert completion == failed("spawn")
    assert daemon.call("run/list") == {"runs": []}


@pytest.mark.fault("daemon", "A working directory is removed while its run is queued", "The completion reports this")
def test_a_directory_that_is_gone_when_the_turn_comes_is_told_in_the_completion(workshop: Workshop) -> None:
    daemon, place = workshop.daemon("--max-runs", "1"), workshop.place("work")
    daemon.start("live", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting", working_dir=str(place))
    place.rmdir()
    daemon.call("run/cancel", runId="live")
    assert daemon.completion("waiting")["outcome"] == "failed"


@pytest.mark.rule("J5")
@pytest.mark.fault(
    "daemon", "No descriptors are left for another run", "The daemon refuses it; the other runs continue"
)
def test_a_run_for_which_nothing_is_left_is_refused(workshop: Workshop) -> None:
    daemon = workshop.daemon(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
    env = workshop.agent("hanging", *HANGING)
    ids = {f"r{number}": daemon.request("run/start", run(f"r{number}", env=env)) for number in range(20)}
    answers = {name: daemon.answer(id_) for name, id_ in ids.items()}
    accepted = [name for name, answer in answers.items() if "result" in answer]
    assert 0 < len(accepted) < 20
    refused = next(answer["error"] for answer in answers.values() if "error" in answer)
    assert (refused["code"], refused["data"]["kind"], refused["data"]["failure"]) == (-32010, "backend", "spawn")
    assert [live["runId"] for live in daemon.call("run/list")["runs"]] == accepted
    for name in accepted:
        daemon.call("run/cancel", runId=name)
        assert daemon.completion(name) == CANCELLED
    daemon.start("later")
    assert daemon.completion("later")["outcome"] == "completed"
