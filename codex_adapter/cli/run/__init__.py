"""Execute the command `run`."""
