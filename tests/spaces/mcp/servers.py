"""Write scripted MCP servers as programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from codex_adapter.spaces import Server

__all__ = ["LONG", "NEVER", "program", "remote", "scripted"]

LONG = 60.0
"""Seconds in which a server answers, on a machine with much else to do."""
NEVER = 0.3
"""Seconds to wait for a server that does not answer."""

PRELUDE = """
import json, os, signal, sys, time

def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def welcome(revision="2025-06-18", **capabilities):
    asked = hear()
    assert asked["method"] == "initialize"
    say(id=asked["id"], result={"protocolVersion": revision, "capabilities": capabilities})
    assert hear() == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    return asked["params"]

def page(*names, **more):
    asked = hear()
    assert asked["method"] == "tools/list"
    say(id=asked["id"], result={"tools": [{"name": name, "inputSchema": {}} for name in names], **more})
    return asked["params"]
"""


def scripted(directory: Path, script: str, *, name: str = "scripted", env: Mapping[str, str] | None = None) -> Server:
    """A server that follows the script, with `hear`, `say`, `welcome` and `page`, and works in the directory."""
    path = directory / f"{name}.py"
    path.write_text(f"{PRELUDE}\n{script}\n")
    return program(sys.executable, "-I", "-S", str(path), name=name, env=env, cwd=str(directory))


def program(*argv: str, name: str = "program", env: Mapping[str, str] | None = None, cwd: str | None = None) -> Server:
    """A server that is this program."""
    command, *args = argv
    return Server(name=name, command=command, args=tuple(args), env=dict(env or {}), cwd=cwd, url=None, space="any")


def remote(url: str, *, name: str = "remote") -> Server:
    """A server at a URL."""
    return Server(name=name, command=None, args=(), env={}, cwd=None, url=url, space="any")
