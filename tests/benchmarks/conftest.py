"""Find the benchmarks in the repository when only the package is installed."""

from __future__ import annotations

import sys
from pathlib import Path

# At the end: what is installed is what is tested.
sys.path.append(str(Path(__file__).parents[2]))
