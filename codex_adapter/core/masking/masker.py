"""Credentials -> `***`, in time linear in the text: the run's own secrets, and well-known shapes (X5, X7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from msgspec.structs import replace

from codex_adapter.core.bounds import MESSAGE_LIMIT, cut
from codex_adapter.core.masking.credentials import SHORTEST_SECRET
from codex_adapter.core.masking.encodings import words_around
from codex_adapter.core.masking.escapes import Span, merged
from codex_adapter.core.masking.secret_forms import MASK, SecretForms, Work
from codex_adapter.core.masking.token_shapes import long_words, may_have_token, token_spans
from codex_adapter.events import (
    ErrorSource,
    Event,
    Facet,
    PayloadText,
    Plan,
    PlanItem,
    TextPart,
    ToolCall,
    ToolInput,
    ToolOutput,
)

__all__ = ["MASK", "SHORTEST_SECRET", "Masker", "mask_event"]

_WINDOW: Final = 65_536
_LONGEST_SHAPE: Final = 512
_NAMES: Final = 64
_LONGEST_NAME: Final = 1_024

_Payloads = TypeVar("_Payloads", ToolInput, ToolOutput)


class Masker:
    """Replaces every given secret, and everything that is shaped like a credential, by `***` (X5).

    Values shorter than 8 characters are too common to be replaced and are left out (X6). No method raises: what cannot
    be masked is replaced whole (X7).
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        stripped = (secret.strip() for secret in secrets)
        self._forms = SecretForms(secret for secret in stripped if len(secret) >= SHORTEST_SECRET)
        self.overlap: Final = max(_LONGEST_SHAPE, self._forms.longest)
        """Characters at the end of a text that may be masked otherwise when the text goes on."""
        self._mask_again = lru_cache(_NAMES)(self.mask)

    def may_touch(self, texts: Sequence[str]) -> bool:
        """Whether `mask` could change any of the texts: a cheap 'no' for almost all, and never a wrong one."""
        try:
            return next(self._windows("\0".join(texts).encode()), None) is not None
        except Exception:  # noqa: BLE001 - whatever it is, `mask` then drops the texts
            return True

    def mask(self, text: str) -> str:
        """The text without its secrets; nothing but `***` when it cannot be masked (X5, X7)."""
        try:
            data = text.encode()
            spans = self._spans(data)
            return _without(data, spans) if spans else text
        except Exception:  # noqa: BLE001 - whatever a text does to the masking, it must not come out unmasked
            return MASK

    def mask_name(self, name: str) -> str:
        """Mask a name or an id, of which few are used again and again (X5)."""
        # One that is longer than any should be is not worth its memory.
        return self._mask_again(name) if len(name) <= _LONGEST_NAME else self.mask(name)

    def mask_beginning(self, text: str, limit: int) -> str:
        """Mask a text of which no more than `limit` characters are shown.

        The result is longer than that where the text is, and begins as the whole text would, masked (X5).
        """
        # Of what is masked otherwise when the text goes on, nothing begins before the last `overlap` characters.
        end = limit + 4 * self.overlap
        while end < len(text):
            masked = self.mask(text[:end])
            if len(masked) > limit + self.overlap:
                return masked
            end *= 4
        return self.mask(text)

    def mask_and_cut(self, text: str, limit: int) -> str:
        """Return a text masked, and cut to `limit` bytes where it is longer (X5, B3)."""
        return cut(self.mask_beginning(text, limit), limit)

    def _windows(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The parts of a text that may have something to mask; they overlap so that nothing is missed at a border."""
        # A long text is looked at in windows.
        step = max(_WINDOW, 2 * self.overlap)
        for start in range(0, max(len(data), 1), step):
            end = min(start + step + self.overlap, len(data))
            window = data if end - start == len(data) else data[start:end]
            words = long_words(window)
            if may_have_token(window, words) or self._forms.may_be_in(window, words):
                yield start, end

    def _spans(self, data: bytes) -> list[Span]:
        found: list[Span] = []
        encoded: list[Span] = []
        work = Work()
        shaped = 0
        for start, end in self._windows(data):
            exact, in_words = self._forms.spans(data[start:end], work)
            found += [(first + start, last + start) for first, last in merged(exact)]
            encoded += [(first + start, last + start) for first, last in merged(in_words)]
            shapes = token_spans(data, max(start, shaped), end)
            found += shapes
            shaped = max([shaped, *(last for _, last in shapes)])
        return merged(found + words_around(data, merged(encoded))) if found or encoded else []


def _without(data: bytes, spans: list[Span]) -> str:
    pieces: list[bytes] = []
    end = 0
    for start, stop in spans:
        pieces += data[end:start], MASK.encode()
        end = stop
    pieces.append(data[end:])
    return b"".join(pieces).decode()


def mask_event(event: Event, masker: Masker) -> Event:
    """The event with the strings of its line masked, but for those that the mapping has masked already (X5)."""
    text, message, data = event.text, event.message, event.data
    if text is not None:
        text = masker.mask(text)
    if message is not None and isinstance(data, ErrorSource):  # any other message is our own
        message = masker.mask_beginning(message, MESSAGE_LIMIT)
    return replace(event, text=text, message=message, data=_mask_facet(data, masker))


def _mask_facet(data: Facet | None, masker: Masker) -> Facet | None:
    def mask(text: str | None) -> str | None:
        return None if text is None else masker.mask(text)

    match data:
        case TextPart():
            return replace(data, item_id=mask(data.item_id))
        case ToolCall(tool=tool):
            names = {"backend_item_id": mask(tool.backend_item_id), "tool_name": mask(tool.tool_name)}
            asked, answered = _mask_payloads(data.input, masker), _mask_payloads(data.output, masker)
            return ToolCall(replace(tool, **names), asked, answered)
        case Plan():
            return Plan(tuple(PlanItem(masker.mask(step.text), step.completed) for step in data.items))
    return data


def _mask_payloads(payloads: _Payloads | None, masker: Masker) -> _Payloads | None:
    """Those that are cut were masked before, and must not be looked at again without what was cut off."""
    if payloads is None:
        return None
    texts = {name: getattr(payloads, name) for name in payloads.__struct_fields__}
    masked = {
        name: PayloadText(masker.mask(payload.text), truncated=False)
        for name, payload in texts.items()
        if payload is not None and not payload.truncated
    }
    return replace(payloads, **masked)
