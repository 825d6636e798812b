"""Serve a scenario: `python -m codex_adapter.testing.model_server SCENARIO.json [--port N]`.

Print one line of JSON, `{"base_url": "..."}`, when the server listens. Exit with 0 after SIGINT or SIGTERM, and with 2
if the scenario is wrong or the port is in use.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from ..scenario import ScenarioError, decode_scenario
from . import ModelServer


def main(arguments: list[str]) -> int:
    """Serve until SIGINT or SIGTERM, and return the exit status."""
    parser = argparse.ArgumentParser(prog="model_server", description="Serve a scripted model on the loopback.")
    parser.add_argument("scenario", metavar="SCENARIO.json", type=Path, help="the scenario, as JSON")
    parser.add_argument("--port", type=int, default=0, help="TCP port on 127.0.0.1 (default: a free port)")
    options = parser.parse_args(arguments)
    ending = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        with ModelServer(decode_scenario(options.scenario.read_bytes()), port=options.port) as server:
            print(json.dumps({"base_url": server.base_url}), flush=True)
            signal.sigwait(ending)
    except ScenarioError as error:
        parser.error(str(error))
    except (OSError, OverflowError):
        parser.error("The scenario cannot be read or the port cannot be used. Check the path, or omit --port")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
