"""Run a control plane in another process with turns over `serve`, and check each conversation."""

from __future__ import annotations

import json
from typing import Any

from codex_adapter.testing import PrintJson, ReadPrompt, Step
from codex_adapter.testing.thread_lines import agent_message, thread_started, turn_completed, turn_started

from ...cli.command import write_confinement
from ...daemon.supervisor import Supervisor
from ...daemon.workshop import Workshop
from .event_rules import check_events, check_response

__all__ = ["BEGUN", "GOOD", "ControlPlane"]

BEGUN: tuple[Step, ...] = (ReadPrompt(), PrintJson(thread_started()), PrintJson(turn_started()))
GOOD: tuple[Step, ...] = (*BEGUN, PrintJson(agent_message("item_0", "Done.")), PrintJson(turn_completed()))

CLI = """#!/bin/sh
case "$1" in
--version) echo codex-cli 0.163.0;;
debug) echo '{models}';;
*) exec "${{AGENT:-{agent}}}" "$@";;
esac
"""
MODELS = {"models": [{"slug": "large"}, {"slug": "small"}]}


class ControlPlane:
    """A daemon of a workshop, an `aspHome` with a space in it, and turns."""

    def __init__(self, workshop: Workshop, *options: str, initialize: bool = True) -> None:
        self.workshop = workshop
        self.home = workshop.place("asp")
        self.cwd = workshop.place("work")
        write_confinement(workshop.place(".codex"))
        space = self.home / "registry" / "one" / "dev"
        (space / "skills" / "greeting").mkdir(parents=True)
        (space / "skills" / "greeting" / "SKILL.md").write_text("---\ndescription: How one greets.\n---\nSay ahoy.\n")
        (space / "space.toml").write_text('schema = 1\nid = "one"\n')
        default = workshop.agent("good", *GOOD)["AGENT"]
        workshop.program("codex", CLI.format(models=json.dumps(MODELS), agent=default))
        self.daemon: Supervisor = workshop.daemon(*options, initialize=initialize)
        self._asked: dict[str, dict[str, Any]] = {}

    def turn(self, run: str = "run-1", session: str = "conversation", **changes: Any) -> dict[str, Any]:
        """The params of a turn; without those that are None."""
        fields = {
            "externalSessionId": session,
            "externalRunId": run,
            "aspHome": str(self.home),
            "spec": {"spaces": ["space:one"]},
            "harness": "codex",
            "cwd": str(self.cwd),
            "prompt": "Do it.",
        }
        return {name: value for name, value in {**fields, **changes}.items() if value is not None}

    def begin(self, run: str = "run-1", session: str = "conversation", **changes: Any) -> str:
        """Ask for a turn, and give the request's id."""
        asked = self.turn(run, session, **changes)
        id_ = self.daemon.request("turns/run", asked)
        self._asked[id_] = asked
        return id_

    def end(self, id_: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The response and the events of a turn that was begun, which keep the rules. Raises `Refused`."""
        response: dict[str, Any] = self.daemon.result(id_)
        asked = self._asked[id_]
        session, run = asked["externalSessionId"], asked["externalRunId"]
        told = self.daemon.told
        before = told[: next(number for number, message in enumerate(told) if message.get("id") == id_)]
        events = self.events(run)
        assert events == self.events(run, before), "an event behind the answer"
        check_events(events, session, run, prompt=asked["prompt"], key=asked.get("harnessSessionId"))
        check_response(response, events)
        return response, events

    def events(self, run: str, told: list[Any] | None = None) -> list[dict[str, Any]]:
        """The events of a turn that have come."""
        came = [message for message in self.daemon.told if isinstance(message, dict)] if told is None else told
        params = [message["params"] for message in came if message.get("method") == "turns/event"]
        assert all(it.keys() == {"externalRunId", "event"} for it in params)
        return [it["event"] for it in params if it["externalRunId"] == run]

    def until_event(self, run: str, type_: str) -> None:
        """Wait until an event of this type has come of a turn."""
        self.daemon.receive_until(lambda: any(event["type"] == type_ for event in self.events(run)))
