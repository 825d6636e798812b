"""Define what a harness is, and share what harnesses of several agents do alike (U5, U9, U10).

A harness lists models and runs an agent in an environment.
"""

from __future__ import annotations

from codex_adapter.harness.interface import Harness, HarnessTurn

__all__ = ["Harness", "HarnessTurn"]
