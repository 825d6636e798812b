"""Agents: a folder for each agent CLI, and the registry that finds them by kind."""
