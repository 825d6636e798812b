"""Imitate the Codex CLI: send requests to the model server, execute its calls, and print Codex events.

This is a separate program that uses only the standard library: `python -IS small_cli.py FAULT [ARGUMENTS]`. FAULT names
an error that the program makes, or `none`.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

__all__: list[str] = []

Json = dict[str, Any]

TOOLS = ("exec_command", "update_plan", "mcp__scripted__echo", "mcp__scripted__fail")
LONGEST_PROMPT = 1024 * 1024


class Cut(Exception):
    """The stream of an answer has no end."""


class Turn:
    """One run: what is asked for, and what was said before."""

    def __init__(self, fault: str, arguments: list[str]) -> None:
        self.fault = fault
        self.home = Path(os.environ["CODEX_HOME"])
        self.count = 0
        self.plan: list[Json] = []
        self.options = {word: arguments[place + 1] for place, word in enumerate(arguments[:-1]) if word[:2] == "--"}
        self.session, self.inputs = self._session(arguments)
        try:
            self.config = tomllib.loads((self.home / "config.toml").read_text())
        except tomllib.TOMLDecodeError:
            sys.exit(1)

    def _session(self, arguments: list[str]) -> tuple[str, list[Json]]:
        """The session to go on with, or a new one, which is also what becomes of one that is not there."""
        new = f"{int(time.time() * 1000):012x}"
        new = f"{new[:8]}-{new[8:]}-7{os.urandom(2).hex()[1:]}-8{os.urandom(2).hex()[1:]}-{os.urandom(6).hex()}"
        known = sorted(self.home.glob("*.session"), key=lambda path: path.stat().st_mtime)
        command = next((word for word in ("resume", "fork") if word in arguments), None)
        if command is None or not known:
            return new, []
        wanted = arguments[arguments.index(command) + 1]
        file = known[-1] if wanted == "--last" else self.home / f"{wanted}.session"
        if not file.exists():
            return new, []
        return (file.stem if command == "resume" and self.fault != "forgets" else new), json.loads(file.read_text())

    def run(self) -> NoReturn:
        """From the prompt to the exit."""
        prompt = sys.stdin.read()
        if self.fault == "hangs":
            time.sleep(600)
        if self.fault != "no session":
            show({"type": "thread.started", "thread_id": self.session})
        if self.fault == "unknown line":
            show({"type": "weather.changed", "weather": "a secret"})
        if self.fault == "no line":
            print("a secret and no JSON", flush=True)
        if len(prompt) > LONGEST_PROMPT:
            sys.exit(1)
        show({"type": "turn.started"})
        content = [{"type": "input_text", "text": prompt}]
        if "--image" in self.options:
            picture = base64.b64encode(Path(self.options["--image"]).read_bytes()).decode()
            content.insert(0, {"type": "input_image", "image_url": f"data:image/png;base64,{picture}"})
        self.inputs.append({"type": "message", "role": "user", "content": content})
        self.save()
        while self.step():
            pass
        if self.plan:
            self.item("completed", "todo_list", "plan", items=self.plan)
        self.save()
        show({"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 20}})
        sys.exit(7 if self.fault == "wrong status" else 0)

    def save(self) -> None:
        """Keep what was said, for a later run."""
        (self.home / f"{self.session}.session").write_text(json.dumps(self.inputs))

    def step(self) -> bool:
        """One model request; whether there is more to do."""
        before = len(self.inputs)
        try:
            items = list(self.ask())
        except Cut:
            show({"type": "error", "message": "Reconnecting... 1/3"})
            items = list(self.ask())
        for item in items:
            self.inputs.append(item)
            self.do(item)
        return any(entry["type"] == "function_call_output" for entry in self.inputs[before:])

    def ask(self) -> Iterator[Json]:
        """The items of an answer."""
        if self.fault == "no request":
            yield {"type": "message", "content": [{"text": "an answer from elsewhere"}]}
            return
        place = urlsplit(self.config["model_providers"]["scripted"]["base_url"])
        connection = http.client.HTTPConnection(str(place.hostname), place.port or 80)
        body: Json = {"model": self.options.get("--model", "mock-model"), "input": self.inputs, "stream": True}
        body["tools"] = [{"type": "function", "name": name} for name in TOOLS]
        if "--output-schema" in self.options:
            schema = json.loads(Path(self.options["--output-schema"]).read_text())
            body["text"] = {"format": {"type": "json_schema", "schema": schema}}
        connection.request("POST", f"{place.path}/responses", json.dumps(body))
        reply = connection.getresponse()
        if reply.status != 200:
            show({"type": "error", "message": "refused"})
            show({"type": "turn.failed", "error": {"message": "refused"}})
            sys.exit(1)
        try:
            lines = reply.read().split(b"\n")
        except http.client.IncompleteRead as error:
            raise Cut from error
        events = [json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: ")]
        yield from (event["item"] for event in events if event["type"] == "response.output_item.done")

    def do(self, item: Json) -> None:
        """What an item asks for."""
        match item["type"], item.get("name", ""):
            case "message", _:
                self.item("completed", "agent_message", text=item["content"][0]["text"])
            case "reasoning", _:
                self.item("completed", "reasoning", text=item["summary"][0]["text"])
            case "web_search_call", _:
                self.item("completed", "web_search", query="codex")
            case "function_call", "exec_command":
                self.answer(item, self.command(json.loads(item["arguments"])["cmd"]))
            case "function_call", "update_plan":
                steps = json.loads(item["arguments"])["plan"]
                phase = "updated" if self.plan else "started"
                self.plan = [{"text": step["step"], "completed": step["status"] == "completed"} for step in steps]
                self.item(phase, "todo_list", "plan", items=self.plan)
                self.answer(item, "")
            case _, name:
                self.count += 1
                status = "failed" if name.endswith("fail") else "completed"
                call: Json = {"server": "scripted", "tool": name.rpartition("__")[2], "arguments": {}, "error": None}
                self.item("started", "mcp_tool_call", f"{self.count}", **call, result=None, status="in_progress")
                self.item("completed", "mcp_tool_call", f"{self.count}", **call, result={"content": []}, status=status)
                self.answer(item, "")

    def command(self, command: str) -> str:
        """Carry out a command, and give its output."""
        forbidden = self.options.get("--sandbox") == "read-only" and self.fault != "no sandbox"
        if command.startswith("apply_patch"):
            name = command.partition("Add File: ")[2].partition("\n")[0]
            text = [line[1:] for line in command.split("\n") if line.startswith("+")]
            if not forbidden:
                Path(name).write_text("".join(f"{line}\n" for line in text))
            change = {"path": str(Path(name).absolute()), "kind": "add"}
            self.item("completed", "file_change", changes=[change], status="failed" if forbidden else "completed")
            return ""
        self.count += 1
        told: Json = {"command": f"bash -lc {command}", "aggregated_output": "", "exit_code": None}
        self.item("started", "command_execution", f"{self.count}", **told, status="in_progress")
        status, output = (1, "") if forbidden else subprocess.getstatusoutput(command)
        told |= {"aggregated_output": output, "exit_code": status}
        name = "completed" if status == 0 else "failed"
        self.item("completed", "command_execution", f"{self.count}", **told, status=name)
        return output

    def answer(self, item: Json, output: str) -> None:
        """Tell the model what came of a call."""
        self.inputs.append({"type": "function_call_output", "call_id": item["call_id"], "output": output})

    def item(self, phase: str, kind: str, key: str = "", **fields: Any) -> None:
        """Print the line of an item."""
        if not key:
            self.count += 1
        show({"type": f"item.{phase}", "item": {"id": f"item_{key or self.count}", "type": kind, **fields}})


def show(line: Json) -> None:
    """Print a line."""
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    if sys.argv[2:] == ["--version"]:
        print("codex-cli 0.169.0")
        sys.exit()
    Turn(sys.argv[1], sys.argv[2:]).run()
