"""What a text for `/bin/sh` would execute, found by reading it (A3). `words` has what others need."""
