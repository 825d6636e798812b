"""Find the Codex CLI that a run executes, and its release (S6, S8)."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
import trio

from codex_adapter.agents.codex.config import CodexConfig
from codex_adapter.agents.codex.releases import Version, parse_version
from codex_adapter.errors import SpawnError
from codex_adapter.file_systems import Inquiry, inquire, no_inquiry
from codex_adapter.runtime.descriptors import restore_limit

__all__ = ["Binary", "Versions", "ask_version", "find_binary", "packaged_release"]

_BINARY_VARIABLE = "CODEX_BINARY"
_ROLE = "codex binary"

_WHEEL_MODULE = "codex_cli_bin"
_INSTALL = "install it with `pip install openai-codex-cli-bin` or `npm install -g @openai/codex`"
_VERSION_BYTES = 4096
_DEEPEST = 8
"""Directories above a binary that are searched for its package."""
_LARGEST_MANIFEST = 65_536
_WHEEL_METADATA = re.compile(r"openai_codex_cli_bin-(.+)\.dist-info")

_LINUX_BUILDS = {
    "x86_64": ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    "aarch64": ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
}
"""The npm package with the native binary, and the build target, by machine."""

At = Callable[[str, str], None]
_Key = tuple[str, int, int, int, int]
BinaryOrigin = Literal["configured", "CODEX_BINARY", "wheel", "PATH"]


class Binary(msgspec.Struct, frozen=True):
    """An executable file and how it was found.

    `launcher` is true for the npm launcher, a Node script, if its native binary was not found.
    """

    path: str
    origin: BinaryOrigin
    launcher: bool = False


def find_binary(config: CodexConfig, environ: Mapping[str, str], at: At = no_inquiry) -> Binary:
    """Return the CLI to run: configured, else `$CODEX_BINARY`, else the wheel, else `codex` on PATH (S6).

    `environ` is the run's environment. A name without a slash is searched on its PATH. A relative path is relative to
    the working directory of this process. The native binary replaces the npm launcher beside it. Raise `SpawnError`,
    with advice, if no CLI is found or the named CLI cannot be executed. Call `at` with the role and the path of each
    file before the file is accessed.
    """
    search_path = environ.get("PATH", os.defpath)
    if config.binary is not None:
        return _named(config.binary, search_path, "configured", "config.binary", at)
    if environ.get(_BINARY_VARIABLE):
        return _named(environ[_BINARY_VARIABLE], search_path, "CODEX_BINARY", "$CODEX_BINARY", at)
    wheel = _in_wheel()
    if wheel is not None:
        return _executable(wheel, "wheel", "the binary of openai-codex-cli-bin", at)
    found = _which("codex", search_path, at)
    if found is None:
        raise _not_found(f"The Codex CLI was not found: {_INSTALL}, or set CODEX_BINARY to its path.")
    return _executable(found, "PATH", "`codex` on PATH", at)


class Versions:
    """Ask each binary for its release once, and remember it until the file changes."""

    def __init__(self) -> None:
        self._known: dict[_Key, Version | None] = {}
        self._asking: dict[_Key, trio.Lock] = {}

    async def of(self, binary: Binary, environ: Mapping[str, str]) -> Version | None:
        """Return the release of `binary`, None if it reports none (S8)."""
        try:
            key = await inquire(_key, binary.path)
        except OSError:
            await trio.lowlevel.checkpoint()
            return None
        async with self._asking.setdefault(key, trio.Lock()):
            if key not in self._known:
                self._known[key] = await ask_version(binary, environ)
            return self._known[key]


async def ask_version(binary: Binary, environ: Mapping[str, str], *, seconds: float = 10.0) -> Version | None:
    """Run `BINARY --version` for at most `seconds`, and return the release in its output, or None (S8).

    Discard the rest of the output. Leave no process of its process group, even after a cancellation. (X1)
    """
    try:
        process = await trio.lowlevel.open_process(
            [binary.path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            start_new_session=True,
        )
    except (OSError, RuntimeError):  # no process or no thread could be started
        await trio.lowlevel.checkpoint()
        return None
    restore_limit(process.pid)
    output = bytearray()
    assert process.stdout is not None  # noqa: S101 - requested above
    try:
        with trio.move_on_after(seconds):
            async with process.stdout:
                while len(output) < _VERSION_BYTES and (chunk := await process.stdout.receive_some(_VERSION_BYTES)):
                    output += chunk
            await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        with trio.CancelScope(shield=True):
            await process.wait()
    return parse_version(output.decode(errors="replace"))


def packaged_release(binary: str, at: At) -> Version | None:
    """Return the release of the npm package or the wheel that contains a binary, or None. Block on files.

    Call `at` with the role and the path of each file before the file is accessed.
    """
    for directory in Path(os.path.realpath(binary)).parents[:_DEEPEST]:
        at(_ROLE, str(directory))
        with suppress(OSError):
            if directory.name == _WHEEL_MODULE:
                names = os.listdir(directory.parent)  # noqa: PTH208 - names are all that is needed
                found = next(filter(None, map(_WHEEL_METADATA.fullmatch, names)), None)
                return None if found is None else parse_version(f"codex-cli {found[1]}")
            with (directory / "package.json").open("rb") as file:
                return _of_npm(file.read(_LARGEST_MANIFEST))
    return None


def _key(inquiry: Inquiry, path: str) -> _Key:
    inquiry.at(_ROLE, path)
    facts = Path(path).stat()
    return path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _named(name: str, search_path: str, origin: BinaryOrigin, field: str, at: At) -> Binary:
    if "/" in name:
        return _executable(name, origin, field, at)
    found = _which(name, search_path, at)
    if found is None:
        raise _not_found(f"The name in {field} is not on PATH. Pass the path of the Codex CLI, or {_INSTALL}.")
    return _executable(found, origin, field, at)


def _which(name: str, search_path: str, at: At) -> str | None:
    for directory in search_path.split(os.pathsep):
        at("directory on PATH", str(Path(directory, name)))
        if (found := shutil.which(name, path=directory or os.curdir)) is not None:
            return found
    return None


def _executable(path: str, origin: BinaryOrigin, field: str, at: At) -> Binary:
    at(_ROLE, path)
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise _not_found(
            f"The path in {field} does not exist. Pass the path of the Codex CLI, or {_INSTALL}."
        ) from None
    except OSError:
        raise _not_executable(field) from None
    launcher = Path(os.path.realpath(path))
    is_launcher = launcher.name == "codex.js"
    native = _native_binary(launcher) if is_launcher else None
    binary = native or Path(path).absolute()
    if not binary.is_file() or not os.access(binary, os.X_OK):
        raise _not_executable(field)
    _read_beginning(binary)
    return Binary(str(binary), origin, launcher=is_launcher and native is None)


def _read_beginning(path: Path) -> None:
    """Read the first bytes, as an exec does: if the file system does not answer, the start would hang."""
    with suppress(OSError), path.open("rb", buffering=0) as file:
        file.read(1)


def _not_executable(field: str) -> SpawnError:
    advice = f"The file in {field} cannot be executed. Make it executable, or pass the path of another file."
    return SpawnError(not_found=False, advice=advice, hint="cli_not_executable")


def _not_found(advice: str) -> SpawnError:
    return SpawnError(not_found=True, advice=advice, hint="cli_not_found")


def _in_wheel() -> str | None:
    from importlib.util import find_spec  # noqa: PLC0415 - only if no binary is configured

    try:
        spec = find_spec(_WHEEL_MODULE)
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(place, "bin", "codex")
        if path.is_file():
            return str(path)
    return None


def _native_binary(launcher: Path) -> Path | None:
    """Return the native binary that the npm launcher starts, or None.

    The binary is in a separate package. Node searches for this package in each `node_modules` directory above. In old
    releases the binary is in the launcher's own package.
    """
    build = _LINUX_BUILDS.get(platform.machine())
    if build is None:
        return None
    package, target = build
    vendors = [above / "node_modules" / "@openai" / package / "vendor" for above in launcher.parents]
    vendors.append(launcher.parent.parent / "vendor")
    for vendor in vendors:
        for folder in ("bin", "codex"):
            native = vendor / target / folder / "codex"
            if native.is_file():
                return native
    return None


def _of_npm(content: bytes) -> Version | None:
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        manifest: Any = msgspec.json.decode(content)
        if isinstance(manifest, dict) and str(manifest.get("name")).startswith("@openai/codex"):
            return parse_version(f"codex-cli {manifest.get('version')}")
    return None
