"""Measure other wrappers of `codex exec --json` over the same stream, with the same substitute for the agent.

`python -m benchmarks --install-peers DIR` installs them, and `--peers DIR` measures them. Their releases are pinned, so
that two tables can be compared. The programs in this folder belong to this project, one for each kind of use.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO, Final, Literal

import msgspec

from benchmarks.measuring import Face, Measured, Work, agent, run_measured

__all__ = ["NOT_MEASURED", "OFFICIAL", "PEERS", "Peer", "install", "installed_faces"]

_PROGRAMS: Final = Path(__file__).parent
_LONGEST: Final = 60
"""Seconds after which a peer is taken to hang, as some do over a line that they refuse."""


class Peer(msgspec.Struct, frozen=True):
    """One package: where it comes from, how it is imported, and the program that uses it."""

    package: str
    version: str
    registry: Literal["npm", "PyPI"]
    module: str
    program: str
    about: str

    @property
    def name(self) -> str:
        """What the tables call it."""
        return f"{self.package} {self.version}"


PEERS: Final = (
    Peer(
        "@openai/codex-sdk",
        "0.163.0",
        "npm",
        "@openai/codex-sdk",
        "typescript_sdk.mjs",
        "the official TypeScript SDK: JSON.parse of each line, no types at run time",
    ),
    Peer(
        "openai-codex-sdk",
        "0.1.11",
        "PyPI",
        "openai_codex_sdk",
        "python_ports.py",
        "a port of it to Python, asyncio and pydantic",
    ),
    Peer(
        "codex-sdk-python",
        "0.117.0",
        "PyPI",
        "codex_sdk",
        "python_ports.py",
        "another port of it to Python, asyncio and dataclasses",
    ),
    Peer("codexcw", "0.5.1", "PyPI", "codexcw", "rust_core.py", "a Python package with its core in Rust, threads"),
)

OFFICIAL: Final = PEERS[0]

NOT_MEASURED: Final = {
    "openai-codex": "the official Python SDK uses JSON-RPC with `codex app-server`, whose messages differ from those "
    "of `codex exec --json`. No stream fits both",
    "takopi": "it needs Python 3.14",
}
"""Other known packages, and why they are not in the tables."""


def install(folder: Path) -> bool:
    """Install what is missing below `folder`, and tell what could not be."""
    for registry in ("npm", "PyPI"):
        missing = [peer for peer in PEERS if peer.registry == registry and not _is_installed(peer, folder)]
        if not missing:
            continue
        try:
            for words in _install_commands(registry, missing, folder):
                subprocess.run(words, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"nothing was installed from {registry}: {type(error).__name__}", file=sys.stderr)
    for peer in PEERS:
        print(f"{peer.name}: {'installed' if _is_installed(peer, folder) else 'NOT installed'}")
    return all(_is_installed(peer, folder) for peer in PEERS)


def _install_commands(registry: str, peers: list[Peer], folder: Path) -> list[list[str]]:
    if registry == "npm":
        # Without the CLI itself, 200 MB that the stand-in takes the place of.
        words = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional"]
        return [[*words, "--prefix", str(folder / "node"), *(f"{peer.package}@{peer.version}" for peer in peers)]]
    python = folder / "python"
    pip = [str(python / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [
        [sys.executable, "-m", "venv", str(python)],
        [*pip, *(f"{peer.package}=={peer.version}" for peer in peers)],
    ]


def _is_installed(peer: Peer, folder: Path) -> bool:
    if peer.registry == "npm":
        manifest = folder / "node" / "node_modules" / peer.package / "package.json"
        return manifest.exists() and json.loads(manifest.read_text())["version"] == peer.version
    metadata = f"lib/python*/site-packages/{peer.package.replace('-', '_')}-{peer.version}.dist-info"
    return any((folder / "python").glob(metadata))


def installed_faces(folder: Path | None) -> dict[str, Face]:
    """The peers that are installed below `folder`, by their names."""
    if folder is None:
        return {}
    return {peer.name: _face(peer, folder.absolute()) for peer in PEERS if _is_installed(peer, folder)}


def _face(peer: Peer, folder: Path) -> Face:
    if peer.registry == "npm":
        # Node looks for packages beside the program that asks for them.
        words = ["node", str(shutil.copy(_PROGRAMS / peer.program, folder / "node"))]
    else:
        words = [str(folder / "python" / "bin" / "python"), str(_PROGRAMS / peer.program), peer.module]

    def face(work: Work) -> Measured:
        said = b""

        def read(stdout: IO[bytes]) -> None:
            nonlocal said
            said = stdout.read()

        command = ["timeout", str(_LONGEST), *words, agent(work.path)]
        usage = run_measured(command, {**os.environ, "CODEX_HOME": str(folder)}, read, quiet=True)
        if usage.status == 124:
            return Measured(usage.seconds, peak_mib=usage.peak_mib, failure=f"no end within {_LONGEST} s")
        count, _, failure = said.decode().strip().partition(" ")
        if usage.status != 0 or not count:
            return Measured(usage.seconds, peak_mib=usage.peak_mib, failure=f"ends with status {usage.status}")
        return Measured(usage.seconds, int(count), peak_mib=usage.peak_mib, failure=failure)

    return face
