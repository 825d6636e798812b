"""Contain an agent and all that it starts, so that nothing survives a run."""
