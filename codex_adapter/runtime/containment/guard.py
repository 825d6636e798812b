"""Start the agent of one run in a small process, the guard, which lets no process outlive the run (N2).

    python -I -S guard.py LEVEL CGROUP FILE LIMITS CONTROL ARGV...

This file only starts the guard, because Python compiles the started file at each start. `guard_program.py` is the
guard.
"""

import sys

if __name__ == "__main__":
    # The guard does not import the package, which would load many modules that it does not need.
    place = __file__.rpartition("/")[0]
    for name, directory in (("codex_adapter", f"{place}/../.."), ("codex_adapter.runtime.containment", place)):
        package = sys.modules[name] = type(sys)(name)
        package.__path__ = [directory]
    __import__("codex_adapter.runtime.containment.guard_program", fromlist=["main"]).main(sys.argv[1:])
