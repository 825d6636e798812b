"""Draw docs/pictures/demo.svg: run `codex-adapter demo` in a terminal, and draw what the terminal shows.

    python -m docs.generate.picture

The demo runs the real Codex CLI with a scripted model. The picture is drawn by rich, which the extra `pretty` installs.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fcntl import ioctl
from io import StringIO
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

__all__ = ["drawn", "recorded"]

PICTURE: Final = Path(__file__).parents[1] / "pictures" / "demo.svg"
COLUMNS: Final = 84
ROWS: Final = 40
_VARYING: Final = (
    (re.compile(r"/\S*/codex-adapter-demo-\w+"), "/tmp/codex-adapter-demo"),
    (re.compile(r"/\S*/bin/codex\b"), "~/.venv/bin/codex"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "01a207c1-7910-7472-95cf-b86e8b4200c0"),
    (re.compile(r"[0-9]+\.[0-9] s\b"), "0.1 s"),
)
"""What differs from run to run or from machine to machine, and what the picture shows instead."""
_THEME: Final = TerminalTheme(
    (24, 26, 32),
    (214, 218, 228),
    [
        (24, 26, 32),
        (240, 113, 120),
        (152, 211, 121),
        (240, 198, 116),
        (122, 176, 255),
        (206, 147, 236),
        (103, 205, 220),
        (214, 218, 228),
    ],
    [
        (130, 138, 154),
        (240, 113, 120),
        (152, 211, 121),
        (240, 198, 116),
        (122, 176, 255),
        (206, 147, 236),
        (103, 205, 220),
        (255, 255, 255),
    ],
)
_SVG: Final = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="codex-adapter demo in a \
terminal">
<style>
text {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>\
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's own format loads a font from another site, which a page without a network does not have."""


def recorded(command: list[str], cwd: str) -> str:
    """Return what a command prints in a terminal. Raise ValueError if it fails."""
    terminal, screen = os.openpty()
    ioctl(screen, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {"PATH": os.environ["PATH"], "HOME": cwd, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    with (
        open(terminal, "rb", buffering=0) as shown,  # noqa: PTH123 - a descriptor
        subprocess.Popen(command, stdin=screen, stdout=screen, stderr=screen, cwd=cwd, env=env) as process,
    ):
        os.close(screen)
        output = b"".join(_chunks(shown.fileno())).decode(errors="replace")
    if process.returncode != 0:
        raise ValueError(f"the command failed: {output}")
    return output


def drawn(output: str, command: str) -> str:
    """Return an SVG of a terminal in which a command has printed this."""
    for pattern, instead in _VARYING:
        output = pattern.sub(instead, output)
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
    console.print(Text.from_ansi(output.replace("\r\n", "\n").rstrip("\n")))
    return console.export_svg(title=command, theme=_THEME, code_format=_SVG, unique_id="demo")


def _chunks(terminal: int) -> Iterator[bytes]:
    """Return what a terminal shows until the other side is closed, which Linux reports as an error."""
    try:
        while chunk := os.read(terminal, 65536):
            yield chunk
    except OSError:
        return


def main() -> None:
    """Draw the picture."""
    with tempfile.TemporaryDirectory() as place:
        output = recorded([sys.executable, "-m", "codex_adapter", "demo"], place)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn(output, "codex-adapter demo"), encoding="utf-8")


if __name__ == "__main__":
    main()
