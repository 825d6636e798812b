"""Credentials -> `***`, in time linear in the text: the run's own secrets, and well-known shapes (X5, X7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from codex_adapter.core.credentials import SHORTEST_SECRET
from codex_adapter.core.secret_forms import MASK, SecretForms
from codex_adapter.core.token_shapes import TOKEN_SHAPES, long_tokens, long_words, may_have_token
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

    def may_touch(self, texts: Sequence[str]) -> bool:
        """Whether `mask` could change any of the texts: a cheap 'no' for almost all, and never a wrong one."""
        try:
            return self._may_touch("\0".join(texts))
        except Exception:  # noqa: BLE001 - whatever it is, `mask` then drops the texts
            return True

    def mask(self, text: str) -> str:
        """The text without its secrets; nothing but `***` when it cannot be masked (X5, X7)."""
        try:
            return TOKEN_SHAPES.sub(MASK, self._forms.masked(text)) if self._may_touch(text) else text
        except Exception:  # noqa: BLE001 - whatever a text does to the masking, it must not come out unmasked
            return MASK

    def _may_touch(self, text: str) -> bool:
        # A long text is looked at in windows, which overlap so that nothing lies across a border unseen.
        step = max(_WINDOW, 2 * self.overlap)
        if len(text) <= step:
            return self._window_may_touch(text)
        return any(
            self._window_may_touch(text[start : start + step + self.overlap]) for start in range(0, len(text), step)
        )

    def _window_may_touch(self, window: str) -> bool:
        encoded = window.encode()
        words = long_words(encoded)
        tokens = long_tokens(words) if words else []
        return may_have_token(window, words, tokens) or self._forms.may_be_in(window, encoded, tokens)


def mask_event(event: Event, masker: Masker) -> Event:
    """The event with the strings of its line masked, but for those that the mapping has masked already (X5)."""
    text, message, data = event.text, event.message, event.data
    if text is not None:
        text = masker.mask(text)
    if message is not None and isinstance(data, ErrorSource):  # any other message is our own
        message = masker.mask(message)
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
