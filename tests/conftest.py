"""How hypothesis searches: the same examples every time for a change, many random ones at night."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("gate", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("nightly", deadline=None, max_examples=10_000, print_blob=True)
# `--hypothesis-profile` comes later and wins.
settings.load_profile("gate")
