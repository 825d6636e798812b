"""Replace credentials by `***` in linear time: the run's own secrets, and well-known shapes (X5, X7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from msgspec.structs import replace

from codex_adapter.core.bounds import MESSAGE_LIMIT, cut
from codex_adapter.core.masking.credentials import SHORTEST_SECRET
from codex_adapter.core.masking.encodings import widen_to_words
from codex_adapter.core.masking.escapes import Span, merge_spans
from codex_adapter.core.masking.secret_forms import MASK, SecretForms, Work
from codex_adapter.core.masking.token_shapes import long_words, may_have_token, token_spans
from codex_adapter.events import (
    AgentInfo,
    ErrorSource,
    Event,
    Facet,
    PayloadText,
    Plan,
    RateLimit,
    TextPart,
    ToolCall,
    ToolInput,
    ToolOutput,
)

__all__ = ["MASK", "SHORTEST_SECRET", "Masker", "mask_event", "texts_to_mask"]

_WINDOW: Final = 65_536
_LONGEST_SHAPE: Final = 512
_NAMES: Final = 64
_LONGEST_NAME: Final = 1_024

_Payloads = TypeVar("_Payloads", ToolInput, ToolOutput)


class Masker:
    """A masker of a run's secrets, and of everything that is shaped like a credential.

    A value shorter than 8 characters is too common and is not replaced. No method raises. A text that cannot be masked
    is replaced as a whole (X5, X6, X7).
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        stripped = (secret.strip() for secret in secrets)
        self._forms = SecretForms(secret for secret in stripped if len(secret) >= SHORTEST_SECRET)
        self.overlap: Final = max(_LONGEST_SHAPE, self._forms.longest)
        """The number of characters at the end of a text whose masking may change when the text continues."""
        self._mask_again = lru_cache(_NAMES)(self.mask)

    def may_touch(self, texts: Sequence[str]) -> bool:
        """Return whether `mask` could change any of the texts. This is cheap, and never wrongly False."""
        try:
            return next(self._windows("\0".join(texts).encode()), None) is not None
        except Exception:  # noqa: BLE001 - after any error, `mask` drops the texts
            return True

    def mask(self, text: str) -> str:
        """Return the text without its secrets, or only `***` if it cannot be masked (X5, X7)."""
        try:
            data = text.encode()
            spans = self._spans(data)
            return _replace_spans(data, spans) if spans else text
        except Exception:  # noqa: BLE001 - a text that breaks the masking must not be shown unmasked
            return MASK

    def mask_name(self, name: str) -> str:
        """Mask a name or an id. Results are cached, because few names are used often (X5)."""
        # A longer name is not worth the memory of the cache.
        return self._mask_again(name) if len(name) <= _LONGEST_NAME else self.mask(name)

    def mask_beginning(self, text: str, limit: int) -> str:
        """Mask a text of which at most `limit` characters are shown.

        If the text is longer than `limit`, so is the result. It begins like the whole masked text (X5).
        """
        # Masking that depends on later text begins only within the last `overlap` characters.
        end = limit + 4 * self.overlap
        while end < len(text):
            masked = self.mask(text[:end])
            if len(masked) > limit + self.overlap:
                return masked
            end *= 4
        return self.mask(text)

    def mask_and_cut(self, text: str, limit: int) -> str:
        """Return a masked text, cut to `limit` bytes if it is longer (X5, B3)."""
        return cut(self.mask_beginning(text, limit), limit)

    def _windows(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the parts of a text that may need masking. They overlap, so no secret at a border is missed."""
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
            found += [(first + start, last + start) for first, last in merge_spans(exact)]
            encoded += [(first + start, last + start) for first, last in merge_spans(in_words)]
            shapes = token_spans(data, max(start, shaped), end)
            found += shapes
            shaped = max([shaped, *(last for _, last in shapes)])
        return merge_spans(found + widen_to_words(data, merge_spans(encoded))) if found or encoded else []


def _replace_spans(data: bytes, spans: list[Span]) -> str:
    pieces: list[bytes] = []
    end = 0
    for start, stop in spans:
        pieces += data[end:start], MASK.encode()
        end = stop
    pieces.append(data[end:])
    return b"".join(pieces).decode()


def mask_event(event: Event, masker: Masker) -> Event:
    """Return the event with its strings masked, except those that the decoder masked already (X5)."""
    text, message, data = event.text, event.message, event.data
    if text is not None:
        text = masker.mask(text)
    if message is not None and isinstance(data, ErrorSource):  # the adapter wrote any other message
        message = masker.mask_beginning(message, MESSAGE_LIMIT)
    return replace(event, text=text, message=message, data=_mask_facet(data, masker))


def texts_to_mask(events: Iterable[Event]) -> list[str]:
    """Return all strings of events that `mask_event` masks, so that one search finds out whether it is needed (X5)."""
    found: list[str | None] = []
    for event in events:
        data = event.data
        found.append(event.text)
        if type(data) is ToolCall:
            tool = data.tool
            found += (tool.backend_item_id, tool.tool_name, tool.tool_use_id, tool.parent_id)
            for payloads in (data.input, data.output):
                if payloads is not None:
                    texts = (getattr(payloads, name) for name in payloads.__struct_fields__)
                    found += [payload.text for payload in texts if payload is not None]
        elif type(data) is TextPart:
            found += (data.item_id, data.parent_id)
        elif type(data) is ErrorSource:
            found.append(event.message)
        elif type(data) is Plan:
            found += [step.text for step in data.items]
        elif type(data) is RateLimit:
            found.append(data.window)
        elif type(data) is AgentInfo:
            found += (data.release, data.model)
    return [text for text in found if text]


def _mask_facet(data: Facet | None, masker: Masker) -> Facet | None:
    def mask(text: str | None) -> str | None:
        return None if text is None else masker.mask(text)

    match data:
        case TextPart():
            return replace(data, item_id=mask(data.item_id), parent_id=mask(data.parent_id))
        case ToolCall(tool=tool):
            named = ("backend_item_id", "tool_name", "tool_use_id", "parent_id")
            names = {name: mask(getattr(tool, name)) for name in named}
            asked, answered = _mask_payloads(data.input, masker), _mask_payloads(data.output, masker)
            return ToolCall(replace(tool, **names), asked, answered)
        case Plan():
            return Plan(tuple(replace(step, text=masker.mask(step.text)) for step in data.items))
        case RateLimit():
            return replace(data, window=mask(data.window))
        case AgentInfo():
            return AgentInfo(mask(data.release), mask(data.model))
    return data


def _mask_payloads(payloads: _Payloads | None, masker: Masker) -> _Payloads | None:
    """Mask whole payloads. A truncated one was masked before it was cut, so it is not masked again."""
    if payloads is None:
        return None
    texts = {name: getattr(payloads, name) for name in payloads.__struct_fields__}
    masked = {
        name: PayloadText(masker.mask(payload.text), truncated=False)
        for name, payload in texts.items()
        if payload is not None and not payload.truncated
    }
    return replace(payloads, **masked)
