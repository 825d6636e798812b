"""The fixtures of the scripted agent, for the recorder and the catalogue."""

from __future__ import annotations

from ..testing.conftest import agent

__all__ = ["agent"]
