"""Listen on a socket as systemd does, and start a daemon for the first connection: `python socket_stand_in.py PATH`."""

from __future__ import annotations

import socket
import subprocess
import sys

with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    listener.settimeout(30)
    connection, _ = listener.accept()
    with connection:
        words = [sys.executable, "-m", "codex_adapter", "serve"]
        subprocess.run(words, stdin=connection, stdout=connection, check=True, timeout=60)
