"""Read the release of a CLI from the package that it was installed with, without starting it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from codex_adapter.agents.codex.binary import At
from codex_adapter.agents.codex.releases import Version, parse_version

__all__ = ["packaged_release"]

_DEEPEST: Final = 8
_LARGEST: Final = 65_536
_WHEEL: Final = "codex_cli_bin"
_WHEEL_FACTS: Final = re.compile(r"openai_codex_cli_bin-(.+)\.dist-info")


def packaged_release(binary: str, at: At) -> Version | None:
    """Return the release that the npm package or the wheel around a binary has; None outside of these. Blocks on files.

    `at` gets the role and the path of each file before it is looked at.
    """
    for directory in Path(os.path.realpath(binary)).parents[:_DEEPEST]:
        at("codex binary", str(directory))
        with suppress(OSError):
            if directory.name == _WHEEL:
                names = os.listdir(directory.parent)  # noqa: PTH208 - names are all that is needed
                found = next(filter(None, map(_WHEEL_FACTS.fullmatch, names)), None)
                return None if found is None else parse_version(f"codex-cli {found[1]}")
            with (directory / "package.json").open("rb") as file:
                return _of_npm(file.read(_LARGEST))
    return None


def _of_npm(content: bytes) -> Version | None:
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        facts: Any = msgspec.json.decode(content)
        if isinstance(facts, dict) and str(facts.get("name")).startswith("@openai/codex"):
            return parse_version(f"codex-cli {facts.get('version')}")
    return None
