"""Contain an agent and all processes that it starts, so that none survives a run."""
