"""The command `run`."""
