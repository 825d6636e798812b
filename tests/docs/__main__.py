"""Write into the pages what their commands print now: `python -m tests.docs [PAGE...]` (DC10)."""

from __future__ import annotations

import sys
import tempfile
import textwrap
from itertools import pairwise
from pathlib import Path

from .output import differences
from .pages import all_pages, read_blocks
from .running import run_page


def write_outputs(page: Path) -> bool:
    """Replace outputs that are not true any more; return whether the page's commands could be run."""
    blocks = read_blocks(page)
    if not any(block.output for block in blocks):
        return True
    with tempfile.TemporaryDirectory() as directory:
        ran = run_page(blocks, Path(directory))
    if ran.status:
        print(f"{page}: {ran.stderr}", file=sys.stderr)
        return False
    source = page.read_text()
    for before, block in reversed([*pairwise(blocks)]):
        printed = ran.printed.get(before.line)
        if block.output and printed is not None and differences(block.text, printed):
            if "\n...\n" in f"\n{block.text}":
                print(f"{block.where} has `...`: write it yourself.\n{printed}")
                continue
            start, end = block.span
            lines = [line.rstrip() for line in printed.strip("\n").split("\n")]
            text = textwrap.indent("\n".join([*lines, ""]), block.indent)
            source = source[:start] + text + source[end:]
    page.write_text(source)
    return True


if __name__ == "__main__":
    pages = [Path(word).resolve() for word in sys.argv[1:]] or all_pages()
    written = [write_outputs(page) for page in pages]
    sys.exit(0 if all(written) else 1)
