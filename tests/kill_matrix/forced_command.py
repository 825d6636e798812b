"""Run the command line at exactly one containment level, which it otherwise selects itself.

python forced_command.py LEVEL COMMAND...
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from codex_adapter.agents.codex import backend as codex_backend
from codex_adapter.cli import main
from codex_adapter.runtime import backend
from codex_adapter.runtime.containment import containment

if __name__ == "__main__":
    allowed: Any = sys.argv[1:2]
    forced = functools.partial(containment.Containment, allowed=allowed)
    forced.of = lambda _config: forced()  # type: ignore[attr-defined]
    for module in (backend, codex_backend):
        vars(module)["Containment"] = forced
    sys.exit(main(sys.argv[2:]))
