"""Write answers that follow the protocol, or random ones made of parts of tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from codex_adapter.protocols.mailbox.messages import (
    AnswerItem,
    CreateFile,
    DeleteFile,
    Done,
    EditFile,
    Malformed,
    ReadFile,
    RunCommand,
    ShowMessage,
)

__all__ = ["NAMES", "block", "odd_answer"]

NAMES = ("CREATE_FILE", "EDIT_FILE", "DELETE_FILE", "READ_FILE", "RUN_COMMAND", "MESSAGE", "DONE")


def block(command: AnswerItem) -> str:
    """The block of a command, as its protocol says that it is written; ends with a newline."""
    match command:
        case CreateFile(path=path, content=content):
            return _with_body("CREATE_FILE", f" path={_quoted(path)}", content)
        case EditFile(path=path, start_line=start, end_line=end, content=content):
            given = f' path={_quoted(path)} start_line="{start}" end_line="{end}"'
            return _with_body("EDIT_FILE", given, content)
        case DeleteFile(path=path) | ReadFile(path=path):
            return f"[{command.name} path={_quoted(path)}]\n"
        case RunCommand(command=text) | ShowMessage(text=text) | Done(text=text):
            return _with_body(command.name, "", text and f"{text}\n")
        case Malformed():
            raise TypeError("what is malformed cannot be asked for")


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _with_body(name: str, given: str, body: str) -> str:
    lines = [_escaped(name, line) for line in body.split("\n")]
    return f"[{name}{given}]\n" + "\n".join(lines) + f"[/{name}]\n"


def _escaped(name: str, line: str) -> str:
    """One backslash more before every line that is a tag of its own command, behind backslashes or not."""
    return re.sub(rf"^([\s\u200b\ufeff]*)(\\*\[(?:{name}\b|/{name}\][\s\u200b\ufeff]*$))", r"\1\\\2", line)


_LINES = (
    *("[{name}]", "[{name}", "[/{name}]", "[/{name}]", "[/{name}]", " \t[/{name}]  ", "\\[/{name}]", "\\\\[{name}]"),
    *('[{name} path="a"]', '[{name} path="a" start_line="1" end_line="2"]', "[{name}] x [/{name}]", "**[{name}]**"),
    *('**[{name} path="b"]**', "\\[{name}]", "[{name}_X]", "x[/{name}]", "[/{name}] x", "use [{name}] here"),
    *("[{name}:", "text", "", "```", "```sh", "````", " ``` ", "ls -l", "[{lower}]", "[ {name}]", "\u200b[{name}]"),
    *("[{name} path='a']", '[{name} path="a" path="b"]', '[{name} path=""]', "[{name} path=“a”]", "\ufeff[/{name}]"),
)
_PIECES = (
    *("[", "]", "/", "\\", "\\\\", '"', '\\"', "=", " ", "\t", "\r", "\xa0", "\u3000", "\0", "x", "1", "٣", "é", "😀"),
    *(' path="', ' path="a"', ' start_line="1"', ' end_line="9"', ' end_line="1234567890"', "[{name}", "[/{name}]"),
    *("{name}", "[{name}]", "`", "```", "“", "'", "\u200b", "\ufeff", "\u2028", ' PATH="a"', ' x_y="', "_", "-"),
)
_ENDS = ("\n",) * 12 + ("\r\n",) * 4 + ("\n\n", "\r", "\r\r\n", "")


def odd_answer(random: Random) -> bytes:
    """An answer of which nearly every line is a tag, or nearly one, of few commands; about half of it is right."""
    names = random.choices(NAMES, k=random.choice((1, 1, 2, 2, 3, 5)))
    right = random.random()
    text = "".join(
        _right_block(random, names) if random.random() < right else _line(random, names) + random.choice(_ENDS)
        for _ in range(random.randrange(1, 9))
    )
    if random.random() < 0.1:
        lines = text.splitlines(keepends=True)
        random.shuffle(lines)
        text = "".join(lines)
    kind = random.random()
    if kind < 0.03:
        return text.encode("utf-16")[: random.choice((None, None, -1))]
    if kind < 0.06:
        data = bytearray(text.encode())
        for _ in range(random.randrange(1, 3)):
            data.insert(random.randrange(len(data) + 1), random.choice((0x80, 0xFF, 0xC3, 0x0A, 0xFE)))
        return bytes(data)
    return (b"\xef\xbb\xbf" if kind < 0.09 else b"") + text.encode()


def _right_block(random: Random, names: Sequence[str]) -> str:
    """The block of a command with odd lines in its body; one that must not be blank has a line."""
    name = random.choice(names)
    path = "".join(random.choices('ab/\\"]é \u3000[', k=random.randrange(1, 6))) + "x"
    others = [other for other in NAMES if other != name] if random.random() < 0.7 else names
    content = "".join(_line(random, others) + "\n" for _ in range(random.randrange(4)))
    made: dict[str, AnswerItem] = {
        "CREATE_FILE": CreateFile(line=0, path=path, content=content),
        "EDIT_FILE": EditFile(line=0, path=path, start_line=random.randrange(9), end_line=9, content=content),
        "DELETE_FILE": DeleteFile(line=0, path=path),
        "READ_FILE": ReadFile(line=0, path=path),
        "RUN_COMMAND": RunCommand(line=0, command=random.choice(("ls\n", "```\nls\n```", "ls", "```ls```")) + content),
        "MESSAGE": ShowMessage(line=0, text=content + "x"),
        "DONE": Done(line=0, text=content),
    }
    return block(made[name])


def _line(random: Random, names: Sequence[str]) -> str:
    name = random.choice(names)
    if random.random() < 0.3:
        line = "".join(random.choices(_PIECES, k=random.randrange(1, 7)))
        return f"[{name}{line}" if random.random() < 0.4 else line.replace("{name}", name)
    line = random.choice(_LINES)
    if random.random() < 0.1:
        place = random.randrange(len(line) + 1)
        line = line[:place] + random.choice(_PIECES) + line[place + random.randrange(2) :]
    return line.replace("{name}", name).replace("{lower}", name.lower())
