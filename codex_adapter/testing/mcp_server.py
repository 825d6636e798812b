"""Serve MCP tools on standard input and output, for tests of the CLI's tool calls.

Import only the standard library: `python -I -S mcp_server.py [ok|die|garbage]`. With `die` the server exits
immediately. With `garbage` it prints lines that are not JSON-RPC between its answers.

| tool | behavior |
|---|---|
| `echo`, `structured`, `image` | answers with text, structured content or an image |
| `large` | answers with `size` characters |
| `fail` | answers with isError |
| `rpcerror` | answers with a JSON-RPC error |
| `slow` | takes `seconds`, and reads nothing meanwhile |
| `never` | does not answer |
| `exit` | exits instead of an answer |
| `destructive` | has the annotation `destructiveHint` |
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["TOOLS", "replies"]

Json = dict[str, Any]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOOLS = {
    "echo": {"text": {"type": "string"}},
    "fail": {},
    "rpcerror": {},
    "structured": {},
    "image": {},
    "large": {"size": {"type": "integer"}},
    "slow": {"seconds": {"type": "number"}},
    "never": {},
    "exit": {},
    "destructive": {},
}
"""Each tool with the JSON Schema of its arguments (TK3)."""


def replies(lines: Iterable[str], *, garbage: bool = False) -> Iterator[str]:
    """Yield the lines to print for these lines of input (TK3)."""
    if garbage:
        yield "this is not JSON-RPC\n"
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            yield _dump(
                {
                    "id": None,
                    "error": {"code": -32700, "message": "The line is not JSON. Send one message in each line."},
                }
            )
            continue
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            continue
        params = message.get("params") or {}
        if message["method"] == "tools/call" and params.get("name") == "never":
            continue
        if message["method"] == "tools/call" and params.get("name") == "exit":
            return
        if garbage:
            yield '{"neither":"a request","nor":"a reply"}\n'
        yield _dump({"id": message["id"], **_answer(message["method"], params)})


def _answer(method: str, params: Json) -> Json:
    match method:
        case "initialize":
            offered = params.get("protocolVersion", "2025-06-18")
            server = {"name": "scripted", "version": "1.0"}
            return _result(protocolVersion=offered, capabilities={"tools": {}}, serverInfo=server)
        case "ping":
            return _result()
        case "tools/list":
            return _result(tools=[_describe(name) for name in TOOLS])
        case "tools/call":
            return _call(params.get("name"), params.get("arguments") or {})
        case _:
            return {"error": {"code": -32601, "message": "The method does not exist. This server has only tools."}}


def _describe(name: str) -> Json:
    # Without these annotations the CLI would ask for approval.
    gentle = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
    harsh = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
    schema = {"type": "object", "properties": TOOLS[name]}
    hints = harsh if name == "destructive" else gentle
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, "annotations": hints}


def _call(tool: object, arguments: Json) -> Json:
    match tool:
        case "echo":
            return _result(content=[_text(f"echo: {arguments.get('text', '')}")])
        case "fail":
            return _result(content=[_text("tool says no")], isError=True)
        case "rpcerror":
            return {"error": {"code": -32000, "message": "rpc failure", "data": {"x": 1}}}
        case "structured":
            structured = {"a": 1, "b": [1, 2, None]}
            return _result(content=[_text('{"a":1}')], structuredContent=structured, _meta={"k": "v"})
        case "image":
            return _result(
                content=[
                    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                    {"type": "resource_link", "uri": "file:///x", "name": "x"},
                    {"type": "resource", "resource": {"uri": "file:///y", "mimeType": "text/plain", "text": "hello"}},
                ]
            )
        case "large":
            return _result(content=[_text("x" * arguments.get("size", 1_000_000))])
        case "slow":
            time.sleep(arguments.get("seconds", 1))
            return _result(content=[_text("at last")])
        case "destructive":
            return _result(content=[_text("destroyed")])
        case _:
            return {"error": {"code": -32602, "message": f"The tool does not exist. The tools are {', '.join(TOOLS)}."}}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _result(**fields: Any) -> Json:
    return {"result": fields}


def _dump(reply: Json) -> str:
    return json.dumps({"jsonrpc": "2.0", **reply}) + "\n"


def _main(arguments: list[str]) -> None:
    mode = arguments[0] if arguments else "ok"
    if mode not in ("ok", "die", "garbage"):
        sys.exit("usage: mcp_server.py [ok|die|garbage]")
    if mode == "die":
        sys.exit(1)
    for line in replies(sys.stdin, garbage=mode == "garbage"):
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    _main(sys.argv[1:])
