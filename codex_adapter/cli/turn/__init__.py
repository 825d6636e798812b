"""Execute the command `turn`."""
