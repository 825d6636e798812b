"""Run an agent once with a Python package with a core in Rust, MODULE AGENT, and print the number of its events.

If the package fails, the reason follows the number.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def main(module: str, agent: str) -> None:
    """Count the events of one run."""
    package: Any = importlib.import_module(module)
    count, failure = 0, ""
    try:
        session = package.Runner(executable=agent).start(package.Request(prompt="x"))
        for _ in session.events():
            count += 1
        session.wait()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the result
        failure = type(error).__name__
    print(count, failure)


if __name__ == "__main__":
    main(*sys.argv[1:])
