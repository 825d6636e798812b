"""Execute the command `operations`."""
