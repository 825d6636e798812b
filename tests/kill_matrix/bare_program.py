"""No containment at all: a program that starts the CLI as anybody would, for the proof that the oracle sees leftovers.

python bare_program.py ARGV...
"""

from __future__ import annotations

import subprocess
import sys

if __name__ == "__main__":
    sys.exit(subprocess.run(sys.argv[1:], input=b"Do it.", stdout=subprocess.DEVNULL, check=False).returncode)
