"""Decode an agent's bytes into bounded events, without I/O, clock or environment."""
