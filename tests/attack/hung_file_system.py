"""Mount an in-memory file system that stops responding when a test requests it, like a dead NFS server.

It implements the FUSE protocol on /dev/fuse, which requires root. A blocked request gets its answer when the test
releases the file system. The end of the block always does this, so that no process and no mount remains. As on NFS,
only SIGKILL ends a process that waits for an answer; other signals do not interrupt the wait.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import select
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

__all__ = ["EVERYTHING", "HungFileSystem", "hung_file_system"]

_libc = ctypes.CDLL(None, use_errno=True)
_MNT_DETACH = 2
_BUFFER: Final = 1024 * 1024
_HEADER: Final = struct.Struct("=IIQQIIIHH")
_ATTRIBUTES: Final = struct.Struct("=QQQQQQIIIIIIIIII")
_NAMES: Final = {
    1: "lookup",
    2: "forget",
    3: "getattr",
    4: "setattr",
    9: "mkdir",
    10: "unlink",
    11: "rmdir",
    12: "rename",
    14: "open",
    15: "read",
    16: "write",
    17: "statfs",
    18: "release",
    20: "fsync",
    25: "flush",
    26: "init",
    27: "opendir",
    28: "readdir",
    29: "releasedir",
    30: "fsyncdir",
    34: "access",
    35: "create",
    36: "interrupt",
    38: "destroy",
    42: "forget",
    45: "rename",
}
EVERYTHING: Final = frozenset(_NAMES.values()) - {"init", "forget", "interrupt", "destroy"}
_UNANSWERED: Final = frozenset({"forget", "interrupt", "destroy"})


class _Node:
    """A file or a directory."""

    def __init__(self, number: int, mode: int, content: bytes = b"") -> None:
        self.number = number
        self.mode = mode
        self.content = bytearray(content)
        self.children: dict[bytes, _Node] = {}

    def attributes(self) -> bytes:
        """Return the wire form of the node's attributes."""
        size = len(self.content)
        now = 1_700_000_000
        owner = os.getuid(), os.getgid()
        return _ATTRIBUTES.pack(
            self.number, size, -(-size // 512), now, now, now, 0, 0, 0, self.mode, 1, *owner, 0, 4096, 0
        )


class _Server:
    """Answers the requests of the kernel, and does what standard input says: in a process of its own.

    A process that serves itself could not be ended: its own threads would wait for it.
    """

    def __init__(self, fuse: int) -> None:
        self._fuse = fuse
        self._hanging: frozenset[str] = frozenset()
        self._waiting: dict[int, bytes] = {}
        self._interrupted: set[int] = set()
        self._capacity = 1 << 40
        self._nodes = {1: _Node(1, stat.S_IFDIR | 0o777)}

    def add(self, name: str, content: str | None, mode: int) -> None:
        """As `HungFileSystem.add`."""
        *parents, last = name.encode().split(b"/")
        node = self._nodes[1]
        for parent in parents:
            node = node.children[parent]
        kind = stat.S_IFDIR if content is None else stat.S_IFREG
        self._make(node, last, kind | mode, (content or "").encode())

    def hang(self, *operations: str) -> None:
        """As `HungFileSystem.hang`."""
        self._hanging = frozenset(operations) or EVERYTHING

    def answer(self) -> None:
        """As `HungFileSystem.answer`."""
        self._hanging = frozenset()
        waiting, self._waiting = self._waiting, {}
        for request in waiting.values():
            self._answer(request)

    def unanswered(self) -> int:
        """As `HungFileSystem.unanswered`."""
        return len(self._waiting)

    def limit(self, capacity: int) -> None:
        """As `HungFileSystem.limit`."""
        self._capacity = sum(len(node.content) for node in self._nodes.values()) + capacity

    def serve(self) -> None:
        """Serve until standard input ends."""
        orders = os.fdopen(0, "rb", buffering=0)
        poll = select.poll()
        poll.register(self._fuse, select.POLLIN)
        poll.register(0, select.POLLIN)
        while True:
            self._give_up_killed()
            ready = {fd for fd, _ in poll.poll(20 if self._interrupted else None)}
            if self._fuse in ready:
                try:
                    self._take(os.read(self._fuse, _BUFFER))
                except OSError as error:
                    if error.errno not in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                        poll.unregister(self._fuse)  # unmounted, or aborted
            if 0 in ready:
                line = orders.readline()
                if not line:
                    return
                name, *words = json.loads(line)
                print(json.dumps(getattr(self, name)(*words)), flush=True)

    def _take(self, request: bytes) -> None:
        _, operation, unique, *_ = _HEADER.unpack_from(request)
        name = _NAMES.get(operation, "")
        if name == "interrupt":
            self._interrupted.add(struct.unpack_from("=Q", request, _HEADER.size)[0])
        elif name in self._hanging:
            self._waiting[unique] = request
        else:
            self._answer(request)

    def _give_up_killed(self) -> None:
        """Answer what a process waits for that was killed: the kernel itself would let it wait for ever."""
        self._interrupted &= self._waiting.keys()
        for unique in list(self._interrupted):
            thread = _HEADER.unpack_from(self._waiting[unique])[6]
            with suppress(OSError):
                found = re.search(r"SigPnd:\s+(\w+)", Path(f"/proc/{thread}/status").read_text())
                if found is None or not int(found[1], 16) & 1 << signal.SIGKILL - 1:
                    continue
            del self._waiting[unique]
            self._send(unique, -errno.EINTR)

    def _send(self, unique: int, code: int, answer: bytes = b"") -> None:
        with suppress(OSError):  # nothing waits for it any more
            os.write(self._fuse, struct.pack("=IiQ", 16 + len(answer), code, unique) + answer)

    def _answer(self, request: bytes) -> None:
        _, operation, unique, number, *_ = _HEADER.unpack_from(request)
        name = _NAMES.get(operation, "")
        if name in _UNANSWERED:
            return
        body = request[_HEADER.size :]
        try:
            act: Callable[[_Node, bytes], bytes] | None = getattr(self, f"_{name}", None) if name else None
            code, answer = -errno.ENOSYS, b""
            if act is not None:
                code, answer = 0, act(self._nodes[max(number, 1)], body)
        except OSError as error:
            code, answer = -(error.errno or errno.EIO), b""
        self._send(unique, code, answer)

    def _make(self, parent: _Node, name: bytes, mode: int, content: bytes = b"") -> _Node:
        node = _Node(len(self._nodes) + 1, mode, content)
        self._nodes[node.number] = parent.children[name] = node
        return node

    def _entry(self, node: _Node) -> bytes:
        # Nothing is cached: each look at a name or its attributes is a request.
        return struct.pack("=QQQQII", node.number, 0, 0, 0, 0, 0) + node.attributes()

    def _init(self, _node: _Node, body: bytes) -> bytes:
        minor = min(struct.unpack_from("=I", body, 4)[0], 31)
        big_writes, parallel_lookups = 1 << 5, 1 << 18
        return struct.pack(
            "=IIIIHHIIHHI7I", 7, minor, 65536, big_writes | parallel_lookups, 64, 48, 65536, 1, 16, 0, 0, *[0] * 7
        )

    def _lookup(self, node: _Node, body: bytes) -> bytes:
        found = node.children.get(body.rstrip(b"\0"))
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "")
        return self._entry(found)

    def _getattr(self, node: _Node, _body: bytes) -> bytes:
        return struct.pack("=QII", 0, 0, 0) + node.attributes()

    def _setattr(self, node: _Node, body: bytes) -> bytes:
        valid, _, _, size = struct.unpack_from("=IIQQ", body)
        if valid & 1:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(struct.unpack_from("=I", body, 68)[0])
        if valid & 8:
            del node.content[size:]
            node.content += bytes(size - len(node.content))
        return self._getattr(node, b"")

    def _mkdir(self, node: _Node, body: bytes) -> bytes:
        mode = struct.unpack_from("=I", body)[0]
        return self._entry(self._make(node, body[8:].rstrip(b"\0"), stat.S_IFDIR | mode))

    def _unlink(self, node: _Node, body: bytes) -> bytes:
        if node.children.pop(body.rstrip(b"\0"), None) is None:
            raise FileNotFoundError(errno.ENOENT, "")
        return b""

    _rmdir = _unlink

    def _rename(self, node: _Node, body: bytes) -> bytes:
        target = struct.unpack_from("=Q", body)[0]
        for size in (8, 16):  # RENAME2 has flags
            old, _, new = body[size:].rstrip(b"\0").partition(b"\0")
            if old in node.children:
                self._nodes[target].children[new] = node.children.pop(old)
                return b""
        raise FileNotFoundError(errno.ENOENT, "")

    def _open(self, _node: _Node, _body: bytes) -> bytes:
        return struct.pack("=QII", 0, 0, 0)

    _opendir = _open

    def _create(self, node: _Node, body: bytes) -> bytes:
        mode = struct.unpack_from("=I", body, 4)[0]
        made = self._make(node, body[16:].rstrip(b"\0"), mode)
        return self._entry(made) + self._open(made, b"")

    def _read(self, node: _Node, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("=QQI", body)
        return bytes(node.content[offset : offset + size])

    def _write(self, node: _Node, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("=QQI", body)
        if sum(len(it.content) for it in self._nodes.values()) + size > self._capacity:
            raise OSError(errno.ENOSPC, "")
        node.content += bytes(max(offset - len(node.content), 0))
        node.content[offset : offset + size] = body[40 : 40 + size]
        return struct.pack("=II", size, 0)

    def _readdir(self, node: _Node, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("=QQI", body)
        answer = b""
        for place, (name, child) in enumerate(list(node.children.items())[offset:], offset + 1):
            entry = struct.pack("=QQII", child.number, place, len(name), stat.S_IFMT(child.mode) >> 12) + name
            entry += bytes(-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer

    def _statfs(self, _node: _Node, _body: bytes) -> bytes:
        return struct.pack("=QQQQQIIII6I", 1 << 30, 1 << 30, 1 << 30, 1 << 20, 1 << 20, 4096, 255, 4096, 0, *[0] * 6)

    def _nothing(self, _node: _Node, _body: bytes) -> bytes:
        return b""

    _release = _fsync = _flush = _releasedir = _fsyncdir = _access = _nothing


class HungFileSystem:
    """A mounted file system; `path` is where."""

    def __init__(self, path: Path, server: subprocess.Popen[bytes]) -> None:
        self.path = path
        self._server = server

    def add(self, name: str, content: bytes | None = None, mode: int = 0o755) -> str:
        """Add a file, or without `content` a directory, and return its path."""
        self._tell("add", name, None if content is None else content.decode(), mode)
        return str(self.path / name)

    def hang(self, *operations: str) -> None:
        """Answer none of these requests from now on, by default none at all."""
        self._tell("hang", *operations)

    def answer(self) -> None:
        """Answer everything again, and what was left unanswered first."""
        self._tell("answer")

    def limit(self, capacity: int) -> None:
        """Fail with ENOSPC what would write more than so many bytes from now on."""
        self._tell("limit", capacity)

    @property
    def unanswered(self) -> int:
        """How many requests wait for an answer."""
        return int(self._tell("unanswered"))

    def _tell(self, *words: Any) -> Any:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(words).encode() + b"\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())


@contextmanager
def hung_file_system(path: Path) -> Iterator[HungFileSystem]:
    """Mount one on a new directory `path`; it answers until `hang` is called. Skip the test where none can be."""
    from ..needs import missing

    path.mkdir()
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        missing("fuse")
    options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other".encode()
    if _libc.mount(b"hung", os.fsencode(path), b"fuse.hung", 0, options) != 0:
        os.close(fuse)
        missing("fuse")
    words = [sys.executable, __file__, str(fuse), str(path)]
    try:
        with subprocess.Popen(words, stdin=-1, stdout=-1, pass_fds=[fuse], start_new_session=True) as server:
            os.close(fuse)
            try:
                yield HungFileSystem(path, server)
            finally:
                server.kill()  # with the last descriptor of the connection all that waits fails
    finally:
        _libc.umount2(os.fsencode(path), _MNT_DETACH)


if __name__ == "__main__":
    _Server(int(sys.argv[1])).serve()
    _libc.umount2(sys.argv[2].encode(), _MNT_DETACH)  # the test was killed
