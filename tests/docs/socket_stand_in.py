"""Listen on a socket as systemd does, and start a daemon for the first connection: `python socket_stand_in.py PATH`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    if os.fork() > 0:
        os._exit(0)  # it listens: `systemctl enable` is done
    os.closerange(0, listener.fileno())
    os.open(os.devnull, os.O_RDWR)
    listener.settimeout(60)
    connection, _ = listener.accept()
    with connection:
        words = [sys.executable, "-m", "codex_adapter", "serve"]
        both = connection.fileno()
        subprocess.run(words, stdin=both, stdout=both, stderr=subprocess.DEVNULL, check=True, timeout=60)
