"""Add the masked and bounded input and output of a tool to its facet, for full payloads (M7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from codex_adapter.core.bounds import DATA_LIMIT
from codex_adapter.core.masking.masker import Masker
from codex_adapter.events import PayloadText, Tool, ToolCall, ToolInput, ToolOutput

__all__ = ["facet_with_payloads", "json_text"]

PAYLOAD_LIMIT: Final = 16 * 1024
# Payloads and names of this many characters together fit into a facet with any JSON escapes.
SHORT_PAYLOADS: Final = 4 * 1024

_encode = msgspec.json.Encoder().encode


def facet_with_payloads(
    tool: Tool, inputs: Mapping[str, str | None], outputs: Mapping[str, str | None], masker: Masker, unmasked: list[str]
) -> ToolCall:
    """Return the tools facet with input and output. Shorten the payloads until the facet is within its limit.

    `inputs` and `outputs` have texts under the names of the fields of `ToolInput` and `ToolOutput`. Short payloads stay
    unchanged and are appended to `unmasked`; the caller masks them (B4, M7, X5).
    """
    asked = {name: text for name, text in inputs.items() if text is not None}
    answered = {name: text for name, text in outputs.items() if text is not None}
    size = sum(map(len, asked.values())) + sum(map(len, answered.values()))
    if size + len(tool.backend_item_id or "") + len(tool.tool_name or "") <= SHORT_PAYLOADS:
        unmasked.extend(asked.values())
        unmasked.extend(answered.values())
        return ToolCall(tool, ToolInput(**_whole(asked)), ToolOutput(**_whole(answered)))
    # Mask before the cut: a secret that is cut in two would not be recognised.
    asked = {name: masker.mask_beginning(text, PAYLOAD_LIMIT) for name, text in asked.items()}
    answered = {name: masker.mask_beginning(text, PAYLOAD_LIMIT) for name, text in answered.items()}
    limit = PAYLOAD_LIMIT
    while limit:
        facet = ToolCall(tool, ToolInput(**_cut(asked, limit)), ToolOutput(**_cut(answered, limit)))
        if len(_encode(facet)) <= DATA_LIMIT:
            return facet
        limit //= 2
    return ToolCall(tool)


def json_text(raw: msgspec.Raw) -> str | None:
    """Return the JSON text of an undecoded value, None for null and for a missing value."""
    text = bytes(raw).decode(errors="replace")
    if text in ("", "null"):
        return None
    return _ESCAPE.sub(_unescape, text) if "\\u" in text else text


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def _unescape(escape: re.Match[str]) -> str:
    """Return the character, if JSON allows it unescaped, so that a secret is recognised in any spelling (X5)."""
    code = int(escape[1], 16) if escape[1] else 0
    plain = code >= 0x20 and code not in (0x22, 0x5C) and not 0xD800 <= code <= 0xDFFF
    return chr(code) if plain else escape[0]


def _whole(texts: dict[str, str]) -> dict[str, PayloadText]:
    return {name: PayloadText(text, truncated=False) for name, text in texts.items()}


def _cut(texts: dict[str, str], limit: int) -> dict[str, PayloadText]:
    cut: dict[str, PayloadText] = {}
    for name, text in texts.items():
        kept = text[:limit].encode()[:limit].decode(errors="ignore")
        cut[name] = PayloadText(kept, truncated=len(kept) < len(text))
    return cut
