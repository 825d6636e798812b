"""Build the arguments and the environment of a shell, without the adapter's own environment (H12)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

import msgspec
from typing_extensions import override

from codex_adapter.runtime.containment.marks import MARK_VARIABLE
from codex_adapter.workspace.errors import WorkspaceError

__all__ = ["ShellCall", "build_shell_call"]

_DASH: Final = ("/bin/dash", "/usr/bin/dash")
_SHELL: Final = "/bin/sh"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FIXED: Final = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp"}  # noqa: S108
_INHERITED: Final = ("HOME", MARK_VARIABLE)
_OURS: Final = "CODEX_ADAPTER_"
_NEUTRAL: Final = f"{_OURS}ENV_"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST: Final = 131_071
"""The limit of an argument or variable, in bytes, without its final NUL byte."""


class ShellCall(msgspec.Struct, frozen=True):
    """The arguments of the shell and the environment to start it with."""

    argv: tuple[str, ...]
    env: dict[str, str]

    @override
    def __repr__(self) -> str:
        """Show nothing: it may be secret (X1)."""
        return "ShellCall(...)"


def build_shell_call(
    command: str, env: Mapping[str, str], *, environ: Mapping[str, str], directory: str, announced: bool = False
) -> ShellCall:
    """Return the call that runs `command` in `directory` with the variables `env`; `environ` is the adapter's (H12).

    With `announced`, descriptor 0 is the write end of a pipe. The shell writes a byte to it after its start, and then
    opens /dev/null there for the command. Raises `WorkspaceError`, which never contains a value.
    """
    _check(command, env)
    command, env = _to_utf8(command), {name: _to_utf8(value) for name, value in env.items()}
    base = {"PATH": environ.get("PATH") or _PATH, **_FIXED, "PWD": directory}
    base |= {name: environ[name] for name in _INHERITED if name in environ}
    # The containing process has this environment too, outside of the sandbox. A variable that makes the dynamic linker
    # load a library must reach only the command. So the shell gets all values under neutral names, and sets the real
    # names for the command.
    neutral = {f"{_NEUTRAL}{number}": value for number, value in enumerate(env.values())}
    prelude = ["echo >&0", "exec </dev/null"] if announced else []
    if env:
        assignments = (f'{name}="${other}"' for name, other in zip(env, neutral, strict=True))
        prelude += [f"export {' '.join(assignments)}", f"unset {' '.join(neutral)}"]
    shell = _choose_shell()
    # `--`, because a command may begin with `-`.
    if not prelude:
        return ShellCall((shell, "-c", "--", command), base)
    prelude.append(f'exec {shell} -c -- "$1"')
    return ShellCall((shell, "-c", "\n".join(prelude), "sh", command), base | neutral)


def _choose_shell() -> str:
    """Return dash, whose language a policy understands, or the system's shell if dash is not installed (A10, H8)."""
    return next((path for path in _DASH if os.access(path, os.X_OK)), _SHELL)


def _to_utf8(text: str) -> str:
    """Return a text that Python passes to the system as UTF-8, even if the locale has another encoding."""
    return os.fsdecode(text.encode())


def _check(command: str, env: Mapping[str, str]) -> None:
    _check_text(command, "command")
    for name, value in env.items():
        if not _NAME.fullmatch(name):
            raise WorkspaceError(
                "bad_name", "Name of a variable is invalid. Use letters, digits and _, and no digit first."
            )
        if name.startswith(_OURS):
            raise WorkspaceError("bad_name", f"Variables that begin with {_OURS} are reserved. Use another name.")
        # The value has two names, its own and the neutral one. The longer name counts.
        _check_text(value, f"value of {name}", spare=max(len(name), len(_NEUTRAL) + len(str(len(env)))) + 1)


def _check_text(text: str, what: str, *, spare: int = 0) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise WorkspaceError("bad_name", f"The {what} is not valid Unicode text. Use whole characters.") from None
    if b"\0" in encoded:
        raise WorkspaceError("bad_name", f"The {what} has a NUL character. Leave it out.")
    if len(encoded) + spare > _LONGEST:
        raise WorkspaceError("too_large", f"The {what} is longer than {_LONGEST} bytes. Put it into a file.")
