"""`python -m codex_adapter`: the command line."""

from __future__ import annotations

import sys

from codex_adapter.cli import main

if __name__ == "__main__":
    sys.exit(main())
