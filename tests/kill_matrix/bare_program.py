"""Start the CLI without containment, to prove that the oracle detects leftovers.

python bare_program.py ARGV...
"""

from __future__ import annotations

import subprocess
import sys

if __name__ == "__main__":
    sys.exit(subprocess.run(sys.argv[1:], input=b"Do it.", stdout=subprocess.DEVNULL, check=False).returncode)
