"""Decode the output of Claude Code."""
