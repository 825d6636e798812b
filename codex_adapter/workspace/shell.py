"""Build the arguments and the environment of a shell, without anything of the adapter's own (H12)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

import msgspec
from typing_extensions import override

from codex_adapter.runtime.containment.marks import MARK_VARIABLE
from codex_adapter.workspace.errors import WorkspaceError

__all__ = ["ShellCall", "shell_call"]

_DASH: Final = ("/bin/dash", "/usr/bin/dash")
_SHELL: Final = "/bin/sh"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FIXED: Final = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp"}  # noqa: S108
_INHERITED: Final = ("HOME", MARK_VARIABLE)
_OURS: Final = "CODEX_ADAPTER_"
_CARRIER: Final = f"{_OURS}ENV_"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST: Final = 131_071
"""The limit, in bytes, of an argument or variable, without the byte that ends it."""


class ShellCall(msgspec.Struct, frozen=True):
    """The arguments of the shell and the environment to start it with."""

    argv: tuple[str, ...]
    env: dict[str, str]

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "ShellCall(...)"


def shell_call(
    command: str, env: Mapping[str, str], *, environ: Mapping[str, str], directory: str, announced: bool = False
) -> ShellCall:
    """Return how to run `command` in `directory` with the variables `env`; `environ` is the adapter's (H12).

    With `announced`, descriptor 0 is the writing end of a pipe, and a byte there says that the shell has started; the
    command finds /dev/null there. Raises `WorkspaceError`, which never names a value.
    """
    _check(command, env)
    command, env = _in_utf8(command), {name: _in_utf8(value) for name, value in env.items()}
    base = {"PATH": environ.get("PATH") or _PATH, **_FIXED, "PWD": directory}
    base |= {name: environ[name] for name in _INHERITED if name in environ}
    # The process that contains the command has this environment too, outside any sandbox. A variable that makes the
    # dynamic linker load a library must reach only the command, so all of them travel under neutral names.
    carried = {f"{_CARRIER}{number}": value for number, value in enumerate(env.values())}
    prelude = ["echo >&0", "exec </dev/null"] if announced else []
    if env:
        assignments = (f'{name}="${carrier}"' for name, carrier in zip(env, carried, strict=True))
        prelude += [f"export {' '.join(assignments)}", f"unset {' '.join(carried)}"]
    shell = _shell()
    # `--`, since a command may begin with `-`.
    if not prelude:
        return ShellCall((shell, "-c", "--", command), base)
    prelude.append(f'exec {shell} -c -- "$1"')
    return ShellCall((shell, "-c", "\n".join(prelude), "sh", command), base | carried)


def _shell() -> str:
    """Return the shell whose language a policy reads (A10), or else the one that the system has (H8)."""
    return next((path for path in _DASH if os.access(path, os.X_OK)), _SHELL)


def _in_utf8(text: str) -> str:
    """Return a text that the system gets as UTF-8, even if Python uses another encoding of the locale."""
    return os.fsdecode(text.encode())


def _check(command: str, env: Mapping[str, str]) -> None:
    _check_text(command, "command")
    for name, value in env.items():
        if not _NAME.fullmatch(name):
            raise WorkspaceError("bad_name", "Name of a variable is none: use letters, digits and _, no digit first")
        if name.startswith(_OURS):
            raise WorkspaceError("bad_name", f"Variables that begin with {_OURS} are reserved: use another name")
        # The longer of the two names under which it travels counts.
        _check_text(value, f"value of {name}", spare=max(len(name), len(_CARRIER) + len(str(len(env)))) + 1)


def _check_text(text: str, what: str, *, spare: int = 0) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise WorkspaceError("bad_name", f"The {what} has a character that is none: use whole characters") from None
    if b"\0" in encoded:
        raise WorkspaceError("bad_name", f"The {what} has a NUL character: leave it out")
    if len(encoded) + spare > _LONGEST:
        raise WorkspaceError("too_large", f"The {what} is longer than {_LONGEST} bytes: put it into a file")
