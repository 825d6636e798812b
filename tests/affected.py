"""Print and run the tests that a change can break: `python -m tests.affected [BASE] [-- ARGUMENTS OF PYTEST]`.

The change is everything since the commit BASE, by default the last one, with what is not committed. People run this
while they work; the gate runs all tests.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from .gate import main as run_pytest

__all__ = ["TABLE", "affected", "main"]

ROOT: Final = Path(__file__).parents[1]
ALL: Final = ("tests",)
DOCUMENTS: Final = ("tests/docs", "tests/house")
OF_AGENTS: Final = ("tests/agents/test_*.py", "tests/releases", "tests/house")
OF_COMMANDS: Final = ("tests/cli", "tests/contract", "tests/docs", "tests/examples", "tests/clients", "tests/house")
TABLE: Final[dict[str, tuple[str, ...]]] = {
    "": DOCUMENTS,
    "benchmarks/": ("tests/benchmarks", "tests/house"),
    "clients/": ("tests/clients", *DOCUMENTS),
    "codex_adapter/": ALL,
    "codex_adapter/agents/": ALL,
    "codex_adapter/agents/claude/": ("tests/agents/claude", *OF_AGENTS, "tests/real/test_*claude*.py"),
    "codex_adapter/agents/codex/": ("tests/agents/codex", *OF_AGENTS, "tests/real"),
    "codex_adapter/agents/pi/": ("tests/agents/pi", *OF_AGENTS, "tests/real/test_*pi*.py"),
    "codex_adapter/cli/": OF_COMMANDS,
    "codex_adapter/cli/mailbox/": ("tests/protocols/mailbox", *OF_COMMANDS),
    "codex_adapter/cli/operations/": ("tests/protocols/operations", *OF_COMMANDS),
    "codex_adapter/cli/turn/": ("tests/protocols/turns", *OF_COMMANDS),
    "codex_adapter/daemon/": ("tests/daemon", "tests/protocols/turns", "tests/attack", *OF_COMMANDS),
    "codex_adapter/harness/": ("tests/harness", "tests/agents", "tests/protocols/turns", "tests/real", *OF_COMMANDS),
    "codex_adapter/probes/": ("tests/probes", "tests/real/test_command_probe.py", *OF_COMMANDS),
    "codex_adapter/protocols/mailbox/": ("tests/protocols/mailbox", *OF_COMMANDS),
    "codex_adapter/protocols/operations/": ("tests/protocols", *OF_COMMANDS),
    "codex_adapter/protocols/turns/": ("tests/protocols/turns", "tests/real", *OF_COMMANDS),
    "codex_adapter/spaces/": ("tests/spaces", "tests/agents", "tests/protocols/turns", *OF_COMMANDS),
    "codex_adapter/workspace/": ("tests/workspace", "tests/protocols", *OF_COMMANDS),
    "contrib/": ("tests/contrib", *DOCUMENTS),
    "examples/": ("tests/examples", *DOCUMENTS),
    "fixtures/": ("tests/agents", "tests/releases", "tests/house"),
    "tests/": ALL,
}
"""The tests of what is below a path; the longest path counts. Other folders use the helpers of a folder of tests."""
GATE: Final = "(not real or smoke) and not nightly and not attack"


def affected(changed: Iterable[str]) -> list[str]:
    """Return the paths of the tests that changes of these files can break."""
    found: set[str] = set()
    for name in changed:
        if name.startswith("tests/") and Path(name).name.startswith("test_"):
            found |= {name if name.count("/") == 1 else "/".join(name.split("/")[:2]), "tests/house"}
        else:
            found |= set(TABLE[max((prefix for prefix in TABLE if name.startswith(prefix)), key=len)])
    return list(ALL) if found & set(ALL) else sorted(found)


def main(arguments: list[str]) -> int:
    """Run the tests, and return the status of pytest."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    [base] = arguments[:split] or ["HEAD"]
    commands = (["git", "diff", "--name-only", base], ["git", "ls-files", "--others", "--exclude-standard"])
    changed = [
        line
        for command in commands
        for line in subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    ]
    found = affected(changed)
    print(f"{len(changed)} files changed: {' '.join(found) or 'nothing to test'}", flush=True)
    paths = [str(path) for pattern in found for path in sorted(ROOT.glob(pattern)) if path.exists()]
    return run_pytest(["-n", "auto", "-m", GATE, *arguments[split + 1 :], *paths]) if paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
