"""Decode the JSON Lines of `codex exec --json` into events."""
