"""Find the real CLIs to test: the one in the wheel, and the releases in `$CODEX_RELEASES/<version>/`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from typing_extensions import override

from codex_adapter.agents.codex.releases import quirk
from codex_adapter.runtime.programs import Version

from ..needs import has_no_such_case

__all__ = ["Release", "installed", "sandbox_works"]


class Release(NamedTuple):
    """One Codex CLI: its version, its native binary, and for one from npm the launcher script."""

    version: tuple[int, ...]
    binary: Path
    launcher: Path | None = None

    @override
    def __str__(self) -> str:
        return ".".join(map(str, self.version))

    def before(self, *version: int) -> bool:
        """Whether this release is older than that version."""
        return self.version < version

    @property
    def pause(self) -> float:
        """Seconds that the model must wait after a command, or the release tells the command's end late or never."""
        return 1.0 if self.has("command_completion_lost") else 0.0

    def has(self, name: str) -> bool:
        """Whether the release has this quirk (R1)."""
        major, minor, patch = self.version
        return quirk(name).holds(Version(major, minor, patch))

    def write_models_cache(self, home: Path) -> None:
        """Spare this release the three seconds in which it tries to load a list of models from where there is none."""
        if self.has("asks_for_models"):
            now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
            cache: dict[str, object] = {"fetched_at": now, "etag": None, "client_version": str(self), "models": []}
            (home / "models_cache.json").write_text(json.dumps(cache))

    def keeps_what_is_not_read(self) -> None:
        """Skip the test for the releases that drop items while nobody reads their stdout."""
        if self.has("drops_what_is_not_read"):
            has_no_such_case("this release drops what is not read at once")

    def needs(self, *version: int, what: str) -> None:
        """Skip the test for releases before that version."""
        if self.before(*version):
            pytest.skip(f"{what}: since {'.'.join(map(str, version))}")


def installed() -> list[Release]:
    """Every release that is there, the wheel's first."""
    return [*_wheel(), *_from_npm()]


@cache
def sandbox_works(binary: Path) -> bool:
    """Return whether this CLI can run a command in its own sandbox on this machine."""
    with tempfile.TemporaryDirectory() as place:
        home, temporary = Path(place, "home"), Path(place, "tmp")
        for directory in (home, temporary):
            directory.mkdir()
        env = {**os.environ, "CODEX_HOME": str(home), "TMPDIR": str(temporary)}
        return any(
            subprocess.run(
                [str(binary), *words, "--", "/bin/sh", "-c", "exit 7"],
                env=env,
                cwd=place,
                check=False,
                capture_output=True,
                timeout=60,
            ).returncode
            == 7
            for words in (["sandbox"], ["sandbox", "linux"])
        )


def _wheel() -> Iterator[Release]:
    spec = importlib.util.find_spec("codex_cli_bin")
    if spec is not None and spec.origin is not None:
        version = importlib.metadata.version("openai-codex-cli-bin")
        yield Release(_numbers(version), Path(spec.origin).parent / "bin" / "codex")


def _from_npm() -> Iterator[Release]:
    below = os.environ.get("CODEX_RELEASES")
    for directory in sorted(Path(below).iterdir(), key=lambda path: _numbers(path.name)) if below else ():
        natives = f"node_modules/**/vendor/{platform.machine()}-unknown-linux-musl/*/codex"
        for native in directory.glob(natives):
            yield Release(_numbers(directory.name), native, directory / "node_modules/@openai/codex/bin/codex.js")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split(".") if number.isdigit())
