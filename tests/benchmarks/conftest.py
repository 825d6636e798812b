"""The benchmarks are no part of the package: where only that is installed, they are found in the repository."""

from __future__ import annotations

import sys
from pathlib import Path

# At the end: what is installed is what is tested.
sys.path.append(str(Path(__file__).parents[2]))
