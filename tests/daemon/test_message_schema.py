"""Test that every line of the daemon matches the message schema."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ..cli.command import ADAPTER
from .agents import BRIEF, HANGING
from .messages import run
from .workshop import Workshop

pytestmark = pytest.mark.rule("C5", "J3", "J4")


BAD = (b"{", b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"run/list"},1]', b'{"jsonrpc":"2.0","id":2,"method":"no/such"}')


def fits(name: str, schema: dict[str, Any], line: bytes) -> bool:
    return Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"}).is_valid(json.loads(line))


def test_each_line_is_one_of_the_messages(workshop: Workshop) -> None:
    schema = json.loads(subprocess.run([*ADAPTER, "schema"], check=True, capture_output=True).stdout)
    daemon = workshop.daemon("--max-runs", "1", "--journal", str(workshop.directory / "journal"))
    daemon.start("r", env=workshop.agent("brief", *BRIEF), credit=100)
    daemon.completion("r")
    daemon.call("run/events", runId="r", fromSeq=1)
    daemon.start("hanging", env=workshop.agent("hanging", *HANGING))
    daemon.start("waiting")
    daemon.call("run/list")
    daemon.say([{"jsonrpc": "2.0", "id": "b", "method": "run/list"}, {"jsonrpc": "2.0", "method": "run/list"}])
    daemon.refusal("run/start", run(prompt=""))
    daemon.send(*BAD)
    daemon.until(lambda it: it.get("method") == "run/event" and it["params"]["runId"] == "hanging")
    page = daemon.call("run/events", runId="hanging")
    assert "completion" not in page
    assert fits("EventsResult", schema, json.dumps(page).encode())
    daemon.call("run/credit", runId="hanging", events=1)
    daemon.call("run/detach", runId="waiting")
    daemon.call("run/cancel", runId="hanging", kill=True)
    daemon.completion("waiting")
    daemon.call("shutdown", mode="drain")
    for line in daemon.log:
        if line.data not in BAD:
            assert fits("FromSupervisor" if line.sent else "ToSupervisor", schema, line.data), line.data
    assert not fits("FromSupervisor", schema, BAD[1])
    assert not fits("FromSupervisor", schema, BAD[3])
