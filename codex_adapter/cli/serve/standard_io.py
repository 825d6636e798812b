"""Standard input and output as what connects a daemon and its supervisor (J1, J16)."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Final

import trio

from codex_adapter.cli.output import Output

__all__ = ["ServiceManager", "StandardWires"]

_READ_SIZE: Final = 65_536
_PIPE_SIZE: Final = 262_144
_STDIN: Final = 0


class StandardWires:
    """Standard input, read without changing it for others who share it, and standard output.

    A pipe at the output holds more than most do: whoever reads a little later than we write costs no wait.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self.write = output.write
        self.write_now = output.write_now
        self.wait_reader_gone = output.wait_reader_gone
        self._waits = True
        with suppress(OSError, ValueError):
            fcntl.fcntl(output.fd, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)

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


class ServiceManager:
    """The service manager that is to be told how we stand, when there is one: `environ` has its address (J16).

    The address is taken out, so that no agent finds it: some programs would tell how they stand in our place.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        address = environ.pop("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address

    def notify(self, state: str) -> None:
        """Tell it."""
        if not self._address.startswith(("/", "\0")):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as telling, suppress(OSError):
            # It never waits, and a daemon that cannot tell how it stands is none the worse for it.
            telling.setblocking(False)
            telling.sendto(state.encode(), self._address)
