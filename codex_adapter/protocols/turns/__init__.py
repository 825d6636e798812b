"""Turns: one conversation with any harness, in an environment that spaces make up."""
