"""Test the imports of each command: a run with piped output loads neither colors nor a web server."""

from __future__ import annotations

import json

import pytest

from ..runtime.agents import WHOLE_TURN
from .command import ADAPTER, Cli

LIST = """
import json, sys
from codex_adapter.cli import main
status = main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.rule("P2", "C7")
def test_a_run_to_a_pipe_loads_only_what_it_needs(cli: Cli) -> None:
    done = cli.finish(cli.start("run", "--codex", cli.agent(*WHOLE_TURN), "Hi.", program=(ADAPTER[0], "-c", LIST)))
    assert done.status == 0
    loaded = set(json.loads(done.stderr))
    assert "codex_adapter.cli.run.command" in loaded
    too_much = {"rich", "http.server", "asyncio", "json.tool", "importlib.metadata", "difflib"}
    too_much |= {f"codex_adapter.cli.{name}" for name in ("replay", "demo", "doctor", "schema", "plain", "pretty")}
    too_much |= {"codex_adapter.testing", "codex_adapter.protocols"}
    assert too_much & loaded == set()
