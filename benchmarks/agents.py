"""Provide agents that wait at a gate before they print, so that a measurement excludes their starts."""

from __future__ import annotations

from typing import Final

__all__ = ["GATED_AGENT", "STAMPER"]

GATED_AGENT: Final = """#!/bin/sh
read -r prompt
printf '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-%012d"}\\n{"type":"turn.started"}\\n' "$$"
case $WORK in
  idle) head -n "$COUNT" "$STREAM"; read -r go < "$GATE";;
  some) read -r go < "$GATE"; exec head -n "$COUNT" "$STREAM";;
  flood) read -r go < "$GATE"; while :; do cat "$STREAM"; done;;
  stamps) exec cat "$GATE";;
esac
"""
# In a process of its own, for one that is slow must not be slow to send.
STAMPER: Final = """
import itertools, os, sys, time
gates = [os.open(gate, os.O_RDWR) for gate in sys.argv[2:]]
line = b'{"type":"item.completed","item":{"id":"%d","type":"agent_message","text":"%d"}}\\n'
print(flush=True)
for number, gate in enumerate(itertools.cycle(gates)):
    time.sleep(float(sys.argv[1]))
    os.write(gate, line % (number, time.monotonic_ns()))
"""
"""Writes a line with the time to each of some gates in turn."""
