"""The command `turn`."""
