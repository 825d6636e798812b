"""The command `operations`."""
