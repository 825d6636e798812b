"""Find what a text for `/bin/sh` would execute, by reading it (A3). Start at `words`."""
