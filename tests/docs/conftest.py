"""The generator of the documentation is not part of the package: the tests find it in the repository."""

from __future__ import annotations

import sys
from pathlib import Path

# At the end: what is installed is what is tested.
sys.path.append(str(Path(__file__).parents[2]))
