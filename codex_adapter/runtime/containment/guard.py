"""Start the agent of one run in a small process, the guard, that lets nothing outlive the run (N2).

    python -I -S guard.py LEVEL CGROUP FILE LIMITS CONTROL ARGV...

This file only starts the guard, because Python compiles anew what it is given to run. `guard_program.py` does the work.
"""

import sys

if __name__ == "__main__":
    # Not as a part of the package, which imports much that a guard does not need.
    package = sys.modules["codex_adapter.runtime.containment"] = type(sys)("codex_adapter.runtime.containment")
    package.__path__ = [__file__.rpartition("/")[0]]
    __import__("codex_adapter.runtime.containment.guard_program", fromlist=["main"]).main(sys.argv[1:])
