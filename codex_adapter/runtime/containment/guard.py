"""Start the agent of one run in a small process, the guard, which lets no process outlive the run (N2).

    python -I -S guard.py LEVEL CGROUP FILE LIMITS CONTROL ARGV...

This file only starts the guard, because Python compiles the started file at each start. `guard_program.py` is the
guard.
"""

import sys

if __name__ == "__main__":
    # The guard does not import the package, which would load many modules that it does not need.
    package = sys.modules["codex_adapter.runtime.containment"] = type(sys)("codex_adapter.runtime.containment")
    package.__path__ = [__file__.rpartition("/")[0]]
    __import__("codex_adapter.runtime.containment.guard_program", fromlist=["main"]).main(sys.argv[1:])
