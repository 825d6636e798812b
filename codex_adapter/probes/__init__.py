"""Probe an agent CLI: test whether the adapter keeps its promises with this CLI (C8).

An agent describes itself with a `Stage` and a tuple of probes, most of them shared. `session.probe_all` performs them,
a few concurrently, and reports a verdict for each promise.
"""
