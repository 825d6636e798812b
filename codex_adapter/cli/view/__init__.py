"""The command `view`."""
