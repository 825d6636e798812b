"""Execute the command `doctor`."""
