"""Execute the command `view`."""
