"""Convert the body of a block to the content or text that it means (I3)."""

from __future__ import annotations

import re
from typing import Final

from codex_adapter.protocols.mailbox.tags import BODIES, WHITE_SPACE, MalformedError, closing_tag

__all__ = ["remove_fence", "unescape_tags"]

_WITHIN_LINE: Final = WHITE_SPACE.replace("\n", "")
_ESCAPED_TAG: Final = {
    name: re.compile(
        rf"^([{_WITHIN_LINE}]*+)\\(?=\\*+(?:\[{name}\b|{re.escape(closing_tag(name))}[{_WITHIN_LINE}]*+$))",
        re.MULTILINE,
    )
    for name in BODIES
}
_FENCE: Final = "```"
_FENCE_OPENS: Final = re.compile(r"`{3,}+[A-Za-z0-9_+.-]*+")
_FENCE_CLOSES: Final = re.compile(r"`{3,}+")


def unescape_tags(name: str, body: str) -> str:
    """Return the body. A line that is an escaped tag of its own command loses its first backslash."""
    return _ESCAPED_TAG[name].sub(r"\1", body)


def remove_fence(command: str) -> str:
    """Return a command without the code fence around it. Raises `MalformedError` if the fence is not complete."""
    trimmed = command.strip(WHITE_SPACE)
    first, _, rest = trimmed.partition("\n")
    inner, _, last = rest.rpartition("\n")
    first, last = first.strip(WHITE_SPACE), last.strip(WHITE_SPACE)
    if not first.startswith(_FENCE) and not (last or first).startswith(_FENCE):
        return command
    if _FENCE_OPENS.fullmatch(first) and _FENCE_CLOSES.fullmatch(last):
        return inner
    raise MalformedError("the code fence is incomplete. Remove it, or put its two lines around the command")
