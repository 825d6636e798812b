"""Execute the command `serve`."""
