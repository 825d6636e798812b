"""Find the commands that `/bin/sh` would execute for a text, without running it. Start at `words` (A3)."""
