"""Execute the command `schema`."""
