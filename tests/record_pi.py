"""Record the real pi with a scripted model: `python -m tests.record_pi BINARY`.

The program writes the standard output of each scenario, and the index of exit statuses, to the folder of the release in
`fixtures/pi`. Node.js must be on PATH. Then run `python -m tests.regenerate_goldens`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import trio

from codex_adapter.agents.pi.binary import find_binary, release_of
from codex_adapter.agents.pi.command import build_argv, merge_environment
from codex_adapter.agents.pi.config import PiConfig
from codex_adapter.agents.pi.extensions import RunOptions
from codex_adapter.agents.pi.releases import has_project_trust
from codex_adapter.core.extension_checks import SessionSelector
from codex_adapter.runtime.programs import Version
from codex_adapter.testing import Answer, ModelServer, RawItem, Reasoning, Scenario, Shell, answer, script

FIXTURES: Final = Path(__file__).parents[1] / "fixtures" / "pi"
_COSTS: Final = ("input", "output", "cacheRead", "cacheWrite")
UNKNOWN: Final = "11111111-1111-4111-8111-111111111111"
FREE: Final = RunOptions(sandbox_mode="danger-full-access", provider="scripted", model="mock-model")


class Take(NamedTuple):
    """One recording: the model's answers, the choices of the run, and the circumstances.

    `earlier` runs come first, in the same place. `signal` is sent as soon as a command works.
    """

    scenario: Scenario
    options: RunOptions = FREE
    address: str | None = None
    signal: signal.Signals | None = None
    earlier: int = 0


def tool(name: str, number: int = 0, **arguments: object) -> RawItem:
    """A call of a tool by its own name."""
    call = {"type": "function_call", "id": f"fc_{name}_{number}", "call_id": f"call_{name}_{number}"}
    return RawItem({**call, "status": "completed", "name": name, "arguments": json.dumps(arguments)})


def refused(status: int, code: str) -> Scenario:
    """A service that refuses every request."""
    body = {"error": {"type": code, "code": code, "message": "scripted"}}
    return Scenario(answers=(), fallback=Answer(status=status, body=body))


def free(**more: Any) -> RunOptions:
    """All tools, and some other choices."""
    return RunOptions(**{**{name: getattr(FREE, name) for name in FREE.__struct_fields__}, **more})


FILES: Final = (
    tool("write", path="a", content="1\n"),
    tool("read", path="a"),
    tool("edit", path="a", edits=[{"oldText": "1", "newText": "2"}]),
    tool("read", 1, path="missing"),
)
TAKES: Final[dict[str, Take]] = {
    "text": Take(script("Hello.")),
    "pieces": Take(script(answer(Reasoning(("thinking about it",)), "One two three.", pieces=3))),
    "commands": Take(
        script(Shell("echo out; echo err >&2"), Shell("exit 3"), answer(Shell("true"), Shell("pwd")), "Done.")
    ),
    "files": Take(script(*FILES, "Done.")),
    "big_output": Take(script(Shell("seq 1 6000"), "Done.")),
    "unknown_tool": Take(script(tool("no_such_tool", x=1), "Done.")),
    "read_only": Take(
        script(Shell("echo a > in"), tool("write", path="x", content="x"), tool("ls", path="."), "Done."),
        free(sandbox_mode="read-only"),
    ),
    "no_tools": Take(script(Shell("true"), "Done."), free(tools="none")),
    "surrogate": Take(script(tool("read", path="\ud800"), "Half: \ud83d.")),
    "resumed": Take(script("One.", "Two."), free(resume=SessionSelector()), earlier=1),
    "session_unknown": Take(script("Hello."), free(resume=SessionSelector(UNKNOWN))),
    "provider_unknown": Take(script("Hello."), free(provider="nobody")),
    "not_logged_in": Take(script("Hello."), free(provider="openai", model="gpt-5")),
    "unauthorized": Take(refused(401, "invalid_api_key")),
    "forbidden": Take(refused(403, "permission_error")),
    "model_unknown": Take(refused(404, "model_not_found")),
    "request_rejected": Take(refused(400, "invalid_prompt")),
    "rate_limited": Take(refused(429, "rate_limit_exceeded")),
    "quota_exceeded": Take(refused(429, "insufficient_quota")),
    "server_error": Take(refused(500, "server_error")),
    "overloaded": Take(refused(503, "server_error")),
    "failed_once": Take(script(Answer(status=500, body={"error": {"message": "scripted"}}), "Hello.")),
    "ended_early": Take(script(answer("Hel", end="none"), "Hello.")),
    "failed_later": Take(script(Shell("true"), fallback=answer("Hel", end="none"))),
    "not_reached": Take(script("Hello."), address="http://127.0.0.1:1/v1"),
    "answer_cut": Take(Scenario(answers=(), fallback=answer("Hel", cut_after=2, pieces=3))),
    "answer_failed": Take(
        Scenario(fallback=answer("Hel", end="failed", detail={"code": "server_error", "message": "scripted"}))
    ),
    "incomplete": Take(Scenario(fallback=answer("Hel", end="incomplete", detail={"reason": "max_output_tokens"}))),
    "terminated": Take(script(Shell("echo begin; sleep 1000"), "Done."), signal=signal.SIGTERM),
    "killed": Take(script(Shell("echo begin; exec sleep 20"), "Done."), signal=signal.SIGKILL),
}


def record(binary: str, version: Version | None, take: Take) -> tuple[bytes, int]:
    """Return the standard output of the last run of a take, with `/workspace` as its directory, and its exit status."""
    with tempfile.TemporaryDirectory(prefix="record-") as place, ModelServer(take.scenario) as server:
        root = Path(place)
        for name in ("workspace", "home", "tmp", "agent"):
            (root / name).mkdir()
        model = {"id": "mock-model", "reasoning": True, "cost": dict.fromkeys(_COSTS, 1)}
        provider = {"baseUrl": take.address or server.base_url, "api": "openai-responses", "apiKey": "sk-scripted"}
        models = {"providers": {"scripted": {**provider, "models": [model]}}}
        (root / "agent" / "models.json").write_text(json.dumps(models))
        retry = {"enabled": True, "maxRetries": 1, "baseDelayMs": 1}
        (root / "agent" / "settings.json").write_text(json.dumps({"retry": retry}))
        own = {"PATH": os.environ["PATH"], "HOME": str(root / "home"), "TMPDIR": str(root / "tmp")}
        env = merge_environment(own, PiConfig(agent_dir=str(root / "agent")), {})
        for _ in range(take.earlier):
            subprocess.run(
                _argv(binary, version, FREE),
                cwd=root / "workspace",
                env=env,
                input=b"Do.",
                check=True,
                capture_output=True,
            )
        output, status = _run(_argv(binary, version, take.options), root, env, take.signal)
        package = Path(binary).resolve()
        while package.name != "node_modules":
            package = package.parent
        for text, plain in ((root / "workspace", "/workspace"), (root, "/run-of"), (package, "/opt/node_modules")):
            output = output.replace(str(text).encode(), plain.encode())
        return output, status


def _argv(binary: str, version: Version | None, options: RunOptions) -> list[str]:
    return build_argv(binary, options, asks_for_trust=has_project_trust(version))


def _run(argv: list[str], root: Path, env: dict[str, str], sent: signal.Signals | None) -> tuple[bytes, int]:
    with subprocess.Popen(
        argv,
        cwd=root / "workspace",
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Do it.")
        process.stdin.close()
        output = b""
        for line in process.stdout:
            output += line
            if sent is not None and b'"partialResult":{"content":[{' in line:
                process.send_signal(sent)
        return output, process.wait()


def main(binary: str, *names: str) -> None:
    """Record all scenarios, or those that are named."""
    version = trio.run(release_of, find_binary(PiConfig(binary=binary), os.environ), dict(os.environ))
    folder = FIXTURES / str(version)
    if not names:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    index = FIXTURES / "index.jsonl"
    old = [json.loads(row) for row in index.read_text().splitlines()] if index.exists() else []
    rows = {(row["version"], row["scenario"]): row for row in old}
    for name in names or TAKES:
        output, status = record(binary, version, TAKES[name])
        (folder / f"{name}.jsonl").write_bytes(output)
        rows[str(version), name] = {"version": str(version), "scenario": name, "returncode": status}
        sys.stdout.write(f"{name}: {status}\n")
    index.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
