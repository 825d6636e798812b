"""`python -m codex_adapter`, and the console script: the command line."""

from __future__ import annotations

import signal

# Until the command listens, an interrupt ends it without a traceback (E4). Where it is ignored, it stays so.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys

from codex_adapter.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
