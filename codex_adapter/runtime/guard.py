"""The guard of one run: a small program that starts the agent, tells its status, and lets nothing outlive the run (N2).

    python -I -S guard.py LEVEL CGROUP FILE CONTROL ARGV...

This is only how it is started, for Python compiles anew what it is given to run; what it does is in `guarding.py`.
"""

import sys

if __name__ == "__main__":
    # Behind the standard library, and not as a part of the package, of which it needs nothing else.
    sys.path.append(__file__.rpartition("/")[0])
    __import__("guarding").main(sys.argv[1:])
