"""Credentials -> `***`, in time linear in the text: the run's own secrets, and shapes that credentials are known by (X5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from codex_adapter.events import (
    Event,
    Facet,
    Plan,
    PlanItem,
    Session,
    SessionHandle,
    TextPart,
    ToolCall,
    UnknownLine,
)

__all__ = ["MASK", "SHORTEST_SECRET", "Masker", "mask_event", "secret_values"]

MASK = "***"

SHORTEST_SECRET = 8
_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTHORIZATION|COOKIE"
    r"|(?:_|\A)(?:KEY|PAT|PWD|PASS|AUTH|DSN)\Z"
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})

# A literal that every match contains, and the pattern. A pattern is tried only where its literal occurs; each begins
# where no token character stands before it and repeats possessively, so that no text makes it look twice.
_START = r"(?<![A-Za-z0-9_-])"
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (literal, re.compile(pattern))
    for literal, pattern in (
        ("sk-", _START + r"sk-[A-Za-z0-9_-]{16,}+"),
        ("k_live_", _START + r"[sr]k_live_[A-Za-z0-9]{16,}+"),
        ("k_test_", _START + r"[sr]k_test_[A-Za-z0-9]{16,}+"),
        ("ghp_", _START + r"ghp_[A-Za-z0-9]{20,}+"),
        ("gho_", _START + r"gho_[A-Za-z0-9]{20,}+"),
        ("ghu_", _START + r"ghu_[A-Za-z0-9]{20,}+"),
        ("ghs_", _START + r"ghs_[A-Za-z0-9]{20,}+"),
        ("ghr_", _START + r"ghr_[A-Za-z0-9]{20,}+"),
        ("github_pat_", _START + r"github_pat_[A-Za-z0-9_]{20,}+"),
        ("glpat-", _START + r"glpat-[A-Za-z0-9_-]{16,}+"),
        ("xox", _START + r"xox[abeprs]-[A-Za-z0-9-]{10,}+"),
        ("AKIA", _START + r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
        ("ASIA", _START + r"ASIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
        ("AIza", _START + r"AIza[0-9A-Za-z_-]{30,}+"),
        ("ya29.", _START + r"ya29\.[0-9A-Za-z_-]{20,}+"),
        ("hf_", _START + r"hf_[A-Za-z0-9]{30,}+"),
        ("npm_", _START + r"npm_[A-Za-z0-9]{30,}+"),
        ("pypi-", _START + r"pypi-[A-Za-z0-9_-]{32,}+"),
        ("eyJ", _START + r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]++)?"),
        ("earer ", r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}+"),
        ("asic ", r"(?<=[Bb]asic )[A-Za-z0-9+/=]{16,}+"),
        ("://", r"(?<=://)[^\s/@:]{0,128}+:[^\s/@]{1,256}+(?=@)"),
        (
            "PRIVATE KEY-----",
            r"-----BEGIN [A-Z ]{0,40}?PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,40}?PRIVATE KEY-----|\Z)",
        ),
    )
)


def secret_values(environment: Mapping[str, str], also: Iterable[str] = ()) -> list[str]:
    """The values of `environment` that are secrets: by their variable's name, or because it is in `also` (X5)."""
    named = frozenset(also)
    return [
        value
        for name, value in environment.items()
        if name in named or (_NAME.search(name.upper()) and name.upper() not in _NOT_SECRET)
    ]


class Masker:
    """Replaces every given secret, and everything that is shaped like a credential, by `***` (X5).

    Values shorter than 8 characters are too common to be replaced and are left out.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {value.strip() for value in secrets}
        # The longest first: a secret may be a part of another one.
        self._secrets = sorted((v for v in values if len(v) >= SHORTEST_SECRET), key=len, reverse=True)
        self._literals = (*self._secrets, *(literal for literal, _ in _SHAPES))

    @property
    def reach(self) -> int:
        """How many characters past a cut must be masked with a text, so that no secret is cut in two."""
        return max(4096, len(self._secrets[0]) if self._secrets else 0)

    def may_touch(self, text: str) -> bool:
        """Whether `mask` could change the text: a cheap and exact 'no' for almost all texts."""
        return any(literal in text for literal in self._literals)

    def mask(self, text: str) -> str:
        """The text without its secrets."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        for literal, pattern in _SHAPES:
            if literal in text:
                text = pattern.sub(MASK, text)
        return text


def mask_event(event: Event, masker: Masker) -> Event:
    """The event with every string that came from the agent masked (X5)."""

    def mask(text: str | None) -> str | None:
        return None if text is None else masker.mask(text)

    return replace(event, text=mask(event.text), message=mask(event.message), data=_mask_facet(event.data, masker))


def _mask_facet(data: Facet | None, masker: Masker) -> Facet | None:
    def mask(text: str | None) -> str | None:
        return None if text is None else masker.mask(text)

    match data:
        case TextPart():
            return replace(data, item_id=mask(data.item_id))
        case ToolCall(tool=tool):
            ids = {name: mask(getattr(tool, name)) for name in ("backend_item_id", "thread_id", "turn_id", "tool_name")}
            return replace(data, tool=replace(tool, **ids))
        case SessionHandle():
            return SessionHandle(Session(masker.mask(data.session.id)))
        case Plan():
            return Plan(tuple(PlanItem(masker.mask(step.text), step.completed) for step in data.items))
        case UnknownLine():
            return UnknownLine(mask(data.type), mask(data.item_type))
    return data
