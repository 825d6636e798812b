"""Decode the output of pi."""
