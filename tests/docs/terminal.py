"""Run a shell text on a terminal, and answer its questions: `python terminal.py TEXT [ANSWER]`."""

from __future__ import annotations

import os
import pty
import sys
from contextlib import suppress

text, answer = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
child, terminal = pty.fork()
if child == 0:
    os.execvp("bash", ["bash", "-c", text])
said, asked = b"", 0  # `asked`: how much had been said at the last question
with suppress(OSError):  # the end of a terminal's output is an error of input
    while piece := os.read(terminal, 4096):
        said += piece
        if answer and said.endswith(b": ") and len(said) > asked:
            os.write(terminal, f"{answer}\n".encode())
            asked = len(said) + len(answer) + 2
sys.stdout.write(said.decode().replace("\r\n", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
