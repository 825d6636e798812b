"""Start Python programs as processes without the time that an interpreter and its imports take.

`start` is `subprocess.Popen`, but `python -m codex_adapter ...` and scripts are forks of a server that has imported the
package, so their start costs a twentieth of the CPU. All else is as of a new process: parent, process id, directory,
environment, descriptors, signals, exit. Only the imports are not, nor what /proc shows as arguments and environment:
they are the server's. A test whose subject is one of these starts the interpreter itself.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

__all__ = ["start"]

_PR_SET_CHILD_SUBREAPER: Final = 36
_LIMIT: Final = 1 << 20  # bytes of a request
_CORE: Final = resource.getrlimit(resource.RLIMIT_CORE)
_LIBC: Final = ctypes.CDLL(None)


def start(words: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a command like `subprocess.Popen`: as a fork wherever that is the same as a new process."""
    return (_Forked if _can_fork(words, options) else subprocess.Popen)(list(words), **options)


def _can_fork(words: Sequence[str], options: Mapping[str, object]) -> bool:
    environment = options.get("env") or {}
    assert isinstance(environment, Mapping)
    return (
        words[0] == sys.executable
        and (words[1] == "-m" or str(words[1]).endswith(".py"))
        and not options.keys() - {"cwd", "env", "stdin", "stdout", "stderr", "start_new_session", "bufsize"}
        and not any(str(name).startswith(("PYTHON", "LC_")) and environment[name] for name in environment)
        and resource.getrlimit(resource.RLIMIT_CORE) == _CORE
    )


class _Forked(subprocess.Popen[bytes]):
    """A process that runs `python ARGS`; the first argument is `-m`, with a module of the package, or a script."""

    def _execute_child(self, args: list[str], *more: Any) -> None:
        (_, _, _, _, cwd, env, _, _, _, *ends, _, _, _, _, _, new_session, _) = more
        read_end, _, _, write_end, _, error_end = ends
        given = [end if end != -1 else number for number, end in enumerate((read_end, write_end, error_end))]
        given_environment = env if env is not None else os.environ
        self.pid = _server().fork(
            {
                "words": [os.fspath(word) for word in args[1:]],
                "directory": os.fspath(cwd or Path.cwd()),
                "environment": {os.fsdecode(name): os.fsdecode(value) for name, value in given_environment.items()},
                "new_session": new_session,
            },
            given,
        )
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


class _Server:
    """The process that forks, for one process of tests."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        )
        theirs.close()

    def fork(self, request: Mapping[str, Any], descriptors: list[int]) -> int:
        """Return the id of a new process; it is a child of this one."""
        with self._lock:
            _adopt_orphans(True)
            try:
                socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)
                return int(self._socket.recv(64))
            finally:
                _adopt_orphans(False)


_servers: dict[int, _Server] = {}
"""By the id of the process that has started it; a process that the tests have forked needs its own."""
_starting = threading.Lock()


def _server() -> _Server:
    with _starting:
        if os.getpid() not in _servers:
            _servers[os.getpid()] = _Server()
        return _servers[os.getpid()]


def _adopt_orphans(do: bool) -> None:
    assert _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, int(do), 0, 0, 0) == 0


def _serve(requests: socket.socket) -> list[str]:
    """Fork for each request; returns in the new process, with its arguments."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, _LIMIT, 3)
        if not data:
            os._exit(0)
        reader, writer = os.pipe()
        between = os.fork()
        if between == 0:
            # The process between ends at once, so that the new process becomes a child of the tests.
            ours = os.getpid()
            if pid := os.fork():
                os.write(writer, b"%d" % pid)
                os._exit(0)
            while os.getppid() == ours:
                time.sleep(0.0001)
            requests.close()
            request = json.loads(data)
            _become(request, descriptors)
            return list(request["words"])
        os.waitpid(between, 0)
        requests.send(os.read(reader, 64))
        for descriptor in (reader, writer, *descriptors):
            os.close(descriptor)


def _become(request: Mapping[str, Any], descriptors: list[int]) -> None:
    """Take everything over that a new process has from the one that starts it."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(3, 64)
    if request["new_session"]:
        os.setsid()
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    tempfile.tempdir = None
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        errors = "backslashreplace" if number == 2 else "surrogateescape"
        stream = os.fdopen(number, mode, encoding="utf-8", errors=errors, buffering=1 if number == 2 else -1)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _import_all() -> None:
    importlib.import_module("trio.testing")
    package = importlib.import_module("codex_adapter")
    for module in pkgutil.walk_packages(package.__path__, "codex_adapter."):
        if module.name != "codex_adapter.__main__":
            try:
                importlib.import_module(module.name)
            except ImportError:  # of an extra that is not installed
                continue


def _run(words: list[str]) -> int:
    """Execute a module or a script, and return the status with which an interpreter would exit."""
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = words
            sys.path.insert(0, str(Path(words[0]).parent))
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    _import_all()
    gc.collect()
    gc.freeze()
    words = _serve(socket.socket(fileno=int(sys.argv[1])))
    status = _run(words)
    # To take an interpreter down costs more than all else here.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
