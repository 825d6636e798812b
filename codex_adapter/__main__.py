"""Run the command line, for `python -m codex_adapter` and for the console script."""

from __future__ import annotations

import signal

# Until the command handles signals, an interrupt ends it without a traceback. An ignored signal stays ignored (E4).
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys

from codex_adapter.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
