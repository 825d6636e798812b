"""Connect a daemon and its supervisor by standard input and output (J1, J16)."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Final

import trio

from codex_adapter.cli.output import Output

__all__ = ["ServiceManager", "StandardTransport"]

_READ_SIZE: Final = 65_536
_PIPE_SIZE: Final = 262_144
_STDIN: Final = 0


class StandardTransport:
    """A `Transport` that reads standard input and writes to `Output`.

    Standard input stays unchanged for other processes that share it. An output pipe is enlarged, so that a supervisor
    that reads a little late causes no wait.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self.write = output.write
        self.write_now = output.write_now
        self.wait_reader_closed = output.wait_reader_closed
        self._waits = True
        with suppress(OSError, ValueError):
            fcntl.fcntl(output.fd, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)

    async def receive_some(self) -> bytes:
        """Return the next bytes of standard input; empty at their end, or if it cannot be read."""
        while True:
            try:
                if self._waits:
                    await trio.lowlevel.wait_readable(_STDIN)
                else:
                    await trio.lowlevel.checkpoint()
                return os.read(_STDIN, _READ_SIZE)
            except PermissionError:
                self._waits = False  # a file, which is always readable
            except BlockingIOError:
                continue
            except OSError:
                return b""


class ServiceManager:
    """The service manager that receives the state of this process, if `environ` has its address (J16).

    The address is removed from `environ`: an agent with the address could report a false state.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        address = environ.pop("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address

    def notify(self, state: str) -> None:
        """Report a state, such as `READY=1`. Do nothing if there is no service manager, or it does not listen."""
        if not self._address.startswith(("/", "\0")):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notification, suppress(OSError):
            notification.setblocking(False)
            notification.sendto(state.encode(), self._address)
