"""Find the program of an agent CLI that a run executes, and ask it for its release (S6, S8)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import trio
from typing_extensions import override

from codex_adapter.errors import SpawnError
from codex_adapter.file_systems import Inquiry, inquire, no_inquiry
from codex_adapter.request import RunConfig
from codex_adapter.runtime.containment.containment import Containment
from codex_adapter.runtime.program_output import read_output

__all__ = ["At", "Binary", "Program", "Version", "Versions", "versions_of_this_run"]

At = Callable[[str, str], None]
_Key = tuple[str, int, int, int, int]


class Version(NamedTuple):
    """A release of a program; `pre` is the part after a dash, as in `0.170.0-alpha.3`, or empty."""

    major: int
    minor: int
    patch: int
    pre: str = ""

    @override
    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + (f"-{self.pre}" if self.pre else "")


class Binary(msgspec.Struct, frozen=True):
    """An executable file and how it was found.

    `origin` is `configured`, `wheel`, `PATH` or the name of the variable. `launcher` is true for an npm launcher, a
    script, if its native binary was not found.
    """

    path: str
    origin: str
    launcher: bool = False


def _is_no_launcher(_path: Path) -> bool:
    return False


def _find_no_binary(_launcher: Path) -> None:
    return None


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The program of an agent CLI: its names, where it can be installed, and how it prints its release.

    `name` is the CLI for a person, with its article. `command` is the name on PATH. `variable` names the environment
    variable with its path. `install` is the next step if it is missing: the end of a sentence.

    `parse_version` finds the release in the output of `--version`. `wheel` is the distribution that has the binary, or
    None. `wheel_binary` is the binary below the import package of the wheel, which is its first part. `is_launcher`
    says whether a resolved path is an npm launcher, and `native_binary` finds the binary that the launcher would start.
    By default, the program is not in a wheel and has no launcher.
    """

    name: str
    command: str
    variable: str
    install: str
    parse_version: Callable[[str], Version | None]
    wheel: str | None = None
    wheel_binary: tuple[str, ...] = ()
    is_launcher: Callable[[Path], bool] = _is_no_launcher
    native_binary: Callable[[Path], Path | None] = _find_no_binary

    @property
    def role(self) -> str:
        """Return what an error calls the binary when its file system does not answer."""
        return f"{self.command} binary"

    def find(self, configured: str | None, environ: Mapping[str, str], at: At = no_inquiry) -> Binary:
        """Return the binary to run: configured, else of the variable, else of the wheel, else on PATH (S6).

        `environ` is the run's environment. A name without a slash is searched on its PATH. A relative path is relative
        to the working directory of this process. The native binary replaces the npm launcher beside it. Raise
        `SpawnError`, with advice, if no binary is found or the named one cannot be executed. Call `at` with the role
        and the path of each file before the file is accessed.
        """
        search_path = environ.get("PATH", os.defpath)
        if configured is not None:
            return self._named(configured, search_path, "configured", "config.binary", at)
        if environ.get(self.variable):
            return self._named(environ[self.variable], search_path, self.variable, f"${self.variable}", at)
        wheel = None if self.wheel is None else self._in_wheel()
        if wheel is not None:
            return self._executable(wheel, "wheel", f"the binary of {self.wheel}", at)
        found = _which(self.command, search_path, at)
        if found is None:
            name = self.name[:1].upper() + self.name[1:]
            raise _not_found(f"{name} was not found: {self.install}, or set {self.variable} to its path.")
        return self._executable(found, "PATH", f"`{self.command}` on PATH", at)

    async def ask_version(
        self, binary: Binary, environ: Mapping[str, str], *, containment: Containment, seconds: float = 10.0
    ) -> Version | None:
        """Run `BINARY --version` for at most `seconds`, and return the release in its output, or None (S8).

        Discard the rest of the output. Leave nothing of the program, even after a cancellation. Raise `SpawnError` if
        no accepted level of containment works. (N7, X1)
        """
        output = await read_output([binary.path, "--version"], environ, containment=containment, seconds=seconds)
        return self.parse_version(output.data.decode(errors="replace"))

    def _named(self, name: str, search_path: str, origin: str, field: str, at: At) -> Binary:
        if "/" in name:
            return self._executable(name, origin, field, at)
        found = _which(name, search_path, at)
        if found is None:
            problem = f"The name in {field} is not on PATH."
            raise _not_found(f"{problem} Pass the path of {self.name}, or {self.install}.")
        return self._executable(found, origin, field, at)

    def _executable(self, path: str, origin: str, field: str, at: At) -> Binary:
        at(self.role, path)
        try:
            Path(path).stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            problem = f"The path in {field} does not exist."
            raise _not_found(f"{problem} Pass the path of {self.name}, or {self.install}.") from None
        except OSError:
            raise _not_executable(field) from None
        launcher = Path(os.path.realpath(path))
        is_launcher = self.is_launcher(launcher)
        native = self.native_binary(launcher) if is_launcher else None
        binary = native or Path(path).absolute()
        if not binary.is_file() or not os.access(binary, os.X_OK):
            raise _not_executable(field)
        _read_beginning(binary)
        return Binary(str(binary), origin, launcher=is_launcher and native is None)

    def _in_wheel(self) -> str | None:
        from importlib.util import find_spec  # noqa: PLC0415 - only if no binary is configured

        package, *below = self.wheel_binary
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            return None
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            path = Path(place, *below)
            if path.is_file():
                return str(path)
        return None


class Versions:
    """Ask each binary of a program for its release once, and remember it until the file changes."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[_Key, Version | None] = {}
        self._asking: dict[_Key, trio.Lock] = {}

    async def of(self, binary: Binary, environ: Mapping[str, str], config: RunConfig) -> Version | None:
        """Return the release of `binary`, None if it reports none (S8).

        The program is contained at a level that the checked configuration accepts. Raise `SpawnError` without one (N7).
        """
        try:
            key = await inquire(_key, self._program.role, binary.path)
        except OSError:
            await trio.lowlevel.checkpoint()
            return None
        async with self._asking.setdefault(key, trio.Lock()):
            if key not in self._known:
                containment = Containment.of(config)
                self._known[key] = await self._program.ask_version(binary, environ, containment=containment)
            return self._known[key]


_VERSIONS: trio.lowlevel.RunVar[dict[str, Versions]] = trio.lowlevel.RunVar("codex_adapter.versions")


def versions_of_this_run(program: Program) -> Versions:
    """Return the `Versions` of a program that this trio run shares (S8)."""
    try:
        shared = _VERSIONS.get()
    except LookupError:
        shared = {}
        _VERSIONS.set(shared)
    return shared.setdefault(program.command, Versions(program))


def _key(inquiry: Inquiry, role: str, path: str) -> _Key:
    inquiry.at(role, path)
    facts = Path(path).stat()
    return path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _which(name: str, search_path: str, at: At) -> str | None:
    for directory in search_path.split(os.pathsep):
        at("directory on PATH", str(Path(directory, name)))
        if (found := shutil.which(name, path=directory or os.curdir)) is not None:
            return found
    return None


def _read_beginning(path: Path) -> None:
    """Read the first bytes, as an exec does: if the file system does not answer, the start would hang."""
    with suppress(OSError), path.open("rb", buffering=0) as file:
        file.read(1)


def _not_executable(field: str) -> SpawnError:
    advice = f"The file in {field} cannot be executed. Make it executable, or pass the path of another file."
    return SpawnError(not_found=False, advice=advice, hint="cli_not_executable")


def _not_found(advice: str) -> SpawnError:
    return SpawnError(not_found=True, advice=advice, hint="cli_not_found")
