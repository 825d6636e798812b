"""Standard input and output as what connects a daemon and its supervisor (J1, J16)."""

from __future__ import annotations

import os
import socket
from typing import Final

import trio

from codex_adapter.cli.output import Output

__all__ = ["StandardWires", "notify_systemd"]

_READ_SIZE: Final = 65_536
_STDIN: Final = 0


class StandardWires:
    """Standard input, read without changing it for others who share it, and standard output."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.write = output.write
        self.write_now = output.write_now
        self.wait_reader_gone = output.wait_reader_gone
        self._waits = True

    async def receive_some(self) -> bytes:
        """The next bytes of standard input; empty at their end, or when it cannot be read."""
        while True:
            try:
                if self._waits:
                    await trio.lowlevel.wait_readable(_STDIN)
                else:
                    await trio.lowlevel.checkpoint()
                return os.read(_STDIN, _READ_SIZE)
            except PermissionError:
                self._waits = False  # a file: nobody ever waits for it
            except BlockingIOError:
                continue
            except OSError:
                return b""


def notify_systemd(state: str) -> None:
    """Tell the service manager, when there is one that asked for it (J16)."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notifying:
        notifying.setblocking(False)
        try:
            notifying.sendto(state.encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)
        except OSError:
            # A daemon that cannot tell how it stands is none the worse for it.
            return
