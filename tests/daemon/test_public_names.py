"""Test the public names of the protocol package, and that its import loads no other module."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest

from codex_adapter import daemon
from codex_adapter.daemon import METHODS, PROTOCOL_VERSION, InitializeParams, StartParams, jsonrpc, messages

LOADED = """
import json, sys
import codex_adapter.daemon
print(json.dumps(sorted(name for name in sys.modules if name.startswith("codex_adapter"))))
"""


@pytest.mark.rule("P1")
def test_each_name_is_that_of_its_module() -> None:
    for name in daemon.__all__:
        home = messages if hasattr(messages, name) else jsonrpc
        assert getattr(daemon, name) is getattr(home, name)
        assert name in dir(daemon)
    with pytest.raises(AttributeError, match="no attribute 'Daemon'"):
        daemon.Daemon  # type: ignore[attr-defined] # noqa: B018 - a checker misses it too


@pytest.mark.rule("P1", "J3")
def test_the_types_of_all_methods_are_there() -> None:
    kinds = {kind.__name__ for method in METHODS.values() for kind in method if kind is not None}
    assert kinds <= set(daemon.__all__)
    first = msgspec.json.encode(InitializeParams(protocol_version=PROTOCOL_VERSION))
    assert json.loads(first) == {"protocolVersion": "1.0", "clientInfo": {}}
    start = msgspec.json.encode(StartParams(agent_kind="codex", request={"prompt": "x"}))
    assert json.loads(start) == {"runId": None, "agentKind": "codex", "request": {"prompt": "x"}, "credit": None}


@pytest.mark.rule("P1", "V1")
def test_the_package_by_itself_loads_no_messages() -> None:
    done = subprocess.run([sys.executable, "-I", "-c", LOADED], capture_output=True, check=True, text=True, timeout=60)
    assert json.loads(done.stdout) == ["codex_adapter", "codex_adapter.daemon"]
